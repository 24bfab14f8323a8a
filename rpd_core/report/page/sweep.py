"""The pruning curves of an analysis with their bands, as they are drawn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rpd_core.pruning.curves import Curve, curve_from, cutoffs_for, mean_curve
from rpd_core.pruning.evaluation import read_evaluation
from rpd_core.pruning.tails import quantile
from rpd_core.report.opened import Run

Role = Literal["list", "measure", "baseline"]

RANDOM = "random"
_BASELINES = ("freqvis", "differ")
_RANDOM_ONE = re.compile(r"random:seed=\d+")
_LEVEL = 0.025
"""Chance that a mean lies beyond one end of its band."""


@dataclass(frozen=True)
class Line:
    """The pruned policies of one ranking, in ascending number of kept states."""

    name: str
    """The measure, or `random`."""
    role: Role
    """Whether the list is sorted by it, and whether it knows nothing of outcomes."""
    kept: tuple[int, ...]
    """Number of states that keep the policy."""
    states: tuple[float, ...]
    """Their share of all states."""
    steps: tuple[float, ...]
    """Share of steps at which the policy decided."""
    mean: tuple[float, ...]
    """Mean return."""
    low: tuple[float, ...]
    """Lower end of the 95 % interval of that."""
    high: tuple[float, ...]
    """Upper end of the same."""


def sweep_lines(run: Run) -> tuple[Line, ...]:
    """Read the curves of all measures, that of the list first, and of random choice."""
    list_by = run.asked.settings.list_by
    lines = [_line(curve, _role(name, list_by)) for name, curve in run.curves.items()]
    lines.sort(key=lambda line: ("list", "measure", "baseline").index(line.role))
    randoms = list(_random_curves(run))
    if randoms:
        lines.append(_random_line(randoms))
    return tuple(lines)


def _role(name: str, list_by: str) -> Role:
    if name == list_by:
        return "list"
    return "baseline" if name in _BASELINES else "measure"


def _random_curves(run: Run) -> Iterator[Curve]:
    settings, states = run.asked.settings, run.summary.suite.states
    cutoffs = cutoffs_for(settings.shares, states)
    shares = [cutoff / states for cutoff in cutoffs]
    for name, folder in run.asked.evaluations.items():
        if _RANDOM_ONE.fullmatch(name):
            parts = run.directory.evaluation(folder)
            episodes = read_evaluation(parts, len(cutoffs) * settings.test_episodes)
            yield curve_from(name, shares, cutoffs, episodes)


def _random_line(curves: list[Curve]) -> Line:
    """Return the mean of random rankings; its band is over test episodes, which they share."""
    pooled = mean_curve(RANDOM, curves)
    averaged = np.mean([curve.returns for curve in curves], axis=0)
    return _line(pooled, "baseline", averaged)


def _line(curve: Curve, role: Role, returns: np.ndarray | None = None) -> Line:
    played = curve.returns if returns is None else returns
    mean, count = played.mean(axis=1), played.shape[1]
    wide = np.zeros_like(mean)
    if count > 1:
        wide = quantile(_LEVEL, count - 1) * played.std(axis=1, ddof=1) / np.sqrt(count)
    return Line(
        curve.name,
        role,
        tuple(curve.kept.tolist()),
        tuple(curve.shares.tolist()),
        tuple(curve.step_shares.tolist()),
        tuple(mean.tolist()),
        tuple((mean - wide).tolist()),
        tuple((mean + wide).tolist()),
    )
