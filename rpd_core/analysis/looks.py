"""Verdicts over several looks at a suite that doubles.

Look k judges at the level (1 - confidence) / 2**k, and a verdict once given stays. The false ones
among the verdicts that a look adds are, on average, at most the look's level of all verdicts, and
the levels of all looks, however many, add up to no more than 1 - confidence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.analysis import Analysis
from rpd_core.analysis.decisions import Decisions, Rules, judged_states
from rpd_core.analysis.reading import StoredEpisodes
from rpd_core.analysis.spectrum import Tally, tally
from rpd_core.analysis.verdicts import Verdict, Verdicts, judge

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import IntArray, KeyArray


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
