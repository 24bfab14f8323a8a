"""States that differ in one entry by one step, joined into groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import IntArray

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
