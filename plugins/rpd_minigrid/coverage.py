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
_HARMLESS = frozenset({"_gen_grid", "_gen_mission", "_reward", "render", "close"})
"""What a task of another author may override; one that overrides more is stepped by itself."""
_VIEW = ("gen_obs", "gen_obs_grid", "get_view_exts")
_ACCESS = ("__getattribute__", "__setattr__")
_MOVES = ("step", "reset", "front_pos", "dir_vec", *_ACCESS)


def unwrap_order(env: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any]:
    """Take off the wrapper that only checks that `reset` comes before `step`."""
    while type(env) is OrderEnforcing:
        env = env.env
    return env


def views_covered(env: gymnasium.Env[Any, Any]) -> bool:
    """Return whether the task shows the package's own view of the package's own map."""
    return (
        isinstance(env, MiniGridEnv)
        and _inherits(env, _VIEW)
        and not any(_overrides(kind) for kind in type(env).__mro__)
        and 3 <= env.agent_view_size <= LARGEST_VIEW
    )


def map_covered(env: MiniGridEnv, size: tuple[int, int]) -> bool:
    """Return whether the map that the task has just made is the package's own and of this size."""
    grid = env.grid
    return type(grid) is Grid and (grid.width, grid.height) == size


def moves_covered(env: Any) -> bool:
    """Return whether a step of the task is the package's own, with nothing before or after it."""
    return views_covered(env) and _inherits(env, _MOVES) and env.actions is Actions


def _inherits(env: Any, names: tuple[str, ...]) -> bool:
    kind = type(env)
    return all(
        getattr(kind, name) is getattr(MiniGridEnv, name) and name not in vars(env)
        for name in names
    )


def _overrides(kind: type) -> bool:
    """Return whether a class of another author overrides what the package does."""
    if kind.__module__.startswith("minigrid.") or issubclass(MiniGridEnv, kind):
        return False
    return any(
        hasattr(MiniGridEnv, name)
        for name, what in vars(kind).items()
        if callable(what) or isinstance(what, property | classmethod | staticmethod)
        if name not in _HARMLESS and (not name.startswith("__") or name in _ACCESS)
    )
