"""Cells of a MiniGrid map as numbers: what the package shows of them, and how they behave.

The low three bytes of a code are the package's own encoding (type, colour, state); the high byte
holds flags that answer the questions a step and a view ask of a cell.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from minigrid.core.constants import OBJECT_TO_IDX
from minigrid.core.world_object import Ball, Box, Door, Floor, Goal, Key, Lava, Wall, WorldObj

CODE = np.dtype("<u4")  # fixed byte order: images are read from the bytes of codes

BLOCKS_VIEW = 1 << 24
ENTERABLE = 1 << 25
GOAL = 1 << 26
LAVA = 1 << 27
PICKABLE = 1 << 28
TOGGLES = 1 << 29
FREE = 1 << 30

EMPTY = OBJECT_TO_IDX["empty"] | ENTERABLE | FREE
"""The code of a cell with nothing in it."""

STILL = frozenset({Wall, Goal, Floor, Lava, Key, Ball, Box})
"""Classes whose objects look and behave the same as long as they exist."""
STOCK = STILL | {Door}
"""Classes of the package; an object of any other may behave in its own way."""

_known: dict[tuple[type, str], int] = {}


def cell_code(thing: Any) -> int:
    """Return the code of what lies in a cell, None for nothing."""
    if thing is None:
        return EMPTY
    kind = type(thing)
    if kind not in STILL:
        return _encode(thing)
    found = _known.get((kind, thing.color))
    if found is None:
        found = _known[kind, thing.color] = _encode(thing)
    return found


def _encode(thing: WorldObj) -> int:
    kind, colour, state = (int(part) for part in thing.encode())
    code = kind | colour << 8 | state << 16
    flags = {
        BLOCKS_VIEW: not thing.see_behind(),
        ENTERABLE: thing.can_overlap(),
        GOAL: thing.type == "goal",
        LAVA: thing.type == "lava",
        PICKABLE: thing.can_pickup(),
        TOGGLES: type(thing).toggle is not WorldObj.toggle,
    }
    return code | sum(flag for flag, holds in flags.items() if holds)
