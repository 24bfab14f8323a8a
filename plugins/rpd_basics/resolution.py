"""The search behind `auto`: which of many resolutions identifies the most states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpd_basics.batches import Array
from rpd_basics.bins import Edges, digitise, quantile_edges
from rpd_basics.images import shrink, to_levels
from rpd_core.chance import state_keys

COUNTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 100)
"""Bins per entry that are tried."""
SIZES = ((1, 1), (2, 2), (3, 3), (4, 4), (6, 5), (9, 7), (12, 10), (18, 14), (27, 21), (36, 28))
"""Rows and columns of small pictures that are tried."""
LEVELS = (2, 3, 5, 9)
"""Grey levels that are tried."""


@dataclass(frozen=True)
class _Quality:
    """What a resolution achieves on the sample."""

    identified: int
    covered: float

    def order(self, coverage: float) -> tuple[bool, float, float]:
        """Return what to compare by: enough coverage first, then states, then coverage."""
        enough = self.covered >= coverage
        return enough, self.identified if enough else self.covered, self.covered


@dataclass(frozen=True)
class Judge:
    """Judges resolutions by the steps of a sample."""

    episodes: Array
    """Number of the episode of each step, from 0."""
    count: int
    """Number of episodes."""
    share: float
    """Share of the episodes that must visit a state to identify it."""
    coverage: float
    """Share of fresh steps to cover."""

    @classmethod
    def of(cls, episodes: Array, share: float, coverage: float) -> Judge:
        present, numbers = np.unique(episodes, return_inverse=True)
        return cls(numbers, len(present), share, coverage)

    def __call__(self, values: Array) -> _Quality:
        """Count identified states, and the steps of odd episodes in states of even ones."""
        _, states = np.unique(state_keys(values), return_inverse=True)
        visits = np.unique(states * self.count + self.episodes) // self.count
        visitors = np.bincount(visits)
        identified = int((visitors >= max(self.share * self.count, 1)).sum())
        return _Quality(identified, self._covered(states, len(visitors)))

    def _covered(self, states: Array, count: int) -> float:
        even = self.episodes % 2 == 0
        if even.all():
            return 0.0
        known = np.zeros(count, dtype=bool)
        known[states[even]] = True
        return float(known[states[~even]].mean())


def best_edges(rows: Array, judge: Judge) -> tuple[Edges, _Quality]:
    """Choose bins for every entry: the same number for all, then more or less for single ones."""
    ladder = _Ladder(rows)
    best = (0,) * rows.shape[1]
    quality = judge(ladder.bins(best))
    for rung in range(1, len(COUNTS)):
        tried = (rung,) * rows.shape[1]
        better = judge(ladder.bins(tried))
        if better.order(judge.coverage) > quality.order(judge.coverage):
            best, quality = tried, better
    best, quality = _refine(ladder, best, quality, judge)
    return tuple(ladder.edges(number, rung) for number, rung in enumerate(best)), quality


def _refine(
    ladder: _Ladder, best: tuple[int, ...], quality: _Quality, judge: Judge
) -> tuple[tuple[int, ...], _Quality]:
    """Take the best single change again and again while there is one."""
    while tried := [(judge(ladder.bins(one)), one) for one in _neighbours(best)]:
        better, one = max(tried, key=lambda pair: pair[0].order(judge.coverage))
        if better.order(judge.coverage) <= quality.order(judge.coverage):
            break
        best, quality = one, better
    return best, quality


def _neighbours(rungs: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [
        (*rungs[:number], rung, *rungs[number + 1 :])
        for number, present in enumerate(rungs)
        for rung in (present - 1, present + 1)
        if 0 <= rung < len(COUNTS)
    ]


class _Ladder:
    """Bins of every entry at every rung, each computed once."""

    def __init__(self, rows: Array) -> None:
        self.rows = rows
        self._known: dict[tuple[int, int], tuple[tuple[float, ...], Array]] = {}

    def edges(self, number: int, rung: int) -> tuple[float, ...]:
        return self._at(number, rung)[0]

    def bins(self, rungs: tuple[int, ...]) -> Array:
        columns = [self._at(number, rung)[1] for number, rung in enumerate(rungs)]
        nothing = np.empty((len(self.rows), 0), dtype=np.int16)
        return np.concatenate([nothing, *columns], axis=1)

    def _at(self, number: int, rung: int) -> tuple[tuple[float, ...], Array]:
        if (number, rung) not in self._known:
            column = self.rows[:, number]
            edges = quantile_edges(column, COUNTS[rung])
            self._known[number, rung] = edges, digitise(column[:, None], (edges,))
        return self._known[number, rung]


def best_picture(
    grey: Array, span: tuple[float, ...], judge: Judge
) -> tuple[tuple[int, int], int, _Quality]:
    """Choose a size and a number of levels for pictures."""
    best: tuple[tuple[int, int], int, _Quality] | None = None
    for size in SIZES:
        if size[0] > grey.shape[1] or size[1] > grey.shape[2]:
            break
        small = shrink(grey, size)
        for levels in LEVELS:
            quality = judge(to_levels(small, levels, span))
            if best is None or quality.order(judge.coverage) > best[2].order(judge.coverage):
                best = size, levels, quality
    assert best is not None  # every picture has one pixel
    return best
