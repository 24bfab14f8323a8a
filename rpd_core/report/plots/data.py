"""What figures show, read from a run; nothing here draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.intervals import two_sided_z
from rpd_core.pruning.curves import Curve, curve_from, cutoffs_for, mean_curve
from rpd_core.pruning.evaluation import read_evaluation
from rpd_core.report.opened import Run

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray

RANDOM = "random"


@dataclass(frozen=True)
class PlottedCurve:
    """The pruned policies of one ranking, in ascending share of states."""

    name: str
    """The measure, or `random` for the mean of the random rankings."""
    states: FloatArray
    """Share of states that keep the policy."""
    steps: FloatArray
    """Share of steps at which the policy decided."""
    mean: FloatArray
    """Mean return."""
    low: FloatArray
    """Lower end of the 95 % interval of that, over the test episodes."""
    high: FloatArray
    """Upper end of the same."""


def plotted(curve: Curve) -> PlottedCurve:
    """Return the points of a pruning curve with their intervals."""
    count = curve.returns.shape[1]
    spread = curve.returns.std(axis=1, ddof=1) if count > 1 else np.zeros(len(curve.returns))
    width = two_sided_z(0.95) * spread / np.sqrt(count)
    mean = curve.mean_return
    return PlottedCurve(
        curve.name, curve.shares, curve.step_shares, mean, mean - width, mean + width
    )


def curves_of(run: Run) -> dict[str, PlottedCurve]:
    """Return the pruning curve of every measure, and the mean of the random rankings."""
    found = {name: plotted(curve) for name, curve in run.curves.items()}
    randoms = random_curves(run)
    if randoms:
        found[RANDOM] = plotted(mean_curve(RANDOM, randoms))
    return found


def random_curves(run: Run) -> list[Curve]:
    """Read the pruning curves of the random rankings."""
    settings, folders = run.asked.settings, run.asked.evaluations
    states = run.summary.suite.states
    cutoffs = cutoffs_for(settings.shares, states)
    shares = [cutoff / states for cutoff in cutoffs]
    names = [f"random:seed={seed}" for seed in range(settings.random_rankings)]
    total = len(cutoffs) * settings.test_episodes
    return [
        curve_from(
            name,
            shares,
            cutoffs,
            read_evaluation(run.directory.evaluation(folders[name]), total),
        )
        for name in names
        if name in folders
    ]
