"""What surrounds a MiniGrid agent, as a few numbers that have names and words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpd_core.plugin.protocols import Entry
from rpd_minigrid.abstraction import Batch, seen_by
from rpd_minigrid.words import DIRECTIONS, DOORS, KINDS

Array = NDArray[Any]

_IN_FRONT = (
    "free", "goal", "open door", "wall", "lava", "closed door", "locked door", "key", "ball", "box",
)  # fmt: skip
"""What can be in a cell, what can be entered first."""
_CODES = ("empty", "goal", "door", "wall", "lava", "", "", "key", "ball", "box")
_SOUGHT = ("goal", "door", "key", "ball", "box")
_WHERE = ("no {} in sight", "{} to the left", "{} straight ahead", "{} to the right")
_SIDES = ("ahead", "on the left", "on the right")
_CARRIED = ("nothing", "a key", "a ball", "a box")


@dataclass(frozen=True)
class Situation:
    """What is ahead and at the sides, how far it is free, where goal, doors and things are."""

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        image, direction = seen_by(values)
        size = image.shape[1]
        cells, middle, here = _cells(image), size // 2, size - 1
        ahead, row = cells[:, middle, :here], cells[:, :, here]
        ways = ahead[:, ::-1], row[:, :middle][:, ::-1], row[:, middle + 1 :]
        columns = [direction, *(way[:, 0] for way in ways), *(_free(way) for way in ways)]
        columns += [_where(image[..., 0] == KINDS.index(kind)) for kind in _SOUGHT]
        columns.append(_carried(image[:, middle, here, 0]))
        return np.stack([np.asarray(column, dtype=np.int8) for column in columns], axis=1)

    def name_entries(self, before: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return the entries with their words."""
        facing = Entry("facing", words=tuple(f"facing {way}" for way in DIRECTIONS))
        beside = (Entry(side, words=tuple(f"{one} {side}" for one in _IN_FRONT)) for side in _SIDES)
        free = (Entry(f"free cells {side}") for side in _SIDES)
        where = (Entry(one, words=tuple(text.format(one) for text in _WHERE)) for one in _SOUGHT)
        carried = Entry("carried", words=tuple(f"carrying {what}" for what in _CARRIED))
        return facing, *beside, *free, *where, carried


def _cells(image: Array) -> Array:
    """Return what is in each cell, as a place in `_IN_FRONT`; what is out of sight is a wall."""
    table = np.full(256, _IN_FRONT.index("wall"))
    for place, word in enumerate(_CODES):
        if word:
            table[KINDS.index(word)] = place
    table[KINDS.index("floor")] = 0
    found = table[image[..., 0]]
    doors = np.array([_IN_FRONT.index(f"{state} door") for state in DOORS])
    return np.where(image[..., 0] == KINDS.index("door"), doors[image[..., 2] % 3], found)


def _free(way: Array) -> Array:
    """Return how many cells in a row are free."""
    return np.asarray((way == 0).cumprod(axis=1).sum(axis=1))


def _where(there: Array) -> Array:
    """Return on which side the nearest of some cells is; 0: there is none."""
    size = there.shape[1]
    column, row = np.indices((size, size))
    right, forward = column - size // 2, size - 1 - row
    away = np.where(there, 2 * (np.abs(right) + forward) + (right > 0), 4 * size).reshape(
        len(there), -1
    )
    nearest = away.argmin(axis=1)
    side = np.sign(right.reshape(-1)[nearest]) + 2
    return np.where(there.any(axis=(1, 2)), side, 0)


def _carried(kinds: Array) -> Array:
    """Return what the agent's own cell shows that it carries."""
    found = [KINDS.index(kind) for kind in ("key", "ball", "box")]
    return np.asarray(sum((kinds == kind) * place for place, kind in enumerate(found, 1)))
