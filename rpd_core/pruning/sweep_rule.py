"""When a point of the sweep has been played enough: the rule behind `--sweep adaptive`.

A full sweep plays every pruned policy on the same test episodes and asks whether its mean return is
at least the target. The rule asks, after some of these episodes, what the answer after all of them
would be. Target and references are those of the full sweep, so their own noise is no part of the
question: it belongs to confirmation, which plays fresh episodes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rpd_core.analysis.intervals import upper_t
from rpd_core.pruning.curves import Curve
from rpd_core.pruning.references import References
from rpd_core.pruning.tails import tilted_chance

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import BoolArray, FloatArray, IntArray

FIRST = 6
"""Test episodes that every point is played on, or all if there are fewer."""
ERROR = 0.2
"""Chance that a point which would just reach a target is let go, over all looks at it."""
_CLOSE = 1e-12


def episode_looks(total: int) -> tuple[int, ...]:
    """Return after how many test episodes points are looked at: doubling, the last one is all."""
    sizes = [min(FIRST, total)]
    while sizes[-1] < total:
        doubled = 2 * sizes[-1]
        sizes.append(total if 3 * doubled > 2 * total else doubled)  # no small rest at the end
    return tuple(sizes)


@dataclass(frozen=True)
class Rule:
    """What points are compared with."""

    targets: tuple[float, ...]
    total: int
    """Test episodes of a full sweep."""
    best: float
    """Return of an episode that counts as seen before a point is said to miss a target."""
    worst: float
    """And before it is said to reach one."""

    @property
    def level(self) -> float:
        """Chance of error at each look but the last, which has none."""
        return ERROR / max(len(episode_looks(self.total)) - 1, 1)


def rule_for(targets: Sequence[float], references: References) -> Rule:
    """Return the rule for some targets.

    What is rare may not have been seen: one more episode counts, as good as the better half of the
    policy's, or as bad as its worst and the reference. Its very best can be a stroke of luck that
    would keep every point open.
    """
    original = np.sort(references.original.total_return)
    best = float(original[len(original) // 2 :].mean())
    worst = min(references.reference, float(original[0]))
    return Rule(tuple(targets), len(original), best, worst)


def undecided(curves: Sequence[Curve], rule: Rule) -> list[BoolArray]:
    """Return which points of some curves are to be played on, for one target or another.

    The thresholds that they are for are those of the best of these curves.
    """
    pooled = [_points_of(curve) for curve in curves]
    points = _Points(*(np.concatenate(column) for column in zip(*pooled, strict=True)))
    returns = [row for curve in curves for row in curve.returns]
    found = np.zeros(len(points.kept), dtype=bool)
    for target in rule.targets:
        found |= _undecided(points, returns, target, rule)
    found &= points.episodes < rule.total
    return np.split(found, np.cumsum([len(curve.kept) for curve in curves])[:-1])


class _Points(NamedTuple):
    """Pruned policies and what is known of them so far."""

    kept: IntArray
    steps: FloatArray
    mean: FloatArray
    episodes: IntArray


def _points_of(curve: Curve) -> _Points:
    return _Points(curve.kept, curve.step_shares, curve.mean_return, curve.episodes)


def _undecided(
    points: _Points, returns: Sequence[FloatArray], target: float, rule: Rule
) -> BoolArray:
    """Return which points are to be played on for one target.

    These are the smallest of those whose mean reaches it, in states and in steps: what is reported
    stands on all test episodes. And every point that is still open, unless one whose mean reaches
    the target has fewer states and no more steps: then it cannot be the smallest in either.
    """
    kept, steps, mean, episodes = points
    likely = mean >= target
    fewer = (kept[None, :] < kept[:, None]) & (steps[None, :] <= steps[:, None])
    useful = np.flatnonzero(~(fewer & likely[None, :]).any(axis=1)).tolist()
    found = np.zeros(len(kept), dtype=bool)
    found[useful] = [is_open(returns[one][: episodes[one]], target, rule) for one in useful]
    if likely.any():
        found[np.lexsort((steps, kept, ~likely))[0]] = True
        found[np.lexsort((kept, steps, ~likely))[0]] = True
    return found


def is_open(returns: FloatArray, target: float, rule: Rule) -> bool:
    """Return whether it is not clear on which side of a target a mean will be in the end."""
    if len(returns) >= rule.total:
        return False
    above, below = returns - target, target - returns
    return not (
        _stays_above(below, rule.total, rule.level, target - rule.best)
        or _stays_above(above, rule.total, rule.level, rule.worst - target)
    )


def _stays_above(values: FloatArray, total: int, level: float, unseen: float) -> bool:
    """Return whether the mean of `total` values is above 0, judged by the first of them.

    Two tests, as in `tails`: a t-test, and exponential tilting with one more, unseen value, which
    does not trust that a few values show what is rare. Of a finite set the part that was seen is
    known: the error of the t-test shrinks by sqrt(1 - seen / total), and n values count as
    total * log(total / (total - n)), which is exact for losses that are rare.
    """
    count, mean = len(values), float(values.mean())
    if mean <= _CLOSE or count < 2:
        return False
    error = math.sqrt(float(values.var(ddof=1)) * (1 / count - 1 / total))
    if error > _CLOSE * max(abs(mean), 1.0) and mean <= upper_t(level, count - 1) * error:
        return False
    known = total * math.log(total / (total - count))
    with_unseen = np.append(values, unseen)
    return tilted_chance(with_unseen, count=known * (count + 1) / count) <= level
