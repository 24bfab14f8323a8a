"""Which parts of a task are the package's own, so that they may be done for all lanes at once."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.wrappers import OrderEnforcing
from minigrid.core.actions import Actions
from minigrid.core.grid import Grid
from minigrid.minigrid_env import MiniGridEnv

LARGEST_VIEW = 31
"""Beyond it, the rows of a view do not fit the words that all views are worked out in."""
_VIEW = ("gen_obs", "gen_obs_grid", "get_view_exts")
_MOVES = ("step", "reset", "front_pos", "dir_vec", "__getattribute__", "__setattr__")


def unwrap_order(env: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any]:
    """Take off the wrapper that only checks that `reset` comes before `step`."""
    while type(env) is OrderEnforcing:
        env = env.env
    return env


def views_covered(env: gymnasium.Env[Any, Any]) -> bool:
    """Tell whether the task shows the package's own view of the package's own map."""
    return (
        isinstance(env, MiniGridEnv)
        and _inherits(env, _VIEW)
        and type(env.grid) is Grid
        and 3 <= env.agent_view_size <= LARGEST_VIEW
    )


def moves_covered(env: Any) -> bool:
    """Tell whether a step of the task is the package's own, with nothing before or after it."""
    return views_covered(env) and _inherits(env, _MOVES) and env.actions is Actions


def _inherits(env: Any, names: tuple[str, ...]) -> bool:
    kind = type(env)
    return all(
        getattr(kind, name) is getattr(MiniGridEnv, name) and name not in vars(env)
        for name in names
    )
