"""Ranking + evidence -> the list of decisions that people read: effects, verdicts, who is left out.

A state is listed if it has enough episodes in each arm and its default action ever differed from
what the policy chose; the order is that of the ranking.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.intervals import Interval, effect_interval
from rpd_core.analysis.ranking import Ranking
from rpd_core.analysis.spectrum import Tally, identified
from rpd_core.analysis.suite import Reach
from rpd_core.analysis.verdicts import Verdicts, judge
from rpd_core.config.settings import Settings

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import BoolArray, IntArray


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
        return self.evidence & self.differs

    def listed(self, everything: bool = False, only_reached: bool = False) -> IntArray:
        """Return the rows of the list, first decision first; those without evidence on demand."""
        shown = self.differs if everything else self.judged
        if only_reached:
            shown = shown & (self.reach.share_of_episodes(self.counted.states.key) > 0)
        order = self.ranking.order
        return order[shown[order]]


def rules_of(settings: Settings) -> Rules:
    return Rules(settings.evidence, settings.margin, settings.confidence)


def decide(counted: Tally, ranking: Ranking, reach: Reach, rules: Rules) -> Decisions:
    """Judge every state with enough episodes in each arm."""
    judged = judged_states(counted, rules.evidence)
    return Decisions(
        ranking,
        counted,
        identified(counted.spectrum, rules.evidence),
        np.asarray(counted.differed > 0),
        effect_interval(counted.spectrum),
        judge(counted.spectrum, judged, rules.margin, 1 - rules.confidence),
        reach,
    )


def judged_states(counted: Tally, at_least: int) -> BoolArray:
    """Return the states with so many episodes in each arm whose default action ever differed."""
    return np.asarray(identified(counted.spectrum, at_least) & (counted.differed > 0))
