"""The paper's abstraction of MiniGrid: the observation itself, shown in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rpd_core.errors import FitError
from rpd_minigrid.drawing import draw_view
from rpd_minigrid.words import COLOURS, DIRECTIONS, DOORS, KINDS

Array = NDArray[Any]
Batch = Array | dict[str, Array]

_SIGNS = "?.#,DkobG~A"
_ARROWS = ">v<^"
_NAMED = ("door", "key", "ball", "box", "goal")
_FEW = 4


@dataclass(frozen=True)
class MiniGridView:
    """What the agent sees and its direction, unchanged: image and direction as one row of bytes."""

    words_note: ClassVar[str] = (
        "In brackets the view, farthest row first: # wall, . free, ? out of sight, > v < ^ the "
        "agent, ~ lava; G, D, k, o and b: goal, door, key, ball, box."
    )

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        image, direction = seen_by(values)
        rows = np.empty((len(image), image[0].size + 1), dtype=np.uint8)
        rows[:, :-1] = image.reshape(len(image), -1)
        rows[:, -1] = direction
        return rows

    def draw(self, value: Array) -> NDArray[np.uint8]:
        """Draw the view in coloured squares, the agent at the bottom, facing up."""
        return draw_view(view_of(value))

    def show(self, value: Array) -> str:
        """Describe what is ahead and around, then map the view, farthest row first."""
        image, direction = view_of(value), int(value[-1])
        size = len(image)
        carried = _cell_name(image[size // 2, size - 1])
        parts = [f"facing {DIRECTIONS[direction]}", _straight_ahead(image)]
        parts += [] if carried == "empty" else [f"carrying a {carried}"]
        return f"{'; '.join(parts + _landmarks(image))}  [{_text_map(image, direction)}]"


def seen_by(values: Batch) -> tuple[Array, Array]:
    """Return views and directions of agents, or refuse what holds none."""
    if not isinstance(values, dict) or not {"image", "direction"} <= set(values):
        found = (
            {name: part.shape[1:] for name, part in values.items()}
            if isinstance(values, dict)
            else f"shape {values.shape[1:]}"
        )
        raise FitError(f"minigrid needs a dict of image and direction, got {found}")
    return values["image"], values["direction"]


def view_of(value: Array) -> Array:
    """Return the view in an abstract state, (size, size, 3), columns first."""
    size = math.isqrt(len(value) // 3)
    return np.asarray(value[:-1]).reshape(size, size, 3)


def _cell_name(cell: Array) -> str:
    """Return one cell in words."""
    kind, colour, state = (int(part) for part in cell)
    word = KINDS[kind] if kind < len(KINDS) else f"thing {kind}"
    if word == "door":
        return f"{DOORS[state % 3]} {COLOURS[colour % 6]} door"
    return f"{COLOURS[colour % 6]} {word}" if word in ("key", "ball", "box") else word


def straight_ahead(image: Array) -> tuple[str, int]:
    """Return what is first in the agent's way, and how many steps off; nothing: the way is free."""
    size = len(image)
    for steps in range(1, size):
        name = _cell_name(image[size // 2, size - 1 - steps])
        if name not in ("empty", "floor"):
            return name, steps
    return "", 0


def _straight_ahead(image: Array) -> str:
    """Describe what is first in the agent's way."""
    name, steps = straight_ahead(image)
    return f"{name} {steps} ahead" if name else "free ahead"


def _landmarks(image: Array) -> list[str]:
    """Describe where doors, goals and things are, besides straight ahead, nearest first."""
    size, found = len(image), []
    for column, row in np.argwhere(np.isin(image[..., 0], [KINDS.index(k) for k in _NAMED])):
        forward, right = size - 1 - row, column - size // 2
        if right == 0:
            continue
        side = f"{abs(right)} {'right' if right > 0 else 'left'}"
        place = f"{forward} ahead, {side}" if forward else side
        found.append((forward + abs(right), f"{_cell_name(image[column, row])} {place}"))
    words = [text for _, text in sorted(found)]
    return words[:_FEW] + ([f"and {len(words) - _FEW} more"] if len(words) > _FEW else [])


def _text_map(image: Array, direction: int) -> str:
    """Map the rows in sight: . free, # wall, ? out of sight, ~ lava, G goal, D door, k key."""
    size, rows = len(image), []
    for row in range(size):
        kinds = image[:, row, 0].tolist()
        signs = [_SIGNS[kind] if kind < len(_SIGNS) else "*" for kind in kinds]
        if row == size - 1:
            signs[size // 2] = _ARROWS[direction]
        if set(signs) != {"?"}:
            rows.append("".join(signs))
    return "/".join(rows)
