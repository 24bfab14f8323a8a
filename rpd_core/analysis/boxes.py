"""Boxes in the space of states that hold many of some marked states and few others.

A box is found as a path of a shallow tree is: one question after the other, each about the entry
that tells most, here about an interval of its values. States without names are joined into groups
of neighbours, which differ in one entry by one step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, BoolArray, FloatArray, IntArray

_DEPTH = 3
"""Questions on a path, at most."""
_PASSES = 3
"""How often the limits of a finished path are looked at again, at most."""
_LEVEL = 0.05
"""Chance of a box where states are marked at random."""
_SLACK = 0.1
"""Share by which a longer rule must be better than a shorter one."""

Box = Mapping[int, tuple[int, int]]
"""By entry, the first and the last of its steps that belong to the box."""


@dataclass(frozen=True)
class Grid:
    """States as steps: the place of each value among the values that its entry takes."""

    steps: IntArray
    """(entries, states)."""
    values: tuple[FloatArray, ...]
    """What each entry takes, ascending."""

    @classmethod
    def of(cls, values: Array) -> Grid:
        """Put values, one row per state, on a grid."""
        found = [np.unique(column, return_inverse=True) for column in values.T]
        steps = [inverse.reshape(-1) for _, inverse in found]
        return cls(
            np.stack(steps) if steps else np.zeros((0, len(values)), dtype=np.int64),
            tuple(unique.astype(np.float64) for unique, _ in found),
        )

    def inside(self, box: Box) -> BoolArray:
        """Return which states lie in a box."""
        held = np.ones(self.steps.shape[1], dtype=np.bool_)
        for entry, (first, last) in box.items():
            held &= (self.steps[entry] >= first) & (self.steps[entry] <= last)
        return held

    def cuts(self) -> int:
        """Return how many one-sided questions there are about some entry."""
        return 2 * sum(len(values) - 1 for values in self.values)

    def sides(self, box: Box) -> int:
        """Return how many limits of a box leave anything out."""
        limits = (
            (first > 0) + (last < len(self.values[e]) - 1) for e, (first, last) in box.items()
        )
        return sum(limits)

    def tight(self, box: Box, states: BoolArray) -> Box:
        """Return a box whose limits are values of the states in it; open ends stay open."""
        held = self.inside(box) & states
        drawn = {}
        for entry, (first, last) in box.items():
            steps = self.steps[entry][held]
            end = len(self.values[entry]) - 1
            low = int(steps.min()) if first > 0 else 0
            drawn[entry] = low, int(steps.max()) if last < end else end
        return {entry: ends for entry, ends in drawn.items() if self.sides({entry: ends})}


@dataclass(frozen=True)
class Search:
    """The look for one box among the states that are still open."""

    grid: Grid
    marked: BoolArray
    open: BoolArray
    bar: float
    """Share of marked states above which a state more is worth having."""

    def best(self) -> Box | None:
        """Return the best box with few questions; None where none is better than nothing."""
        best: Box | None = None
        best_score = 0.0
        for path in self._paths():
            box = self.grid.tight(self._polished(path), self.open)
            score = self.score(box)
            if box and score > best_score * (1 + _SLACK) and self.is_no_chance(box):
                best, best_score = box, score
        return best

    def is_no_chance(self, box: Box) -> bool:
        """Return whether marks at random would hardly give such a box, many being tried."""
        held = self.grid.inside(box) & self.open
        rate = float(self.marked[self.open].mean())
        chance = chance_bound(int(self.marked[held].sum()), int(held.sum()), rate)
        tried = self.grid.sides(box) * math.log(max(self.grid.cuts(), 1))
        return chance + tried <= math.log(_LEVEL)

    def score(self, box: Box) -> float:
        """Return the marked states in a box, less what all states in it cost."""
        held = self.grid.inside(box) & self.open
        return float(self.marked[held].sum() - self.bar * held.sum())

    def _paths(self) -> list[Box]:
        """Ask one question after the other; return the path after each."""
        path: dict[int, tuple[int, int]] = {}
        found: list[Box] = []
        for _ in range(_DEPTH):
            held = self.grid.inside(path) & self.open
            share = float(self.marked[held].mean()) if held.any() else 1.0
            if share == 1.0:
                break
            entries = range(len(self.grid.values))
            questions = {entry: self._interval(entry, held, share) for entry in entries}
            entry = max(questions, key=lambda one: questions[one][0], default=-1)
            if entry < 0 or questions[entry][0] <= 1e-9:
                break
            _, first, last = questions[entry]
            low, high = path.get(entry, (first, last))
            path = {**path, entry: (max(first, low), min(last, high))}
            found.append(path)
        return found

    def _polished(self, path: Box) -> Box:
        """Move the limits of a path to where they are best for the bar, entry by entry."""
        box = dict(path)
        for _ in range(_PASSES):
            before = dict(box)
            for entry in path:
                rest = {other: ends for other, ends in box.items() if other != entry}
                held = self.grid.inside(rest) & self.open
                gain, first, last = self._interval(entry, held, self.bar)
                if gain > max(self.score(box), 0.0) + 1e-9:
                    box[entry] = first, last
            if box == before:
                break
        return box

    def _interval(self, entry: int, held: BoolArray, bar: float) -> tuple[float, int, int]:
        """Return what the best interval of an entry gains, its first and its last step."""
        count = len(self.grid.values[entry])
        gains = np.bincount(self.grid.steps[entry][held], self.marked[held] - bar, minlength=count)
        sums = np.r_[0.0, np.cumsum(gains)]
        upwards, downwards = int(np.argmin(sums[:-1])), int(np.argmax(sums[1:]))
        risen = sums[1:] - np.minimum.accumulate(sums[:-1])
        last = int(np.argmax(risen))
        between = float(risen[last]), int(np.argmin(sums[: last + 1])), last
        one_sided = max(
            (float(sums[-1] - sums[upwards]), upwards, count - 1),
            (float(sums[downwards + 1]), 0, downwards),
        )
        # A second limit must be worth its words.
        return one_sided if one_sided[0] >= between[0] * (1 - _SLACK) else between


def chance_bound(marked: int, states: int, rate: float) -> float:
    """Return the logarithm of a bound on the chance of so many marked states or more.

    It is Chernoff's, for states that are marked independently at a rate.
    """
    share = marked / states
    if share <= rate:
        return 0.0
    if rate == 0.0:
        return -math.inf
    rest = (1 - share) * math.log((1 - share) / (1 - rate)) if share < 1 else 0.0
    return -states * (share * math.log(share / rate) + rest)


_ODD = 0x9E3779B97F4A7C15
"""Makes the factors of a sum of steps, by which rows that agree are found."""


def groups_of(steps: IntArray) -> list[IntArray]:
    """Return the columns of each group of neighbours, largest group first; (entries, states)."""
    count = steps.shape[1]
    group = np.arange(count)
    for left, right in _pairs(steps):
        one, other = _root(group, left), _root(group, right)
        group[max(one, other)] = min(one, other)
    roots = np.array([_root(group, row) for row in range(count)], dtype=np.int64)
    found = [np.flatnonzero(roots == root) for root in np.unique(roots)]
    return sorted(found, key=lambda rows: (-len(rows), int(rows[0])))


def _pairs(steps: IntArray) -> list[tuple[int, int]]:
    """Return the pairs of states that differ in one entry by one step."""
    factors = np.array(
        [pow(_ODD, place + 1, 2**64) for place in range(len(steps))], dtype=np.uint64
    )
    whole = (steps.astype(np.uint64) * factors[:, None]).sum(axis=0, dtype=np.uint64)
    found = []
    for entry, column in enumerate(steps):
        rest = whole - column.astype(np.uint64) * factors[entry]
        order = np.lexsort((column, rest))
        beside = np.diff(column[order]) == 1
        same = rest[order][1:] == rest[order][:-1]
        at = np.flatnonzero(beside & same)
        found += list(zip(order[at].tolist(), order[at + 1].tolist(), strict=True))
    return found


def _root(group: IntArray, row: int) -> int:
    while group[row] != row:
        group[row] = group[group[row]]
        row = int(group[row])
    return row
