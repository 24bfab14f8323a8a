"""MiniGrid tasks as Gymnasium makes them."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
from minigrid.minigrid_env import MiniGridEnv

from rpd_core.errors import SpecError, one_line
from rpd_minigrid.ids import full_id

_MOST_WALKS = 8
"""Walks across the map that the longest BabyAI instructions ask for."""


def make_task(id: str, view: int | None, render: bool = False) -> gymnasium.Env[Any, Any]:
    """Make a task by its id, in full or short, with a view of another width if asked."""
    name = full_id(id)
    options: dict[str, Any] = {} if view is None else {"agent_view_size": view}
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
