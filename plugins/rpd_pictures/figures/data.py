"""What figures show, read from a run; nothing here draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.intervals import two_sided_z
from rpd_core.pruning.curves import Curve, mean_curve
from rpd_core.results.run import Run

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
    width = two_sided_z(0.95) * curve.spread / np.sqrt(curve.episodes)
    mean = curve.mean_return
    return PlottedCurve(
        curve.name, curve.shares, curve.step_shares, mean, mean - width, mean + width
    )


def curves_of(run: Run) -> dict[str, PlottedCurve]:
    """Return the pruning curve of every measure, and the mean of the random rankings."""
    found = {name: plotted(curve) for name, curve in run.curves.items()}
    if run.random_curves:
        found[RANDOM] = plotted(mean_curve(RANDOM, run.random_curves))
    return found
