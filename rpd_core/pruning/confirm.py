"""How much of the return a pruned policy keeps, and the rule that confirms it.

The kept share is (pruned - reference) / (original - reference), with pruned and original played
on the same fresh episodes. Its bounds are Fieller's: a share s is possible unless the contrast
`pruned - s * original - (1 - s) * reference` is clearly not 0. The contrast is a plain mean, so
that nothing is assumed of the ratio.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray

Outcome = Literal["met", "missed", "undecided"]

CONFIDENCE = 0.95
"""Of the statement that a policy said to meet its target does so, over all tries for it."""
LOOKS = 3
"""How often a candidate is judged: after the first episodes, twice and four times as many."""
BLOCKS = (1, 1, 2)
"""Episodes that each look adds, in units of the first."""
_EQUAL = 1e-12
"""Bounds of returns without any spread differ from the target by rounding alone."""


@dataclass(frozen=True)
class Paired:
    """Returns of a pruned policy and of the original on the same episodes."""

    pruned: FloatArray
    original: FloatArray
    reference: float
    reference_variance: float = 0.0
    """Variance of the reference, where it is itself a mean."""


@dataclass(frozen=True)
class Share:
    """The share of the return that is kept, with one-sided bounds."""

    estimate: float
    low: float
    high: float


def kept_share(played: Paired, level: float) -> Share:
    """Return the kept share; each bound is wrong with the given chance.

    Where the original is not clearly above the reference, every share is possible.
    """
    count = len(played.pruned)
    gain = float(played.pruned.mean()) - played.reference
    whole = float(played.original.mean()) - played.reference
    spread = np.cov(played.pruned, played.original) / count + played.reference_variance
    factor = quantile(level, count - 1) ** 2
    a = whole**2 - factor * spread[1, 1]
    if whole <= 0 or a <= 0:
        return Share(gain / whole if whole else 0.0, -np.inf, np.inf)
    b = gain * whole - factor * spread[0, 1]
    c = gain**2 - factor * spread[0, 0]
    root = float(np.sqrt(max(b * b - a * c, 0.0)))
    return Share(gain / whole, float((b - root) / a), float((b + root) / a))


def mean_bounds(returns: FloatArray, level: float) -> tuple[float, float]:
    """Return one-sided bounds of a mean return; each is wrong with the given chance."""
    error = float(returns.std(ddof=1)) / np.sqrt(len(returns))
    reach = quantile(level, len(returns) - 1) * error
    return float(returns.mean() - reach), float(returns.mean() + reach)


def quantile(level: float, degrees: int) -> float:
    """Return what a t-distributed number exceeds with this chance (by Cornish and Fisher)."""
    z = NormalDist().inv_cdf(1 - level)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / degrees + second / degrees**2 + third / degrees**3


def level_of(number: int) -> float:
    """Return the chance of error at each look at the candidate that is tried as this one, from 1.

    Candidate j gets the part 1 / (j (j + 1)) of the 5 %, in equal portions for its looks; over any
    number of candidates the parts add up to at most 1.
    """
    return (1 - CONFIDENCE) / (number * (number + 1) * LOOKS)


@dataclass(frozen=True)
class Goal:
    """A share of the return that is to be kept."""

    fraction: float
    margin: float
    """How far below it the lower bound may lie."""

    def outcome(self, share: Share) -> Outcome:
        """Return what bounds say about the goal."""
        if share.low >= self.fraction - self.margin - _EQUAL:
            return "met"
        return "missed" if share.high < self.fraction - _EQUAL else "undecided"


@dataclass(frozen=True)
class Confirmation:
    """What fresh episodes said about a pruned policy."""

    outcome: Outcome
    looks: int
    """After how many looks."""
    level: float
    """Chance of error of each bound."""
    played: Paired
    """The returns of all looks."""


def confirm(goal: Goal, number: int, play: Callable[[int], Paired]) -> Confirmation:
    """Judge the candidate that is tried as this one, from 1; more episodes where it is open.

    `play` returns the returns of all looks up to the given one, from 0.
    """
    level = level_of(number)
    for look in range(LOOKS):
        played = play(look)
        outcome = goal.outcome(kept_share(played, level))
        if outcome != "undecided":
            break
    return Confirmation(outcome, look + 1, level, played)


def block_of(index: int, first: int) -> tuple[int, int]:
    """Return the look that added an episode, and its place among those that were added."""
    for look, block in enumerate(BLOCKS):
        if index < block * first:
            return look, index
        index -= block * first
    raise IndexError(index)
