"""The paper's abstraction of MiniGrid: the observation itself, shown in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpd_core.errors import FitError

Array = NDArray[Any]
Batch = Array | dict[str, Array]

COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
KINDS = (
    "unseen", "empty", "wall", "floor", "door", "key", "ball", "box", "goal", "lava", "agent",
)  # fmt: skip
DIRECTIONS = ("right", "down", "left", "up")
DOORS = ("open", "closed", "locked")
_SIGNS = "?.#,DkobG~A"
_ARROWS = ">v<^"
_NAMED = ("door", "key", "ball", "box", "goal")
_FEW = 4


@dataclass(frozen=True)
class MiniGridView:
    """What the agent sees and its direction, unchanged: image and direction as one row of bytes."""

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        if not isinstance(values, dict) or not {"image", "direction"} <= set(values):
            found = (
                {name: part.shape[1:] for name, part in values.items()}
                if isinstance(values, dict)
                else f"shape {values.shape[1:]}"
            )
            raise FitError(f"minigrid needs a dict of image and direction, got {found}")
        image, direction = values["image"], values["direction"]
        rows = np.empty((len(image), image[0].size + 1), dtype=np.uint8)
        rows[:, :-1] = image.reshape(len(image), -1)
        rows[:, -1] = direction
        return rows

    def show(self, value: Array) -> str:
        """Say what stands ahead and around, then draw the view, farthest row first."""
        size = math.isqrt(len(value) // 3)
        image, direction = np.asarray(value[:-1]).reshape(size, size, 3), int(value[-1])
        carried = name_of(image[size // 2, size - 1])
        parts = [f"facing {DIRECTIONS[direction]}", straight_ahead(image)]
        parts += [] if carried == "empty" else [f"carrying a {carried}"]
        return f"{'; '.join(parts + landmarks(image))}  [{drawing(image, direction)}]"


def name_of(cell: Array) -> str:
    """Give one cell in words."""
    kind, colour, state = (int(part) for part in cell)
    word = KINDS[kind] if kind < len(KINDS) else f"thing {kind}"
    if word == "door":
        return f"{DOORS[state % 3]} {COLOURS[colour % 6]} door"
    return f"{COLOURS[colour % 6]} {word}" if word in ("key", "ball", "box") else word


def straight_ahead(image: Array) -> str:
    """Say what stands first in the agent's way."""
    size = len(image)
    for steps in range(1, size):
        name = name_of(image[size // 2, size - 1 - steps])
        if name not in ("empty", "floor"):
            return f"{name} {steps} ahead"
    return "free ahead"


def landmarks(image: Array) -> list[str]:
    """Say where doors, goals and things are that do not stand straight ahead, nearest first."""
    size, found = len(image), []
    for column, row in np.argwhere(np.isin(image[..., 0], [KINDS.index(k) for k in _NAMED])):
        forward, right = size - 1 - row, column - size // 2
        if right == 0:
            continue
        side = f"{abs(right)} {'right' if right > 0 else 'left'}"
        place = f"{forward} ahead, {side}" if forward else side
        found.append((forward + abs(right), f"{name_of(image[column, row])} {place}"))
    words = [text for _, text in sorted(found)]
    return words[:_FEW] + ([f"and {len(words) - _FEW} more"] if len(words) > _FEW else [])


def drawing(image: Array, direction: int) -> str:
    """Draw the rows in sight: . free, # wall, ? out of sight, ~ lava, G goal, D door, k key."""
    size, rows = len(image), []
    for row in range(size):
        kinds = image[:, row, 0].tolist()
        signs = [_SIGNS[kind] if kind < len(_SIGNS) else "*" for kind in kinds]
        if row == size - 1:
            signs[size // 2] = _ARROWS[direction]
        if set(signs) != {"?"}:
            rows.append("".join(signs))
    return "/".join(rows)
