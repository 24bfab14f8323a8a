"""Suite + weights -> spectrum: per state, episodes by fate and outcome."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.suite import merge_with_sums
from rpd_core.plugin.protocols import Spectrum, States, Suite

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import BoolArray, FloatArray

_CELLS = ("mutated_failed", "mutated_passed", "kept_failed", "kept_passed")
_FOLD = 5_000
"""Rows of states that are collected before they are added up; a state may be a whole picture."""
ENOUGH = 20
"""Episodes in each arm from which on a state counts as identified."""


@dataclass(frozen=True)
class Tally:
    """The states of a suite with their spectrum and how often the default action differed."""

    states: States
    spectrum: Spectrum
    differed: FloatArray
    """Share of the visits to each state at which policy and default action differ."""


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
    return Tally(states, Spectrum(**cells), columns[:, 4] / columns[:, 5])


def _fold(waiting: list[tuple[States, FloatArray]]) -> tuple[States, FloatArray]:
    states, columns = merge_with_sums([one[0] for one in waiting], [one[1] for one in waiting])
    assert columns is not None, "there are sums for every part"
    return states, columns


def _columns(suite: Suite, weights: FloatArray) -> FloatArray:
    """Return, per state, the four cells, visits at which the default differed, and visits."""
    spectrum = count_spectrum(suite, weights)
    state, count = suite.state_of_visit(), len(suite.states)
    visits = suite.visits
    more = [np.bincount(state, column, count) for column in (visits.differed, visits.count)]
    return np.stack([*(getattr(spectrum, cell) for cell in _CELLS), *more], axis=1)


def count_spectrum(suite: Suite, weights: FloatArray) -> Spectrum:
    """Count, for every state, the episodes that visited it (each once, however often)."""
    state = suite.state_of_visit()
    passed = weights[suite.episode_of_visit()]
    mutated = suite.visits.mutated.astype(np.float64)
    count = len(suite.states)

    def add(weight: FloatArray) -> FloatArray:
        return np.bincount(state, weights=weight, minlength=count).astype(np.float64, copy=False)

    return Spectrum(
        mutated_failed=add(mutated * (1 - passed)),
        mutated_passed=add(mutated * passed),
        kept_failed=add((1 - mutated) * (1 - passed)),
        kept_passed=add((1 - mutated) * passed),
    )


def identified(spectrum: Spectrum) -> BoolArray:
    """Return which states have enough episodes in each arm to be judged."""
    mutated = spectrum.mutated_failed + spectrum.mutated_passed
    kept = spectrum.kept_failed + spectrum.kept_passed
    return np.asarray((mutated >= ENOUGH) & (kept >= ENOUGH))
