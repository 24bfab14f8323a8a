"""A view of MiniGrid as a small picture of coloured squares, agent at the bottom, facing up."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpd_minigrid.words import DOORS, KINDS

Array = NDArray[Any]
Picture = NDArray[np.uint8]

CELL = 8
"""Pixels across a cell."""
COLOUR_VALUES = (
    (255, 0, 0), (0, 255, 0), (0, 0, 255), (112, 39, 195), (255, 255, 0), (100, 100, 100),
)  # fmt: skip
"""Red, green, blue, purple, yellow, grey: in the order of `COLOURS`."""
FIXED = {
    "unseen": (50, 50, 50),
    "empty": (0, 0, 0),
    "wall": (150, 150, 150),
    "goal": (0, 200, 0),
    "lava": (255, 128, 0),
}
"""What looks the same whatever its colour."""
MARGINS = {"key": 3, "ball": 2, "box": 1}
"""Pixels that are left free around things."""
AGENT = (255, 0, 0)


def draw_view(image: Array) -> Picture:
    """Draw a view, (size, size, 3) with columns first, in squares of `CELL` pixels."""
    size = len(image)
    picture = np.zeros((size * CELL, size * CELL, 3), dtype=np.uint8)
    for column, row in np.ndindex(size, size):
        place = np.s_[row * CELL : (row + 1) * CELL, column * CELL : (column + 1) * CELL]
        own = (column, row) == (size // 2, size - 1)
        picture[place] = _agent(image[column, row]) if own else _tile(image[column, row])
    return picture


def _tile(cell: Array) -> Picture:
    kind, _, state = (int(part) for part in cell)
    word = KINDS[kind] if kind < len(KINDS) else ""
    tile = np.zeros((CELL, CELL, 3), dtype=np.uint8)
    colour = np.array(_colour(cell), dtype=np.uint8)
    margin = MARGINS.get(word, 0)
    tile[margin : CELL - margin, margin : CELL - margin] = colour
    if word == "box":
        tile[2:-2, 2:-2] = 0
    if word == "door" and DOORS[state % 3] != "locked":  # an open one is only a frame
        tile[1:-1, 1:-1] = 0 if DOORS[state % 3] == "open" else colour // 2
    return tile


def _agent(carried: Array) -> Picture:
    """Draw an arrow that points up; in it, the colour of what is carried."""
    tile = np.zeros((CELL, CELL, 3), dtype=np.uint8)
    for row in range(1, CELL - 1):
        tile[row, 3 - row // 2 : 5 + row // 2] = AGENT
    if KINDS.index("empty") != int(carried[0]):
        tile[4:6, 3:5] = _colour(carried)
    return tile


def _colour(cell: Array) -> tuple[int, int, int]:
    kind, colour = int(cell[0]), int(cell[1])
    word = KINDS[kind] if kind < len(KINDS) else ""
    return FIXED.get(word, COLOUR_VALUES[colour % len(COLOUR_VALUES)])
