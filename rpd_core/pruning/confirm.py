"""How much of the return a pruned policy keeps, and the rule that confirms it.

The kept share is (pruned - reference) / (original - reference), with pruned and original played
on the same fresh episodes. A share s is possible unless the mean of the contrast
`pruned - s * original - (1 - s) * reference` is clearly not 0 (Fieller's way with ratios): that is
a plain mean, and nothing is assumed of the ratio.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.intervals import upper_t
from rpd_core.pruning.records import GoalOutcome
from rpd_core.pruning.tails import at_least, exceeds, furthest

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray

CONFIDENCE = 0.95
"""Of the statement that a policy said to meet its target does so, over all tries for it."""
BLOCKS = (1, 1, 2, 4)
"""Episodes that each look at a candidate adds, in units of the first."""
LOOKS = len(BLOCKS)
"""How often a candidate is judged at most."""


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


def _keeps_more(played: Paired, share: float, level: float) -> bool:
    """Return whether more than a share is kept, wrongly with at most the given chance."""
    worst = min(float(played.pruned.min()), played.reference) - played.reference
    unseen = worst - share * (float(played.original.max()) - played.reference)
    return exceeds(_contrast(played, share), level, _variance(played, share), unseen)


def keeps_less(played: Paired, share: float, level: float) -> bool:
    """Return whether less than a share is kept, wrongly with at most the given chance."""
    return exceeds(-_contrast(played, share), level, _variance(played, share))


def _contrast(played: Paired, share: float) -> FloatArray:
    """Return, by episode, what is kept beyond a share; its mean is 0 if just that is kept."""
    return (played.pruned - played.reference) - share * (played.original - played.reference)


def _variance(played: Paired, share: float) -> float:
    return (1 - share) ** 2 * played.reference_variance


def kept_share(played: Paired, level: float) -> Share:
    """Return the kept share; each bound is wrong with the given chance.

    Where the original is not clearly above the reference, every share is possible.
    """
    gain = float(played.pruned.mean()) - played.reference
    whole = float(played.original.mean()) - played.reference
    if not _has_gain(played, level):
        return Share(gain / whole if whole else 0.0, -np.inf, np.inf)
    low, high = _fieller(played, level)
    estimate = gain / whole
    down, up = at_least(estimate - low, estimate), at_least(high - estimate, estimate)
    return Share(
        estimate,
        furthest(lambda share: _keeps_more(played, share, level), estimate, -down),
        furthest(lambda share: keeps_less(played, share, level), estimate, up),
    )


def _has_gain(played: Paired, level: float) -> bool:
    """Return whether the original is clearly above the reference."""
    whole = played.original - played.reference
    error = np.sqrt(whole.var(ddof=1) / len(whole) + played.reference_variance)
    return bool(whole.mean() > upper_t(level, len(whole) - 1) * error)


def _fieller(played: Paired, level: float) -> tuple[float, float]:
    """Return the shares at which the t-test of the contrast begins to hold: where to look first."""
    count = len(played.pruned)
    gain = float(played.pruned.mean()) - played.reference
    whole = float(played.original.mean()) - played.reference
    spread = np.cov(played.pruned, played.original) / count + played.reference_variance
    factor = upper_t(level, count - 1) ** 2
    a = whole**2 - factor * spread[1, 1]
    b = gain * whole - factor * spread[0, 1]
    c = gain**2 - factor * spread[0, 0]
    root = float(np.sqrt(max(b * b - a * c, 0.0)))
    return float((b - root) / a), float((b + root) / a)


def mean_bounds(returns: FloatArray, level: float, reference: float) -> tuple[float, float]:
    """Return one-sided bounds of a mean return; each is wrong with the given chance."""
    worst = min(float(returns.min()), reference)
    mean = float(returns.mean())
    error = float(returns.std(ddof=1)) / np.sqrt(len(returns))
    reach = at_least(upper_t(level, len(returns) - 1) * error, mean)
    return (
        furthest(lambda at: exceeds(returns - at, level, unseen=worst - at), mean, -reach),
        furthest(lambda at: exceeds(at - returns, level), mean, reach),
    )


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

    def outcome(self, played: Paired, level: float) -> GoalOutcome:
        """Return what bounds, each wrong with the given chance, say about the goal."""
        if not _has_gain(played, level):
            return "undecided"
        if _keeps_more(played, self.fraction - self.margin, level):
            return "met"
        return "missed" if keeps_less(played, self.fraction, level) else "undecided"


@dataclass(frozen=True)
class Confirmation:
    """What fresh episodes said about a pruned policy."""

    outcome: GoalOutcome
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
        outcome = goal.outcome(played, level)
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
