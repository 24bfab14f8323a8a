"""Ranking + evidence -> the list of decisions that people read: effects, verdicts, who is left out.

A state is listed if it has enough episodes in each arm and its default action ever differed from
what the policy chose; the order is that of the ranking.

A suite that doubles is judged in several looks. Look k judges at the level (1 - confidence) /
2**k, and a verdict once given stays. The false ones among the verdicts that a look adds are, on
average, at most the look's level of all verdicts, and the levels of all looks, however many, add up
to no more than 1 - confidence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.analysis import Analysis
from rpd_core.analysis.intervals import Interval, effect_interval
from rpd_core.analysis.ranking import Ranking
from rpd_core.analysis.spectrum import Tally, identified, tally
from rpd_core.analysis.suite import Reach, StoredEpisodes
from rpd_core.analysis.verdicts import Verdict, Verdicts, judge
from rpd_core.config.settings import Settings

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import BoolArray, IntArray, KeyArray


@dataclass(frozen=True)
class Rules:
    """When a state is judged, and how."""

    evidence: int
    """Episodes in each arm that it needs."""
    margin: float
    """Effect below which a decision counts as harmless."""
    confidence: float = 0.95
    """The share of false verdicts is expected to be at most 1 minus this."""


@dataclass(frozen=True)
class Decisions:
    """Every state judged; rows are those of the tally."""

    ranking: Ranking
    """What the list is sorted by."""
    counted: Tally
    evidence: BoolArray
    """States with enough episodes in each arm."""
    differs: BoolArray
    """States in which the default action ever differed from the policy's."""
    effects: Interval
    verdicts: Verdicts
    reach: Reach
    """What the policy reaches when nothing is mutated."""

    @property
    def judged(self) -> BoolArray:
        """States that can be listed."""
        return self.evidence & self.differs

    def listed(self, everything: bool = False, only_reached: bool = False) -> IntArray:
        """Return the rows of the list, first decision first; those without evidence on demand."""
        shown = self.differs if everything else self.judged
        if only_reached:
            shown = shown & (self.reach.share_of_episodes(self.counted.states.key) > 0)
        order = self.ranking.order
        return order[shown[order]]


def rules_of(settings: Settings) -> Rules:
    """Return how states are judged under these settings."""
    return Rules(settings.evidence, settings.margin, settings.confidence)


def decide(
    counted: Tally,
    ranking: Ranking,
    reach: Reach,
    rules: Rules,
    verdicts: Verdicts | None = None,
) -> Decisions:
    """Judge every state with enough episodes in each arm, unless the verdicts are given."""
    if verdicts is None:
        judged = judged_states(counted, rules.evidence)
        verdicts = judge(counted.spectrum, judged, rules.margin, 1 - rules.confidence)
    return Decisions(
        ranking,
        counted,
        identified(counted.spectrum, rules.evidence),
        np.asarray(counted.differed > 0),
        effect_interval(counted.spectrum),
        verdicts,
        reach,
    )


def judged_states(counted: Tally, at_least: int) -> BoolArray:
    """Return the states with so many episodes in each arm whose default action ever differed."""
    return np.asarray(identified(counted.spectrum, at_least) & (counted.differed > 0))


def look_sizes(first: int, last: int) -> tuple[int, ...]:
    """Return the sizes at which a suite is looked at that doubles from `first` to `last`."""
    sizes = [min(first, last)]
    while sizes[-1] < last:
        sizes.append(min(2 * sizes[-1], last))
    return tuple(sizes)


def look_level(number: int, confidence: float) -> float:
    """Return the share of false verdicts that a look may add; the first one has number 1."""
    return (1 - confidence) / 2.0**number


@dataclass
class Looks:
    """The verdicts so far, look by look."""

    rules: Rules
    count: int = 0
    """Looks that were taken."""
    keys: KeyArray | None = None
    """The states of the last look, in order."""
    verdicts: Verdicts | None = None
    """Their verdicts."""

    def add(self, counted: Tally) -> Verdicts:
        """Judge a suite that holds all of the last one; what was settled stays as it was."""
        self.count += 1
        level = look_level(self.count, self.rules.confidence)
        judged = judged_states(counted, self.rules.evidence)
        found = judge(counted.spectrum, judged, self.rules.margin, level)
        keys = counted.states.key
        if self.verdicts is not None and self.keys is not None:
            at = np.searchsorted(keys, self.keys)
            found = _carry(self.verdicts, at, found)
        self.keys, self.verdicts = keys, found
        return found


def _carry(before: Verdicts, at: IntArray, now: Verdicts) -> Verdicts:
    """Return the verdicts now, with those of before where there were any."""
    settled = before.settled
    codes, growth = now.codes.copy(), now.growth.copy()
    codes[at[settled]] = before.codes[settled]
    growth[at[settled]] = 1.0
    return replace(now, codes=codes, growth=growth)


def judge_in_looks(
    analysis: Analysis, rules: Rules, first: int | None, planned: int | None = None
) -> Verdicts | None:
    """Judge a stored suite as it was judged while it doubled; None where it did not.

    `planned` is where it stopped to double, if it has grown since.
    """
    if first is None:
        return None
    looks, total = Looks(rules), len(analysis.episodes)
    for size in look_sizes(first, planned or total):
        if size < total:
            stored = StoredEpisodes(analysis.stored.parts, size)
            looks.add(tally(stored.chunks(), analysis.weights[:size]))
    return looks.add(analysis.counted)


def open_ranks(found: Decisions, top: int) -> tuple[int, ...]:
    """Return which of the first ranks of the list have no verdict yet, or no state.

    A list can be no longer than the number of states in which the default action ever differed.
    """
    wanted = min(top, max(int(found.differs.sum()), 1))
    rows = found.listed()[:wanted]
    undecided = np.flatnonzero(found.verdicts.are(Verdict.UNDECIDED)[rows]) + 1
    return (*undecided.tolist(), *range(len(rows) + 1, wanted + 1))
