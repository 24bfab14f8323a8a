"""The visits of a suite, left on disk and read anew: memory does not grow with the episodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.stability import SUMS, Drawn
from rpd_core.plugin.protocols import Spectrum, Visits
from rpd_core.store.tables import read_episodes, read_table

if TYPE_CHECKING:
    from rpd_core.analysis.analysis import Analysis
    from rpd_core.plugin.protocols import Array, BoolArray, FloatArray


class StreamedVisits:
    """Adds up spectra part by part; all sums are exact, so their order does not matter."""

    def __init__(self, analysis: Analysis) -> None:
        self._stored, self._weights = analysis.stored, analysis.weights
        self._keys, self._whole = analysis.counted.states.key, analysis.counted.spectrum
        self.states = len(self._keys)
        self.at_once = max(1, SUMS // max(self.states, 1))

    @property
    def episodes(self) -> int:
        """Number of episodes."""
        return len(self._weights)

    def draw(self, counts: FloatArray) -> Drawn:
        """Return what adds up if each episode counts as often as given."""
        return Drawn(self, counts)

    def spectrum(self, counts: FloatArray) -> Spectrum:
        """Return the spectrum in which each episode counts as often as given."""
        if (counts == 1).all():
            return self._whole
        return _spectrum(self._added(counts[:, None])[:, 0])

    def draws(self, counts: Sequence[FloatArray]) -> list[Drawn]:
        """Return what adds up for each of several."""
        sums = self._added(np.stack(counts, axis=1))
        return [Drawn(self, one, _spectrum(sums[:, number])) for number, one in enumerate(counts)]

    def halves(self, firsts: Sequence[BoolArray]) -> list[tuple[Drawn, Drawn]]:
        """Return both halves of the episodes for some first halves."""
        sums = self._added(np.stack(firsts, axis=1))
        whole = _cells(self._whole)
        return [
            (
                Drawn(self, first, _spectrum(sums[:, number])),
                Drawn(self, ~first, _spectrum(whole - sums[:, number])),
            )
            for number, first in enumerate(firsts)
        ]

    def returns(self, counts: FloatArray) -> None:
        """Return nothing: sums of returns are not exact."""

    def differed(self, counts: FloatArray) -> None:
        """Return nothing: it is not read."""

    def differed_first(self, counts: FloatArray) -> None:
        """Return nothing: it is not read."""

    def _added(self, counts: Array) -> FloatArray:
        """Return, per cell, draw and state, the episodes that visited; draws are columns."""
        from scipy.sparse import csr_array  # 0.1 s, which reading a run does without

        draws = counts.shape[1]
        sums = np.zeros((2 * self.states, 2 * draws))
        begin = 0
        for tables in self._stored.tables("episodes", "visits"):
            index = read_episodes(tables["episodes"]).index
            visits = read_table(Visits, tables["visits"])
            some = slice(begin, begin + len(index))
            begin = some.stop
            passed = counts[some] * self._weights[some, None]
            cell = 2 * np.searchsorted(self._keys, visits.key) + visits.mutated
            shape = 2 * self.states, len(index)
            visited = csr_array(
                (np.ones(len(cell)), (cell, np.searchsorted(index, visits.episode))), shape
            )
            sums += visited @ np.concatenate([counts[some] - passed, passed], axis=1)
        return sums.reshape(self.states, 4, draws).transpose(1, 2, 0)


def _spectrum(cells: FloatArray) -> Spectrum:
    kept_failed, kept_passed, mutated_failed, mutated_passed = cells
    return Spectrum(mutated_failed, mutated_passed, kept_failed, kept_passed)


def _cells(spectrum: Spectrum) -> FloatArray:
    one = spectrum
    return np.stack([one.kept_failed, one.kept_passed, one.mutated_failed, one.mutated_passed])
