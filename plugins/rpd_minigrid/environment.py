"""The recipe of a MiniGrid task."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import gymnasium

from rpd_core.errors import SpecError, one_line
from rpd_core.plugin.protocols import Lanes, Opening, Task
from rpd_minigrid.ids import full_id, newer_id

PAPER = "MiniGrid-SimpleCrossingS9N1-v0"
WIDEST_VIEW = 99
"""More than any map of the package is wide, looked at from either end."""
_MOST_WALKS = 8
"""Walks across the map that the longest BabyAI instructions ask for."""


@dataclass(frozen=True)
class MiniGrid:
    """A MiniGrid or BabyAI task, for example `minigrid:Empty-16x16`."""

    id: str = "SimpleCrossingS9N1"
    """The registered id, in full or without `MiniGrid-` and the version."""
    view: int | None = None
    """Width of the square that the agent sees, an odd number; none: the task's own, mostly 7."""

    def __post_init__(self) -> None:
        if self.view is not None and not (3 <= self.view <= WIDEST_VIEW and self.view % 2):
            raise SpecError(
                f"minigrid: view must be an odd number in 3..{WIDEST_VIEW}, got {self.view}"
            )

    def task(self) -> Task:
        """Return the paper's settings."""
        name, env = full_id(self.id), self._make()
        try:
            max_steps = step_limit(env.unwrapped)
        finally:
            env.close()
        newer = newer_id(name)
        return Task(
            abstraction=("minigrid",),
            default_action="repeat",
            condition="return>=0.8",
            mutation_rate=0.2,
            episodes=5000,
            test_episodes=100,
            max_steps=max_steps,
            reference=0.0,
            policy="minigrid:simple-crossing" if name == PAPER and self.view in (None, 7) else None,
            lanes=512,
            chunk=1250,
            notes=(f"{name} has a newer version, {newer}",) if newer else (),
        )

    def open(self, opening: Opening) -> Lanes:
        """Open the lanes."""
        from rpd_minigrid.lanes import MiniGridLanes  # minigrid: only where it is played

        return MiniGridLanes(lambda: self._make(opening.render), opening.lanes, full_id(self.id))

    def _make(self, render: bool = False) -> gymnasium.Env[Any, Any]:
        from minigrid.minigrid_env import MiniGridEnv  # as above

        name = full_id(self.id)
        options: dict[str, Any] = {} if self.view is None else {"agent_view_size": self.view}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the task's notes mention it
            try:
                env = gymnasium.make(
                    name,
                    render_mode="rgb_array" if render else None,
                    disable_env_checker=True,
                    **options,
                )
            except (gymnasium.error.Error, TypeError, AssertionError) as error:
                raise SpecError(f"cannot make {name!r}: {one_line(error)}") from error
        if not isinstance(env.unwrapped, MiniGridEnv):
            raise SpecError(f"{name!r} is not a MiniGrid task: use gym:{name}")
        return env


def step_limit(env: Any) -> int:
    """Return the task's own limit; BabyAI sets one at every reset, so return a bound for all."""
    if env.max_steps > 0:
        return int(env.max_steps)
    return int(_MOST_WALKS * env.room_size**2 * env.num_rows * env.num_cols)
