"""Does the list of states come back? Halves of the suite compared, and resampled episodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Protocol

import numpy as np

from rpd_core.analysis.intervals import arm_sizes
from rpd_core.analysis.records import Stability
from rpd_core.plugin.protocols import Returns, Spectrum

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, BoolArray, FloatArray, IntArray

PERSISTENCE = 0.9
"""How far down rank-biased overlap looks: the first ten states carry 86 % of its weight."""
_DEPTH = 100
"""Ranks that rank-biased overlap compares; those below would add less than 3e-5."""
_AT_ONCE = 32
"""Resampled suites that are added up together, at most."""
SUMS = 2**20
"""Sums that are held at once in each of four cells, at most."""
SPLITS = 20
"""Random halvings that are averaged."""


@dataclass(frozen=True)
class Differences:
    """How often the default action differed, one row per visit."""

    count: IntArray
    """Steps of the visit's episode in its state."""
    differed: IntArray
    """Those at which the default action was not what the policy chose."""
    first: BoolArray
    """Whether it was not at the first of them."""


class CountedVisits:
    """The visits of a suite, sorted so that sums over any choice of episodes are quick."""

    def __init__(
        self,
        episode: IntArray,
        state: IntArray,
        mutated: BoolArray,
        weights: FloatArray,
        states: int,
        returns: FloatArray | None = None,
        differences: Differences | None = None,
    ) -> None:
        """Sort the visits; `episode` and `state` are rows, `weights` and `returns` of episodes."""
        cell = 2 * state + mutated
        order = np.argsort(cell, kind="stable")
        alone = returns is None and differences is None
        self._groups = _groups(cell[order], episode[order], weights, states, alone)
        self.at_once = max(1, min(_AT_ONCE, SUMS // max(states, 1)))
        self._weights = weights
        self._returns = returns
        self._differences = {} if differences is None else _sorted(differences, order)
        self.states = states

    @property
    def episodes(self) -> int:
        """Number of episodes."""
        return len(self._weights)

    def draw(self, counts: FloatArray) -> Drawn:
        """Return what adds up if each episode counts as often as given."""
        return Drawn(self, counts)

    def draws(self, counts: Sequence[FloatArray]) -> list[Drawn]:
        """Return several, added up by one product where sums are exact in any order."""
        if len(self._groups) == 1 or len(counts) == 1:
            return [self.draw(one) for one in counts]
        each = np.stack(counts, axis=1)
        passed, failed = (group.multiply(each) for group in self._groups)
        return [
            Drawn(self, one, Spectrum(failed[1, n], passed[1, n], failed[0, n], passed[0, n]))
            for n, one in enumerate(counts)
        ]

    def halves(self, firsts: Sequence[BoolArray]) -> list[tuple[Drawn, Drawn]]:
        """Return both halves of the episodes for some first halves."""
        ones = self.draws([first.astype(np.float64) for first in firsts])
        others = self.draws([(~first).astype(np.float64) for first in firsts])
        return list(zip(ones, others, strict=True))

    def spectrum(self, counts: FloatArray) -> Spectrum:
        """Return the spectrum in which each episode counts as often as given."""
        if len(self._groups) == 2:
            passed, failed = (group.add(counts) for group in self._groups)
        else:
            passed = self._groups[0].add(counts * self._weights)
            failed = self._groups[0].add(counts * (1 - self._weights))
        return Spectrum(
            mutated_failed=failed[:, 1],
            mutated_passed=passed[:, 1],
            kept_failed=failed[:, 0],
            kept_passed=passed[:, 0],
        )

    def returns(self, counts: FloatArray) -> Returns | None:
        """Return the sums of returns likewise; None where those of the episodes are not known."""
        if self._returns is None:
            return None
        sums = self._groups[0].add(counts * self._returns)
        squares = self._groups[0].add(counts * self._returns**2)
        return Returns(
            mutated_sum=sums[:, 1],
            mutated_squares=squares[:, 1],
            kept_sum=sums[:, 0],
            kept_squares=squares[:, 0],
        )

    def differed(self, counts: FloatArray) -> FloatArray | None:
        """Return the share of visits at which the default action differed; None if not known."""
        return self._share(counts, "differed", "count")

    def differed_first(self, counts: FloatArray) -> FloatArray | None:
        """Return the share of visiting episodes in which it did at the first visit."""
        return self._share(counts, "first", None)

    def _share(self, counts: FloatArray, part: str, whole: str | None) -> FloatArray | None:
        if not self._differences:
            return None
        column = self._differences
        (visits,) = self._groups
        parts = visits.add(counts, column[part]).sum(axis=1)
        total = visits.add(counts, None if whole is None else column[whole]).sum(axis=1)
        shares: FloatArray = np.zeros(self.states)
        return np.asarray(np.divide(parts, total, out=shares, where=total > 0))


@dataclass(frozen=True)
class _Grouped:
    """Visits ordered by state and fate."""

    states: int
    """Number of states."""
    cells: IntArray
    """Twice the row of a state, and 1 more where it is mutated; those that have visits."""
    starts: IntArray
    """First visit of each of them."""
    episode: IntArray
    """Row of the episode of each visit."""

    @staticmethod
    def of(cell: IntArray, episode: IntArray, states: int) -> _Grouped:
        """Group visits that are in order."""
        starts = np.flatnonzero(np.r_[True, cell[1:] != cell[:-1]][: len(cell)])
        return _Grouped(states, cell[starts], starts, episode.astype(np.intp))

    def add(self, amounts: FloatArray, times: FloatArray | None = None) -> FloatArray:
        """Return, per state and fate, the sum over the episodes that visited it."""
        sums = np.zeros(2 * self.states)
        if len(self.starts):
            each = amounts[self.episode]
            each = each if times is None else each * times
            sums[self.cells] = np.add.reduceat(each, self.starts)
        return sums.reshape(self.states, 2)

    def multiply(self, amounts: FloatArray) -> FloatArray:
        """Return the sums by fate, by column of amounts and by state."""
        from scipy.sparse import csr_array  # 0.1 s, which reading a run does without

        ends = np.r_[self.starts, len(self.episode)]
        shape = len(self.cells), len(amounts)
        visited = csr_array((np.ones(len(self.episode)), self.episode, ends), shape)
        sums = np.zeros((2 * self.states, amounts.shape[1]))
        sums[self.cells] = visited @ amounts
        return np.ascontiguousarray(sums.reshape(self.states, 2, -1).transpose(1, 2, 0))


def _groups(
    cell: IntArray, episode: IntArray, weights: FloatArray, states: int, alone: bool
) -> tuple[_Grouped, ...]:
    """Return all visits, or those of passed and those of failed episodes.

    The latter where a spectrum `alone` is asked for and no episode is in between: each visit is
    then added up once, not twice, and sums of whole numbers are exact in any order.
    """
    passed = weights == 1
    if not alone or not (passed | (weights == 0)).all():
        return (_Grouped.of(cell, episode, states),)
    mine = passed[episode]
    return tuple(_Grouped.of(cell[one], episode[one], states) for one in (mine, ~mine))


def _sorted(differences: Differences, order: IntArray) -> dict[str, FloatArray]:
    return {name: one[order].astype(np.float64) for name, one in vars(differences).items()}


class Visits(Protocol):
    """Who visited what in a suite, ready to be added up over episodes drawn from it."""

    states: int
    at_once: int
    """Draws that are added up together."""

    @property
    def episodes(self) -> int:
        """Number of episodes."""

    def draw(self, counts: FloatArray) -> Drawn:
        """Return what adds up if each episode counts as often as given."""

    def draws(self, counts: Sequence[FloatArray]) -> list[Drawn]:
        """Return what adds up for each of several."""

    def halves(self, firsts: Sequence[BoolArray]) -> list[tuple[Drawn, Drawn]]:
        """Return both halves of the episodes for some first halves."""

    def spectrum(self, counts: FloatArray) -> Spectrum:
        """Return the spectrum in which each episode counts as often as given."""

    def returns(self, counts: FloatArray) -> Returns | None:
        """Return the sums of returns likewise; None where they are not known."""

    def differed(self, counts: FloatArray) -> FloatArray | None:
        """Return the share of visits at which the default action differed; likewise."""

    def differed_first(self, counts: FloatArray) -> FloatArray | None:
        """Return the share of visiting episodes in which it did at the first visit; likewise."""


class Drawn:
    """Episodes drawn from a suite; what is asked for is added up per state, once."""

    def __init__(self, visits: Visits, counts: Array, spectrum: Spectrum | None = None) -> None:
        """Add up when asked; the spectrum may have been before."""
        self._visits = visits
        self.counts = counts
        """How often each episode was drawn."""
        if spectrum is not None:
            self.spectrum = spectrum

    @cached_property
    def spectrum(self) -> Spectrum:
        """The four cells of every state."""
        return self._visits.spectrum(self.counts)

    @cached_property
    def returns(self) -> Returns | None:
        """Returns by fate; None where those of the episodes are not known."""
        return self._visits.returns(self.counts)

    @cached_property
    def differed(self) -> FloatArray | None:
        """Share of the visits at which the default action differed; None if not known."""
        return self._visits.differed(self.counts)

    @cached_property
    def differed_first(self) -> FloatArray | None:
        """Share of the visiting episodes in which it did at the first visit; likewise."""
        return self._visits.differed_first(self.counts)


@dataclass(frozen=True)
class Listing:
    """How a table of states is made from some episodes."""

    score: Callable[[Drawn], FloatArray]
    """Score of each state, higher first."""
    least: float = 10
    """Episodes that each arm of a listed state has at least."""
    allowed: BoolArray | None = None
    """States that may be listed at all, for example where the default action ever differed."""

    def order(self, drawn: Drawn, lots: IntArray | None = None) -> IntArray:
        """Return the rows of the listed states, best first; ties by lot, or else by row.

        `lots` holds one number per state; among equal scores the smaller goes first.
        """
        mutated, kept = arm_sizes(drawn.spectrum)
        listed = (mutated >= self.least) & (kept >= self.least)
        if self.allowed is not None:
            listed &= self.allowed
        rows = np.flatnonzero(listed)
        keys = rows if lots is None else lots[rows]
        return rows[np.lexsort((keys, -self.score(drawn)[rows]))]


def half_split(visits: Visits, listing: Listing, splits: int = SPLITS, seed: int = 0) -> Stability:
    """Compare the lists of random halves of the episodes, averaged over several halvings.

    Ties are broken by lot, anew in each half: a list that does not tell states apart does not come
    back. Where the whole suite lists fewer than ten or fifty states, shares are of those there are.
    """
    listed = len(listing.order(visits.draw(np.ones(visits.episodes))))
    found = []
    halvings = _halvings(visits, splits, np.random.default_rng(seed))
    while some := list(islice(halvings, visits.at_once)):
        both = visits.halves([first for first, _ in some])
        for (_, lots), halves in zip(some, both, strict=True):
            one, two = map(listing.order, halves, lots)
            shares = [overlap(one, two, min(top, listed)) for top in (10, 50)]
            found.append([*shares, rank_biased_overlap(one, two)])
    top10, top50, biased = np.mean(found, axis=0).tolist()
    return Stability(top10, top50, biased)


def _halvings(
    visits: Visits, splits: int, generator: np.random.Generator
) -> Iterator[tuple[BoolArray, tuple[IntArray, IntArray]]]:
    """Yield which episodes are the first half, and how ties are broken in both."""
    for _ in range(splits):
        first = np.zeros(visits.episodes, dtype=bool)
        first[generator.permutation(visits.episodes)[: visits.episodes // 2]] = True
        yield first, (generator.permutation(visits.states), generator.permutation(visits.states))


def overlap(one: IntArray, two: IntArray, top: int) -> float:
    """Return the share of the first `top` of one list that are among the first of the other."""
    if top < 1:
        return 0.0
    return len(np.intersect1d(one[:top], two[:top])) / top


def rank_biased_overlap(one: IntArray, two: IntArray, persistence: float = PERSISTENCE) -> float:
    """Return the extrapolated rank-biased overlap of two lists, up to the shorter one's length.

    Webber, Moffat and Zobel, ACM Transactions on Information Systems 28, 2010: the overlap at each
    depth, weighed by a geometric series; below the last depth it is taken to stay as it is.
    """
    length = min(len(one), len(two), _DEPTH)
    if not length:
        return 0.0
    _, first, second = np.intersect1d(one[:length], two[:length], return_indices=True)
    joined = np.bincount(np.maximum(first, second), minlength=length)
    depth = np.arange(1, length + 1)
    agreement = np.cumsum(joined) / depth
    weights = (1 - persistence) * persistence ** (depth - 1)
    return float(weights @ agreement + persistence**length * agreement[-1])


@dataclass(frozen=True)
class RankIntervals:
    """Where states stand in the lists of resampled suites; one row per state asked for."""

    low: IntArray
    """Rank, from 1, that few resamples fall below."""
    high: IntArray
    """Rank that few resamples exceed; behind the last listed state where it is not listed."""
    listed: FloatArray
    """Share of the resamples that list the state."""


def rank_intervals(
    visits: Visits,
    listing: Listing,
    rows: IntArray,
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.9,
) -> RankIntervals:
    """Return between which ranks states lie in the middle `level` of bootstrapped suites.

    Episodes are drawn with replacement, as many as there are; ties are broken by lot. Holds one
    number per resample and state asked for.
    """
    generator = np.random.default_rng(seed)
    resamples = resamples if len(rows) else 1  # only the measure may still refuse
    ranks = np.empty((resamples, len(rows)), dtype=np.int64)
    listed = np.zeros(len(rows))
    resampled = enumerate(_resampled(visits, resamples, generator))
    while some := list(islice(resampled, visits.at_once)):
        drawn = visits.draws([counts for _, (counts, _) in some])
        for (resample, (_, lots)), one in zip(some, drawn, strict=True):
            order = listing.order(one, lots)
            place = np.full(visits.states, len(order))
            place[order] = np.arange(len(order))
            ranks[resample] = place[rows] + 1
            listed += place[rows] < len(order)
    ordered = np.sort(ranks, axis=0)
    outside = int(resamples * (1 - level) / 2)
    return RankIntervals(ordered[outside], ordered[-1 - outside], listed / resamples)


def _resampled(
    visits: Visits, resamples: int, generator: np.random.Generator
) -> Iterator[tuple[FloatArray, IntArray]]:
    """Yield how often each episode is drawn, and how ties are broken."""
    for _ in range(resamples):
        drawn = generator.integers(visits.episodes, size=visits.episodes)
        counts = np.bincount(drawn, minlength=visits.episodes).astype(np.float64)
        yield counts, generator.permutation(visits.states)
