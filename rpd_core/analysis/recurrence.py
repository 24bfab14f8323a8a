"""Whether the list of a stored suite would come back: half-splits and rank intervals."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.analysis import Analysis
from rpd_core.analysis.decisions import Decisions
from rpd_core.analysis.ranking import rank
from rpd_core.analysis.stability import (
    CountedVisits,
    Drawn,
    Listing,
    RankIntervals,
    Stability,
    half_split,
    rank_intervals,
)
from rpd_core.errors import RpdError
from rpd_core.plugin.protocols import Evidence, Measure

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray

RESAMPLES = 300
"""Resampled suites behind the intervals of ranks."""


def stability_by(
    measure: Measure, analysis: Analysis, visits: CountedVisits, evidence: int
) -> Stability | None:
    """Compare random halves listed by any measure; None if it looks at more than outcomes."""
    bare = Evidence(
        analysis.counted.spectrum, analysis.counted.states.key, episodes=visits.episodes
    )

    def score(drawn: Drawn) -> FloatArray:
        given = replace(bare, spectrum=drawn.spectrum, returns=drawn.returns)
        return rank("", measure, given).scores

    first = np.arange(visits.episodes) % 2 == 0
    listing = Listing(score, evidence, np.asarray(analysis.counted.differed > 0))
    try:
        one, two = (score(visits.draw(half.astype(np.float64))) for half in (first, ~first))
        if np.array_equal(one, two):  # it looks at no episode, so it comes back in any case
            return None
        return half_split(visits, listing)
    except RpdError:
        return None


class Recurrence:
    """The visits of a suite, ready to be split and resampled under the measure of its list."""

    def __init__(
        self, analysis: Analysis, found: Decisions, measure: Measure, evidence: int
    ) -> None:
        whole = found.counted.evidence()
        # Adding up returns takes as long as all the rest, and few measures look at them.
        self.visits = counted_visits(analysis, _needs_returns(measure, whole))
        self.seed = 0

        def score(drawn: Drawn) -> FloatArray:
            given = replace(whole, spectrum=drawn.spectrum, returns=drawn.returns)
            return rank(found.ranking.name, measure, given).scores

        self.listing = Listing(score, evidence, found.differs)
        self.found = found

    def stability(self) -> Stability | None:
        """Compare random halves; None if the measure needs the whole suite."""
        if not len(self.found.listed()):
            return None
        try:
            return half_split(self.visits, self.listing, seed=self.seed)
        except RpdError:
            return None

    def ranks(self, count: int, resamples: int = RESAMPLES) -> RankIntervals | None:
        """Return between which ranks the first decisions lie; None as for `stability`."""
        rows = self.found.listed()[:count]
        try:
            return rank_intervals(self.visits, self.listing, rows, resamples, self.seed)
        except RpdError:
            return None


def _needs_returns(measure: Measure, whole: Evidence) -> bool:
    try:
        rank("", measure, replace(whole, returns=None))
    except RpdError:
        return True
    return False


def counted_visits(analysis: Analysis, returns: bool = True) -> CountedVisits:
    """Read which episode visited which state, and how it fared there."""
    keys, index = analysis.counted.states.key, analysis.episodes.index
    columns: list[tuple[object, ...]] = []
    for chunk in analysis.stored.chunks():
        visits = chunk.visits
        columns.append(
            (
                np.searchsorted(index, visits.episode).astype(np.int32),
                np.searchsorted(keys, visits.key).astype(np.int32),
                visits.mutated,
            )
        )
    episode, state, mutated = (np.concatenate(column) for column in zip(*columns, strict=True))
    given = analysis.episodes.total_return if returns else None
    return CountedVisits(episode, state, mutated, analysis.weights, len(keys), given)
