"""Where episodes went: actions that are stored with a run, taken again in the task itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rpd_minigrid.environment import MiniGrid

Place = tuple[int, ...]
"""Column, row and direction."""


@dataclass(frozen=True)
class Path:
    """A layout, and where the agent was before each step and after the last."""

    kinds: tuple[tuple[str, ...], ...]
    """What is in each cell at the start, row by row; empty for nothing."""
    places: tuple[Place, ...]

    def plain(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"kinds": [list(row) for row in self.kinds], "places": [*map(list, self.places)]}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Path:
        """Return the path that JSON values describe."""
        kinds = tuple(tuple(map(str, row)) for row in plain["kinds"])
        return cls(kinds, tuple(tuple(map(int, one)) for one in plain["places"]))


def walk(environment: str, seed: int, actions: Sequence[int]) -> Path:
    """Take actions in the layout of a seed and note where they lead."""
    from rpd_minigrid.tasks import make_task  # minigrid takes a second to import

    recipe = _recipe(environment)
    env = make_task(recipe.id, recipe.view)
    try:
        env.reset(seed=seed)
        task: Any = env.unwrapped
        kinds = tuple(
            tuple(_kind(task.grid.get(x, y)) for x in range(task.width)) for y in range(task.height)
        )
        places = [_place(task)]
        for action in actions:
            env.step(action)
            places.append(_place(task))
    finally:
        env.close()
    return Path(kinds, tuple(places))


def _recipe(environment: str) -> MiniGrid:
    from rpd_core.plugin.registry import installed  # only while the environment is at hand

    made = installed().make("environment", environment)
    assert isinstance(made, MiniGrid)
    return made


def _kind(cell: Any) -> str:
    return "" if cell is None else str(cell.type)


def _place(task: Any) -> Place:
    return int(task.agent_pos[0]), int(task.agent_pos[1]), int(task.agent_dir)
