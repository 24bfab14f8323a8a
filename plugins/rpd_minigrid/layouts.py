"""The layout behind a seed: what can be reached in it, and the state at every place."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rpd_minigrid.environment import MiniGrid

Place = tuple[int, ...]
"""Column, row and direction."""
STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1))
"""Where forward leads, facing right, down, left, up."""


@dataclass(frozen=True)
class Layout:
    """A map, and the key of the state at every place in reach."""

    width: int
    height: int
    start: Place
    kinds: tuple[tuple[str, ...], ...]
    """What is in each cell, row by row; empty for nothing."""
    keys: dict[Place, int]

    def plain(self) -> dict[str, Any]:
        """Return it as JSON values."""
        keys = [[*place, f"{key:016x}"] for place, key in sorted(self.keys.items())]
        return {
            "width": self.width, "height": self.height, "start": list(self.start),
            "kinds": [list(row) for row in self.kinds], "keys": keys,
        }  # fmt: skip

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Layout:
        """Return the layout that JSON values describe."""
        keys = {tuple(map(int, row[:3])): int(row[3], 16) for row in plain["keys"]}
        kinds = tuple(tuple(map(str, row)) for row in plain["kinds"])
        start = tuple(map(int, plain["start"]))
        return cls(int(plain["width"]), int(plain["height"]), start, kinds, keys)


def read_layout(environment: str, seed: int, keys: Callable[[Any], Any]) -> Layout:
    """Make the layout of a seed and ask for the state at every place that can be reached."""
    from rpd_minigrid.tasks import make_task  # minigrid takes a second to import

    recipe = _recipe(environment)
    env = make_task(recipe.id, recipe.view)
    try:
        env.reset(seed=seed)
        task: Any = env.unwrapped
        kinds = tuple(
            tuple(_kind(task.grid.get(x, y)) for x in range(task.width)) for y in range(task.height)
        )
        start = (int(task.agent_pos[0]), int(task.agent_pos[1]), int(task.agent_dir))
        places: list[Place] = [(x, y, d) for x, y in _reached(kinds, start) for d in range(4)]
        found = keys(_observations(task, places))
    finally:
        env.close()
    known = dict(zip(places, (int(key) for key in found), strict=True))
    return Layout(task.width, task.height, start, kinds, known)


def _recipe(environment: str) -> MiniGrid:
    from rpd_core.plugin.registry import installed  # only while the environment is at hand

    made = installed().make("environment", environment)
    assert isinstance(made, MiniGrid)
    return made


def _kind(cell: Any) -> str:
    return "" if cell is None else str(cell.type)


def _reached(kinds: tuple[tuple[str, ...], ...], start: Place) -> list[tuple[int, int]]:
    """Return the cells that can be walked to, doors taken to be open."""
    seen, waiting = {start[:2]}, deque([start[:2]])
    while waiting:
        x, y = waiting.popleft()
        for dx, dy in STEPS:
            cell = (x + dx, y + dy)
            inside = 0 <= cell[1] < len(kinds) and 0 <= cell[0] < len(kinds[0])
            free = inside and kinds[cell[1]][cell[0]] in ("", "goal", "floor", "door")
            if free and cell not in seen:
                seen.add(cell)
                waiting.append(cell)
    return sorted((x, y) for x, y in seen)


def _observations(task: Any, places: Sequence[Place]) -> dict[str, Any]:
    images, directions = [], []
    for x, y, direction in places:
        task.agent_pos, task.agent_dir = (x, y), direction
        seen = task.gen_obs()
        images.append(seen["image"])
        directions.append(direction)
    return {"image": np.array(images), "direction": np.array(directions)}


def find_path(layout: Layout, steps: Sequence[tuple[int, int]]) -> list[Place]:
    """Return where an episode went, from the state and the direction at each of its steps.

    A step that turns stays in its cell; one that does not goes forward where the state there is
    the one that was seen, and else has stayed.
    """
    path: list[Place] = []
    x, y = layout.start[:2]
    before = layout.start[2]
    for key, direction in steps:
        ahead = (x + STEPS[direction][0], y + STEPS[direction][1], direction)
        moved = path and direction == before and layout.keys.get(ahead) == key
        if moved:
            x, y = ahead[:2]
        path.append((x, y, direction))
        before = direction
    return path
