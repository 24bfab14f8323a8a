"""Whether the list of a stored suite would come back: half-splits and rank intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rpd_core.analysis.analysis import Analysis
from rpd_core.analysis.ranking import evidence_for, scored
from rpd_core.analysis.records import Stability
from rpd_core.analysis.stability import (
    SUMS,
    DrawnEpisodes,
    Listing,
    RankIntervals,
    VisitDifferences,
    VisitSums,
    cells_by_draw,
    cells_matrix,
    half_split,
    held_visits,
    rank_intervals,
)
from rpd_core.analysis.suite import redrawn
from rpd_core.errors import RpdError
from rpd_core.plugin.protocols import Evidence, Measure, Visits
from rpd_core.store.tables import read_episodes, read_table

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, BoolArray, FloatArray, IntArray

RESAMPLES = 300
"""Resampled suites behind the intervals of ranks."""
_SUITES = 100
"""The same for a measure that looks at the whole suite: it takes up to a hundred times as long."""
_STREAMED = 2**18
"""States of a suite that is read anew for its halves; of more, the visits take less memory."""
_PARTS = ("returns", "differed", "differed_first")
"""What is added up over episodes beside the spectrum, for measures that look at it."""


class Recurrence:
    """The visits of a suite, ready to be split and resampled under the measure of a list."""

    def __init__(
        self,
        analysis: Analysis,
        measure: Measure,
        least: int,
        visits: VisitSums | None = None,
        only: BoolArray | None = None,
        streamed: bool = False,
    ) -> None:
        """Look at what the measure looks at; states need `least` episodes in each arm.

        `visits` are all columns of the suite's, where they have been read before; `only` some
        states are listed. `streamed`, for halves alone: where the measure looks at whole numbers,
        visits stay on disk.
        """
        whole = evidence_for(measure, analysis.counted, analysis.weights, lambda: analysis.suite)
        self._whole_suite = whole.suite is not None
        seen = {*_PARTS} if self._whole_suite else _looks_at(measure, whole)
        self._divisible = "states" not in seen
        few = streamed and not seen and len(analysis.counted.states) <= _STREAMED
        self._visits = visits or (
            streamed_visits(analysis)
            if few
            else counted_visits(
                analysis, "returns" in seen, not seen.isdisjoint(("differed", "differed_first"))
            )
        )
        score = _score(measure, whole, tuple(part for part in _PARTS if part in seen))
        allowed = np.asarray(analysis.counted.differed > 0)
        self._listing = Listing(score, least, allowed if only is None else allowed & only)
        self.seed = 0

    def stability(self) -> Stability | None:
        """Compare random halves; None where a list cannot come back or stay away.

        So it is with scores that are the same in every half, since they look at no episode, and
        with those that look at what is known of the states of the whole suite only.
        """
        if not self._divisible:
            return None
        first = np.arange(self._visits.episodes) % 2 == 0
        ((even, odd),) = self._visits.halves([first])
        try:
            one, two = self._listing.score(even), self._listing.score(odd)
            if np.array_equal(one, two):
                return None
            if not len(self._listing.order(self._visits.draw(np.ones(self._visits.episodes)))):
                return None
            return half_split(self._visits, self._listing, seed=self.seed)
        except RpdError:  # halves can be too small for a measure
            return None

    def ranks(self, rows: IntArray) -> RankIntervals | None:
        """Return between which ranks some states lie; None where the measure cannot tell."""
        if not self._divisible:
            return None
        resamples = _SUITES if self._whole_suite else RESAMPLES
        try:
            return rank_intervals(self._visits, self._listing, rows, resamples, self.seed)
        except RpdError:
            return None


def _looks_at(measure: Measure, whole: Evidence) -> set[str]:
    """Return the fields of the evidence on which the scores of a measure depend."""
    scores, _ = scored("", measure, whole)

    def matters(field: str) -> bool:
        try:
            lacking: dict[str, Any] = {field: None}
            without, _ = scored("", measure, replace(whole, **lacking))
        except RpdError:
            return True
        return not np.array_equal(without, scores)

    return {field for field in ("states", *_PARTS) if matters(field)}


def _score(
    measure: Measure, whole: Evidence, parts: tuple[str, ...]
) -> Callable[[DrawnEpisodes], FloatArray]:
    """Return how drawn episodes score states by a measure."""

    def score(drawn: DrawnEpisodes) -> FloatArray:
        fields = {part: drawn.part(part) for part in parts}
        number = int(drawn.counts.sum())
        given = replace(whole, spectrum=drawn.spectrum, episodes=number, **fields)
        if whole.suite is not None and whole.weights is not None:
            counts = drawn.counts.astype(np.int64)
            weights = np.repeat(whole.weights, counts)
            given = replace(given, suite=redrawn(whole.suite, counts), weights=weights)
        return scored("", measure, given)[0]

    return score


def counted_visits(analysis: Analysis, returns: bool = True, differences: bool = True) -> VisitSums:
    """Read which episode visited which state, how it fared there, and what else is asked for."""
    keys, index = analysis.counted.states.key, analysis.episodes.index
    columns: list[list[Array]] = []
    for chunk in analysis.stored.chunks():
        visits = chunk.visits
        found: list[Array] = [
            np.searchsorted(index, visits.episode).astype(np.int32),
            np.searchsorted(keys, visits.key).astype(np.int32),
            visits.mutated,
        ]
        if differences:
            found += [visits.count, visits.differed, visits.differed_first]
        columns.append(found)
    episode, state, mutated, *more = (
        np.concatenate(column) for column in zip(*columns, strict=True)
    )
    given = analysis.episodes.total_return if returns else None
    differing = VisitDifferences(*more) if differences else None
    return held_visits(episode, state, mutated, analysis.weights, len(keys), given, differing)


def streamed_visits(analysis: Analysis) -> VisitSums:
    """Leave visits on disk and read them anew each time: memory does not grow with the episodes.

    Sums of returns and of differences, which are not exact or not read, are not known.
    """
    weights, keys, whole = analysis.weights, analysis.counted.states.key, analysis.counted.spectrum

    def add(counts: FloatArray) -> FloatArray:
        sums, begin = np.zeros((4 * len(keys), counts.shape[1])), 0
        for tables in analysis.stored.tables("episodes", "visits"):
            index = read_episodes(tables["episodes"]).index
            visits = read_table(Visits, tables["visits"])
            some = slice(begin, begin + len(index))
            begin = some.stop
            episode, state = (
                np.searchsorted(index, visits.episode),
                np.searchsorted(keys, visits.key),
            )
            matrix = cells_matrix(episode, state, visits.mutated, weights[some], len(keys))
            sums += matrix @ counts[some]
        return cells_by_draw(sums)

    cells = (whole.kept_failed, whole.kept_passed, whole.mutated_failed, whole.mutated_passed)
    at_once = max(1, SUMS // max(len(keys), 1))
    return VisitSums(add, np.stack(cells), len(weights), len(keys), at_once)
