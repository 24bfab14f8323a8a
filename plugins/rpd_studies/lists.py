"""Does a list hold in another suite? The effects there of the states that it names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.analysis import Analysis
from rpd_core.analysis.decisions import judged_states
from rpd_core.analysis.intervals import effect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rpd_core.plugin.protocols import FloatArray, KeyArray

LONGEST = 50
"""States of a list that are looked up in another suite."""
FIRST = 10
"""Those of them that are shown first."""


@dataclass(frozen=True)
class Lists:
    """The first states by every measure, and the effects of all states with evidence."""

    first: Mapping[str, KeyArray]
    """By measure, the keys of the first states with evidence."""
    keys: KeyArray
    """Keys of all states with evidence, ascending."""
    effects: FloatArray
    """Their effects."""
    learned: str = ""
    """Digest of what the abstraction has learned: other states cannot be looked up."""


@dataclass(frozen=True)
class Holding:
    """What another suite says of a list."""

    holds: float
    """Share of the first fifty with a positive effect there; 0 counts those without evidence."""
    effect: float
    """Mean effect there of the first ten; 0 counts for those without evidence."""


def lists_of(analysis: Analysis, evidence: int, learned: str) -> Lists:
    """Return the first states by every measure of an analysis."""
    counted = analysis.counted
    judged = judged_states(counted, evidence)
    first = {}
    for name, ranking in analysis.rankings.items():
        rows = ranking.order[judged[ranking.order]][:LONGEST]
        first[name] = counted.states.key[rows]
    effects = effect(counted.spectrum)[judged]
    return Lists(first, counted.states.key[judged], effects, learned)


def holding(listed: KeyArray, other: Lists) -> Holding | None:
    """Look up the states of a list in another suite; None if there are none."""
    if not len(listed):
        return None
    found = np.zeros(len(listed))
    place = np.searchsorted(other.keys, listed)
    place[place == len(other.keys)] = 0
    met = other.keys[place] == listed if len(other.keys) else np.zeros(len(listed), dtype=bool)
    found[met] = other.effects[place[met]]
    return Holding(float((found > 0).mean()), float(found[:FIRST].mean()))
