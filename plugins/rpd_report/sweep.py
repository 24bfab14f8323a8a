"""The pruning curves of an analysis with their bands, as they are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rpd_core.analysis.quantiles import upper_t
from rpd_core.pruning.curves import Curve, averaged_curve
from rpd_core.results.run import Run

Role = Literal["list", "measure", "baseline"]

RANDOM = "random"
_BASELINES = ("freqvis", "differ")
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
    episodes: tuple[int, ...]
    """Test episodes behind it."""


def sweep_lines(run: Run) -> tuple[Line, ...]:
    """Read the curves of all measures, that of the list first, and of random choice."""
    list_by = run.asked.settings.list_by
    lines = [_line(curve, _role(name, list_by)) for name, curve in run.curves.items()]
    lines.sort(key=lambda line: ("list", "measure", "baseline").index(line.role))
    if run.random_curves:  # the band is over test episodes, which random rankings share
        lines.append(_line(averaged_curve(RANDOM, run.random_curves), "baseline"))
    return tuple(lines)


def _role(name: str, list_by: str) -> Role:
    if name == list_by:
        return "list"
    return "baseline" if name in _BASELINES else "measure"


def _line(curve: Curve, role: Role) -> Line:
    mean, counts = curve.mean_return, curve.episodes
    factors = [upper_t(_LEVEL, max(count - 1, 1)) for count in counts.tolist()]
    wide = np.array(factors) * curve.spread / np.sqrt(counts)  # 0 for a single episode
    return Line(
        curve.name,
        role,
        tuple(curve.kept.tolist()),
        tuple(curve.shares.tolist()),
        tuple(curve.step_shares.tolist()),
        tuple(mean.tolist()),
        tuple((mean - wide).tolist()),
        tuple((mean + wide).tolist()),
        tuple(counts.tolist()),
    )
