"""The agents' views of all lanes at once, bit for bit what the package builds one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpd_minigrid.cells import BLOCKS_VIEW

Array = NDArray[Any]

AHEAD_X = np.array([1, 0, -1, 0])
AHEAD_Y = np.array([0, 1, 0, -1])
"""One step ahead, by direction: right, down, left, up."""

_LARGEST_TABLE = 9  # a table of 2**18 numbers


class Views:
    """Cuts views out of padded maps, turns them agent upwards, and hides what is out of sight."""

    def __init__(self, size: int, stride: int, see_through_walls: bool) -> None:
        self.size = size
        self.offsets = _view_offsets(size, stride)
        self.see_through_walls = see_through_walls
        self.table = _sight_table(size) if size <= _LARGEST_TABLE else None

    def __call__(self, maps: Array, places: Array, directions: Array, carried: Array) -> Array:
        """Return the images, shape (lanes, size, size, 3).

        `maps` has one row of cell codes per lane, `places` are positions in a row; the agent's own
        cell shows what it carries.
        """
        lanes, size = len(maps), self.size
        starts = np.arange(lanes) * maps.shape[1] + places
        seen = maps.reshape(-1).take(starts[:, None] + self.offsets[directions])
        if not self.see_through_walls:
            seen *= self._visible((seen & BLOCKS_VIEW) == 0)
        seen[:, (size // 2) * size + size - 1] = carried
        pixels = seen.view(np.uint8).reshape(lanes, size, size, 4)
        return np.ascontiguousarray(pixels[..., :3])

    def _visible(self, clear: Array) -> Array:
        """Return which cells are in sight, by rows from the agent's own to the farthest."""
        size = self.size
        rows = pack(clear.reshape(-1, size, size))
        row = np.full(len(rows), 1 << (size // 2))
        visible = np.empty_like(rows)
        for distance in range(size - 1, -1, -1):
            both = self._sweep(row, rows[:, distance])
            visible[:, distance] = both & ((1 << size) - 1)
            row = both >> size
        bits = (visible[:, None, :] >> np.arange(size)[:, None]) & 1
        return bits.astype(np.uint32).reshape(len(rows), -1)

    def _sweep(self, row: Array, clear: Array) -> Array:
        if self.table is None:
            return sweep(row, clear, self.size)
        return self.table.take(row << self.size | clear)


def _view_offsets(size: int, stride: int) -> Array:
    """Return, for each direction, how far each cell of the view is from the agent in a map's row.

    Cells are numbered as in the package's image: column by column, the farthest first.
    """
    column, row = (part.reshape(-1) for part in np.indices((size, size)))
    forward, right = size - 1 - row, column - size // 2
    x = AHEAD_X[:, None] * forward - AHEAD_Y[:, None] * right
    y = AHEAD_Y[:, None] * forward + AHEAD_X[:, None] * right
    return np.asarray(y * stride + x)


def pack(flags: Array) -> Array:
    """Return the flags (lanes, columns, rows) as one number per row, bit i for column i."""
    packed = np.packbits(flags, axis=1, bitorder="little").astype(np.int64)
    total = packed[:, 0]
    for place in range(1, packed.shape[1]):
        total = total | packed[:, place] << (8 * place)
    return total


def sweep(row: Array, clear: Array, size: int) -> Array:
    """Spread sight along a row, first to the right, then to the left, and into the next one.

    `row` holds the cells in sight so far and `clear` those one can look through, as bits; the
    result is the row in its low `size` bits and the next row above them.
    """
    beyond = np.zeros_like(row)
    for source, target in _order(size):
        light = (row & clear) >> source & 1
        row = row | light << target
        beyond = beyond | light << target | light << source
    return np.asarray(row | beyond << size)


def _order(size: int) -> list[tuple[int, int]]:
    rightward = [(column, column + 1) for column in range(size - 1)]
    return rightward + [(column, column - 1) for column in range(size - 1, 0, -1)]


def _sight_table(size: int) -> Array:
    """Return `sweep` for every row and every set of clear cells."""
    every = np.arange(1 << (2 * size))
    return sweep(every >> size, every & ((1 << size) - 1), size)
