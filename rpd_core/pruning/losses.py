"""What each decision of a smallest policy is worth, on episodes that chose neither.

Losses of decisions come from the same block of episodes: they depend on one another, and so do the
statements that decisions are needed. Benjamini and Hochberg's procedure bears that as long as the
dependence is positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.intervals import upper_t
from rpd_core.analysis.verdicts import benjamini_hochberg
from rpd_core.plugin.protocols import Episodes, Visits
from rpd_core.plugin.protocols.suite import ENDINGS
from rpd_core.pruning.tails import at_least, chance_above, exceeds, furthest
from rpd_core.pruning.twins import Asking, Blocks, Played

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import BoolArray, FloatArray, IntArray, KeyArray

TWINS = 100
"""Twins of each decision, about."""
_FEWEST = 20.0
"""Twins of each decision that are played whatever they cost: fewer show nothing."""
FOREMOST = 20
"""Decisions, by what minimising saw, that come first: people look at their order."""
LONGER = 4
"""How many times as many episodes may speak about these."""
_OUTSIDE = 0.025
"""Chance that the truth lies beyond either end of an interval."""
_FIRST = 10
"""Decisions whose order people look at."""
_HALVED = 20
"""Halvings of the episodes that tell whether these come first again."""
_HALVINGS = 6
"""An end is known to a part in 64 of its distance, on the safe side: nobody reads more digits."""


@dataclass(frozen=True)
class Losses:
    """What is lost without each decision of a pruned policy, one row each, in order of the keys."""

    keys: KeyArray
    loss: FloatArray
    """Mean over all episodes of the return minus the return of the twin."""
    low: FloatArray
    """Lower end of its 95 % interval."""
    high: FloatArray
    """Upper end of the same."""
    without: FloatArray
    """Mean return without the decision."""
    without_low: FloatArray
    """Lower end of its 95 % interval."""
    without_high: FloatArray
    """Upper end of the same."""
    chance: FloatArray
    """Chance of so large a loss if nothing were lost in the mean."""
    needed: BoolArray
    """Whether the loss is above 0, under control of false discoveries over all decisions."""
    cut_short: BoolArray
    """Whether twins ran into a limit of steps with less return: the loss is at least this."""
    steps: FloatArray
    """Share of all steps that are spent in it."""
    overrides: FloatArray
    """Share of all steps at which the policy differs from the default there."""
    reached: FloatArray
    """Share of the episodes that visit it."""
    twins: IntArray
    """Twins that were played."""
    return_mean: float
    """Mean return of the policy on these episodes."""
    episodes: int
    """Their number."""
    paired: bool
    """Whether twins share the identity of their episodes."""
    correlation: float | None
    """Of the returns of episodes and twins; None: it cannot be told."""
    block: str
    """The set of episodes, in which what was chosen is stored, too."""
    recurring: float | None
    """Share of the first ten by loss that two halves of the episodes have in common."""
    looks: tuple[int, ...] = ()
    """Episodes of each look, where these were doubled until the first losses were settled."""

    @property
    def shares(self) -> FloatArray:
        """Share of each in the sum of all losses; 0 for one that loses nothing."""
        lost = np.maximum(self.loss, 0.0)
        return lost / max(float(lost.sum()), 1e-300)

    def open_ranks(self, top: int, harmless: float) -> tuple[int, ...]:
        """Return which of the first ranks are neither needed nor surely lose less than so much."""
        first = np.lexsort((self.keys, -self.loss))[:top]
        unsettled = ~self.needed & (self.high >= harmless)
        return tuple((np.flatnonzero(unsettled[first]) + 1).tolist())


@dataclass(frozen=True)
class Expected:
    """What other episodes say about the decisions that are to be weighed, one row each."""

    reach: FloatArray
    """Share of the episodes that visits it."""
    foremost: BoolArray
    """Whether it is among the `FOREMOST` by loss."""
    longer: int = LONGER
    """How many times as many episodes may speak about those."""

    def block(self, episodes: int) -> int:
        """Return of how many episodes a block is that is long enough for the foremost."""
        wanted = np.ceil(TWINS / np.maximum(self.reach[self.foremost], 1.0 / episodes))
        return int(np.clip(wanted.max(initial=0), episodes, self.longer * episodes))

    def speaking(self, episodes: int, affordable: float) -> IntArray:
        """Return how many episodes of the block speak about each decision: its first ones."""
        first = int(self.foremost.sum())
        most = _within(affordable / max(first, 1))
        rest = _within((affordable - first * most) / max(len(self.reach) - first, 1))
        twins = np.where(self.foremost, most, rest)
        wanted = np.ceil(twins / np.maximum(self.reach, 1.0 / episodes))
        longest = np.where(self.foremost, self.block(episodes), episodes)
        return np.clip(wanted, min(2, episodes), longest).astype(np.int64)


def _within(twins: float) -> float:
    """Return how many twins of a decision are played where so many can be afforded."""
    return max(min(TWINS, twins), _FEWEST)


def measure_losses(
    blocks: Blocks,
    kept: KeyArray,
    expected: Expected,
    episodes: int,
    most: float,
    confidence: float,
) -> Asking[Losses]:
    """Play a block of episodes and twins of every decision that they visit.

    What is expected fixes beforehand how many episodes of the block speak about each decision, so
    that about `TWINS` visit it and all twins take about `most` steps. The foremost come first.
    """
    block = yield from blocks.play(kept, expected.block(episodes))
    affordable = most / float(block.episodes.length.mean())
    counts = expected.speaking(episodes, affordable)
    if blocks.paired:
        plan = _Plan.of(block.visits, kept, counts)
    else:
        plan = _Plan.fresh(len(kept), _twins_each(len(kept), affordable), len(block.episodes))
    units = np.arange(len(kept))
    twins = None
    if len(plan.episode):
        twins = yield from blocks.play_twins(block, units, plan.episode, plan.unit)
    return _losses_of(block, kept, counts, plan, twins, confidence, blocks)


def _twins_each(decisions: int, affordable: float) -> int:
    """Return how many twins each decision gets, about."""
    return int(_within(affordable / max(decisions, 1)))


@dataclass(frozen=True)
class _Plan:
    """Which episode is played again without which decision."""

    episode: IntArray
    unit: IntArray

    @classmethod
    def of(cls, visits: Visits, kept: KeyArray, counts: IntArray) -> _Plan:
        """Return the pairs of a visiting episode and a decision in which an action changes."""
        own = np.flatnonzero(np.isin(visits.key, kept) & (visits.differed > 0))
        unit, episode = np.searchsorted(kept, visits.key[own]), visits.episode[own]
        speaks = episode < counts[unit]
        order = np.lexsort((episode[speaks], unit[speaks]))
        return cls(episode[speaks][order], unit[speaks][order])

    @classmethod
    def fresh(cls, decisions: int, twins: int, episodes: int) -> _Plan:
        """Return further episodes for each decision, which pair with none of the block."""
        unit = np.repeat(np.arange(decisions), twins)
        return cls(episodes + np.arange(len(unit)), unit)


def _losses_of(
    block: Played,
    kept: KeyArray,
    counts: IntArray,
    plan: _Plan,
    twins: Episodes | None,
    confidence: float,
    blocks: Blocks,
) -> Losses:
    visits, own = block.visits, block.episodes
    rows = np.flatnonzero(np.isin(visits.key, kept))
    place = np.searchsorted(kept, visits.key[rows])
    total, many = float(own.length.sum()), len(kept)
    reached = np.bincount(place, minlength=many) / len(own)
    samples = [
        _sample(one, own, counts, plan, twins if reached[one] else None, blocks.paired)
        for one in range(many)  # what no episode visits loses nothing, paired or not
    ]
    columns = np.array([one.row() for one in samples]).reshape(many, 7)
    chance = columns[:, 6]
    loss, low, high, without, without_low, without_high = columns.T[:6]
    return Losses(
        kept,
        loss,
        low,
        high,
        without,
        without_low,
        without_high,
        chance=chance,
        needed=benjamini_hochberg(chance, 1 - confidence),
        cut_short=np.array([one.cut_short for one in samples], dtype=bool),
        steps=np.bincount(place, visits.count[rows], many) / total,
        overrides=np.bincount(place, visits.overrides[rows], many) / total,
        reached=reached,
        twins=np.bincount(plan.unit, minlength=many),
        return_mean=float(own.total_return.mean()),
        episodes=len(own),
        paired=blocks.paired,
        correlation=_correlation(own, plan, twins) if blocks.paired else None,
        block=block.name,
        recurring=_recurring(samples),
    )


def _recurring(samples: Sequence[_Sample]) -> float | None:
    """Return how much of the first ten by loss two halves of the episodes share; None: all are.

    Mean of several halvings at random.
    """
    if len(samples) <= _FIRST:
        return None
    episodes = max(len(values) for one in samples for values in (one.before, one.after))
    lots = np.random.default_rng(0).random((_HALVED, episodes)).argsort(axis=1)
    first = (lots % 2).astype(np.float64)
    ranked = [
        np.argsort(-np.array([one.lost(half) for one in samples]), axis=0, kind="stable")
        for half in (first, 1.0 - first)
    ]
    pairs = zip(*(order[:_FIRST].T.tolist() for order in ranked), strict=True)
    return float(np.mean([len({*one} & {*other}) for one, other in pairs])) / _FIRST


def _correlation(own: Episodes, plan: _Plan, twins: Episodes | None) -> float | None:
    if twins is None:
        return None
    before, after = own.total_return[plan.episode], twins.total_return
    if len(before) < 3 or not before.std() or not after.std():
        return None
    return float(np.corrcoef(before, after)[0, 1])


@dataclass(frozen=True)
class _Sample:
    """What some episodes say about one decision."""

    before: FloatArray
    """Returns with it."""
    after: FloatArray
    """Returns without it; of the same episodes where they are paired."""
    paired: bool
    cut_short: bool

    def lost(self, halves: FloatArray) -> FloatArray:
        """Return the loss in each of some halves: rows that are 1 for the episodes in it."""

        def mean(values: FloatArray) -> FloatArray:
            part = halves[:, : len(values)]
            return np.asarray(part @ values / np.maximum(part.sum(axis=1), 1.0))

        return mean(self.before) - mean(self.after)

    def row(self) -> tuple[float, ...]:
        """Return loss and return without it, each with an interval, and the chance of the loss."""
        if not self.paired:
            return self._unpaired()
        loss = self.before - self.after
        return (*_mean_and_ends(loss), *_mean_and_ends(self.after), _chance(loss))

    def _unpaired(self) -> tuple[float, ...]:
        """Return the same of independent episodes, where the mean with it is rough, too."""
        rough = self.before.var(ddof=1) / len(self.before) if len(self.before) > 1 else np.inf
        lost = float(self.before.mean()) - self.after
        chance = chance_above(lost, float(rough)) if len(lost) > 1 else 1.0
        return *_mean_and_ends(lost, float(rough)), *_mean_and_ends(self.after), chance


def _sample(
    unit: int, own: Episodes, counts: IntArray, plan: _Plan, twins: Episodes | None, paired: bool
) -> _Sample:
    """Return the returns with and without one decision."""
    mine = np.flatnonzero(plan.unit == unit)
    before = own.total_return[: counts[unit]] if paired else own.total_return
    if twins is None or not len(mine):
        return _Sample(before, before.copy(), True, False)
    returns, episode = twins.total_return[mine], plan.episode[mine]
    after = returns
    if paired:
        after = before.copy()
        after[episode] = returns
    worse = returns < (own.total_return[episode] if paired else own.total_return.mean())
    limited = twins.ended[mine] != ENDINGS.index("terminated")
    return _Sample(before, after, paired, bool((worse & limited).any()))


def _chance(loss: FloatArray) -> float:
    """Return the chance of the loss if its mean were 0; a gain as large as any may be unseen."""
    if len(loss) < 2 or not loss.any():
        return 1.0
    return chance_above(loss, unseen=-float(np.abs(loss).max()))


def _mean_and_ends(values: FloatArray, variance: float = 0.0) -> tuple[float, float, float]:
    """Return a mean and the ends of its 95 % interval.

    `variance` is that of what was added to the mean by other episodes.
    """
    mean = float(values.mean())
    if len(values) < 2 or not np.isfinite(variance):
        return mean, -np.inf, np.inf
    error = float(np.sqrt(values.var(ddof=1) / len(values) + variance))
    if not error:
        return mean, mean, mean
    far = at_least(upper_t(_OUTSIDE, len(values) - 1) * error, mean)
    span = float(np.abs(values - mean).max())

    def end(sign: int) -> float:
        def holds(at: float) -> bool:
            return exceeds(-sign * (values - at), _OUTSIDE, variance, unseen=-span)

        return furthest(holds, mean, sign * far, _HALVINGS)

    return mean, end(-1), end(1)
