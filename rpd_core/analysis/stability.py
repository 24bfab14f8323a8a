"""Does the list of states come back? Halves of the suite compared, and resampled episodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

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
class VisitDifferences:
    """How often the default action differed, one row per visit."""

    count: IntArray
    """Steps of the visit's episode in its state."""
    differed: IntArray
    """Those at which the default action was not what the policy chose."""
    first: BoolArray
    """Whether it was not at the first of them."""


def cells_matrix(
    episode: IntArray, state: IntArray, mutated: BoolArray, weights: FloatArray, states: int
) -> Any:
    """Return visits as a matrix whose product with counts of episodes are the cells of states.

    Weights are multiples of a power of two, so that all sums are exact, in whatever order.
    """
    passed, row = weights[episode], 4 * state + 2 * mutated
    some, others = passed > 0, passed < 1  # both under a soft condition
    share, rows = np.r_[passed[some], 1 - passed[others]], np.r_[row[some] + 1, row[others]]
    columns = np.r_[episode[some], episode[others]]
    return csr_array((share, (rows, columns)), (4 * states, len(weights)))


def cells_by_draw(sums: FloatArray) -> FloatArray:
    """Return what was added up by cell, by draw and by state."""
    return np.ascontiguousarray(sums.reshape(-1, 4, sums.shape[1]).transpose(1, 2, 0))


@dataclass(frozen=True)
class VisitSums:
    """Who visited what in a suite, ready to be added up over episodes drawn from it."""

    add: Callable[[FloatArray], FloatArray]
    """The cells of states, by cell, draw and state, for counts of episodes; draws are columns."""
    whole: FloatArray
    """The cells of all episodes once."""
    episodes: int
    states: int
    at_once: int
    """Draws that are added up together."""
    parts: Mapping[str, Callable[[FloatArray], Any]] = field(default_factory=dict)
    """What adds up to further fields of the evidence, by their names, where that is known."""

    def draw(self, counts: FloatArray) -> DrawnEpisodes:
        return DrawnEpisodes(self, counts)

    def draws(self, counts: Sequence[FloatArray]) -> list[DrawnEpisodes]:
        """Return what adds up for each of several."""
        cells = self.add(np.stack(counts, axis=1))
        return [DrawnEpisodes(self, one, _spectrum(cells[:, n])) for n, one in enumerate(counts)]

    def halves(self, firsts: Sequence[BoolArray]) -> list[tuple[DrawnEpisodes, DrawnEpisodes]]:
        """Return both halves of the episodes for some first halves."""
        cells = self.add(np.stack(firsts, axis=1).astype(np.float64))
        return [
            (
                DrawnEpisodes(self, first.astype(np.float64), _spectrum(cells[:, n])),
                DrawnEpisodes(
                    self, (~first).astype(np.float64), _spectrum(self.whole - cells[:, n])
                ),
            )
            for n, first in enumerate(firsts)
        ]

    def spectrum(self, counts: FloatArray) -> Spectrum:
        once = (counts == 1).all()
        return _spectrum(self.whole if once else self.add(counts[:, None])[:, 0])


def held_visits(
    episode: IntArray,
    state: IntArray,
    mutated: BoolArray,
    weights: FloatArray,
    states: int,
    returns: FloatArray | None = None,
    differences: VisitDifferences | None = None,
) -> VisitSums:
    """Hold visits, with rows of episodes and states; `weights` and `returns` are of episodes."""
    matrix = cells_matrix(episode, state, mutated, weights, states)

    def add(counts: FloatArray) -> FloatArray:
        return cells_by_draw(matrix @ counts)

    def table(amounts: Array, rows: IntArray, count: int) -> Any:
        return csr_array((amounts.astype(np.float64), (rows, episode)), (count, len(weights)))

    def share(parts: Array, of: Array) -> Callable[[FloatArray], FloatArray]:
        some, every = table(parts, state, states), table(of, state, states)

        def look_up(counts: FloatArray) -> FloatArray:
            total, shares = every @ counts, np.zeros(states)
            return np.asarray(np.divide(some @ counts, total, out=shares, where=total > 0))

        return look_up

    parts: dict[str, Callable[[FloatArray], Any]] = {}
    if returns is not None:
        arms, squares = table(np.ones(len(episode)), 2 * state + mutated, 2 * states), returns**2

        def returns_of(counts: FloatArray) -> Returns:
            sums, more = ((arms @ (counts * one)).reshape(-1, 2) for one in (returns, squares))
            return Returns(sums[:, 1], more[:, 1], sums[:, 0], more[:, 0])

        parts["returns"] = returns_of

    if differences is not None:
        parts["differed"] = share(differences.differed, differences.count)
        parts["differed_first"] = share(differences.first, np.ones(len(episode)))
    whole = add(np.ones((len(weights), 1)))[:, 0]
    at_once = max(1, min(_AT_ONCE, SUMS // max(states, 1)))
    return VisitSums(add, whole, len(weights), states, at_once, parts)


def _spectrum(cells: FloatArray) -> Spectrum:
    kept_failed, kept_passed, mutated_failed, mutated_passed = cells
    return Spectrum(mutated_failed, mutated_passed, kept_failed, kept_passed)


class DrawnEpisodes:
    """Episodes drawn from a suite; what is asked for is added up per state, once."""

    def __init__(self, visits: VisitSums, counts: Array, spectrum: Spectrum | None = None) -> None:
        """Add up when asked; the spectrum may have been before."""
        self._visits = visits
        self.counts = counts
        """How often each episode was drawn."""
        if spectrum is not None:
            self.spectrum = spectrum

    @cached_property
    def spectrum(self) -> Spectrum:
        return self._visits.spectrum(self.counts)

    def part(self, name: str) -> Any:
        """Return a further field of the evidence; None where it is not known."""
        known = self._visits.parts.get(name)
        return None if known is None else known(self.counts)


@dataclass(frozen=True)
class Listing:
    """How a table of states is made from some episodes."""

    score: Callable[[DrawnEpisodes], FloatArray]
    """Score of each state, higher first."""
    least: float = 10
    """Episodes that each arm of a listed state has at least."""
    allowed: BoolArray | None = None
    """States that may be listed at all, for example where the default action ever differed."""

    def order(self, drawn: DrawnEpisodes, lots: IntArray | None = None) -> IntArray:
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


def half_split(
    visits: VisitSums, listing: Listing, splits: int = SPLITS, seed: int = 0
) -> Stability:
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
    visits: VisitSums, splits: int, generator: np.random.Generator
) -> Iterator[tuple[BoolArray, tuple[IntArray, IntArray]]]:
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
    visits: VisitSums,
    listing: Listing,
    rows: IntArray,
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.9,
) -> RankIntervals:
    """Return between which ranks states lie in the middle `level` of bootstrapped suites."""
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
    visits: VisitSums, resamples: int, generator: np.random.Generator
) -> Iterator[tuple[FloatArray, IntArray]]:
    for _ in range(resamples):
        drawn = generator.integers(visits.episodes, size=visits.episodes)
        counts = np.bincount(drawn, minlength=visits.episodes).astype(np.float64)
        yield counts, generator.permutation(visits.states)
