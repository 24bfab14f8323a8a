"""Suite + weights -> spectrum: per state, episodes by fate and outcome."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.intervals import arm_sizes
from rpd_core.analysis.suite import merge_with_sums
from rpd_core.plugin.protocols import Evidence, Returns, Spectrum, States, Suite

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, BoolArray, FloatArray

_CELLS = ("mutated_failed", "mutated_passed", "kept_failed", "kept_passed")
_FOLD = 5_000
"""Rows of states that are collected before they are added up; a state may be a whole picture."""
_RETURNS = ("mutated_sum", "mutated_squares", "kept_sum", "kept_squares")
_GRID = 2.0**20
"""Returns are rounded to multiples of 1 / _GRID, so that their sums do not depend on the parts."""


@dataclass(frozen=True)
class Tally:
    """The states of a suite with everything that is counted per state."""

    states: States
    spectrum: Spectrum
    differed: FloatArray
    """Share of the visits to each state at which policy and default action differ."""
    differed_first: FloatArray
    """Share of the episodes that visit it in which they differ at the first visit."""
    returns: Returns
    episodes: int
    """Number of episodes."""
    outcome_spread: float = 1.0
    """From `outcome_spread`."""

    def evidence(self) -> Evidence:
        """Return what every measure may look at."""
        return Evidence(
            self.spectrum,
            self.states.key,
            self.states,
            self.differed,
            self.differed_first,
            self.returns,
            self.episodes,
            self.outcome_spread,
        )


def tally(chunks: Iterable[Suite], weights: FloatArray) -> Tally:
    """Add up the spectra of parts of a suite, whose episodes have these weights, in order."""
    waiting: list[tuple[States, FloatArray]] = []
    start, size, least = 0, 0, _FOLD
    for chunk in chunks:
        end = start + len(chunk.episodes)
        waiting.append((chunk.states, _columns(chunk, weights[start:end])))
        start, size = end, size + len(chunk.states)
        if size > least:  # bounded memory, and linear work: what is held at most doubles
            waiting = [_fold(waiting)]
            size = len(waiting[0][0])
            least = 2 * size + _FOLD
    states, columns = _fold(waiting)
    cells = dict(zip(_CELLS, np.ascontiguousarray(columns[:, :4].T), strict=True))
    returns = dict(zip(_RETURNS, np.ascontiguousarray(columns[:, 4:8].T), strict=True))
    return Tally(
        states,
        Spectrum(**cells),
        columns[:, 8] / states.visits,
        columns[:, 9] / columns[:, :4].sum(axis=1),
        Returns(**returns),
        start,
        outcome_spread(weights),
    )


def outcome_spread(weights: FloatArray) -> float:
    """Return the spread of outcomes as a share of that of all-or-nothing ones of the same mean."""
    mean = float(weights.mean()) if len(weights) else 0.0
    if not 0 < mean < 1 or np.isin(weights, (0.0, 1.0)).all():
        return 1.0
    return float(np.sqrt(weights.var() / (mean * (1 - mean))))


def _fold(waiting: list[tuple[States, FloatArray]]) -> tuple[States, FloatArray]:
    states, columns = merge_with_sums([one[0] for one in waiting], [one[1] for one in waiting])
    assert columns is not None, "there are sums for every part"
    return states, columns


def _columns(suite: Suite, weights: FloatArray) -> FloatArray:
    """Return, per state, the cells, sums of returns, and visits at which the default differed."""
    state, episode, visits = suite.state_of_visit(), suite.episode_of_visit(), suite.visits
    passed, arms = weights[episode], (visits.mutated, ~visits.mutated)
    returns = (np.round(suite.episodes.total_return * _GRID) / _GRID)[episode]

    def columns() -> Iterator[Array]:  # one at a time: each is as long as the visits
        for arm in arms:
            yield from (arm * (1 - passed), arm * passed)
        for arm in arms:
            yield from (returns * arm, returns**2 * arm)
        yield from (visits.differed, visits.differed_first)

    count = len(suite.states)
    return np.stack([np.bincount(state, column, count) for column in columns()], axis=1)


def identified(spectrum: Spectrum, at_least: int) -> BoolArray:
    """Return which states have at least this many episodes in each arm."""
    mutated, kept = arm_sizes(spectrum)
    return np.asarray((mutated >= at_least) & (kept >= at_least))
