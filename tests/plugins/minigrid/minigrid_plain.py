"""The package's own environments, one at a time, to compare lanes with."""

from __future__ import annotations

import contextlib
import io
import warnings
from typing import Any

import gymnasium
import numpy as np
from minigrid.core.actions import Actions
from numpy.typing import NDArray

from rpd_minigrid.ids import known_ids

Array = NDArray[Any]

_WEIGHTS = np.array([0.15, 0.15, 0.4, 0.1, 0.05, 0.1, 0.05])


def make_plain(name: str, **options: Any) -> gymnasium.Env[Any, Any]:
    """Return a single environment."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gymnasium.make(name, **options)


def reset_plain(env: gymnasium.Env[Any, Any], seed: int) -> Any:
    """Return the first observation; BabyAI prints while it searches."""
    with contextlib.redirect_stdout(io.StringIO()):
        return env.reset(seed=seed)[0]


def playable_ids() -> list[str]:
    """Return all registered ids but those whose map files the installed package lacks."""
    return [name for name in known_ids() if not name.startswith("MiniGrid-WFC")]


def random_action(env: gymnasium.Env[Any, Any], chance: np.random.Generator) -> int:
    """Return a random action, mostly forward."""
    weights = _WEIGHTS[: env.action_space.n]
    return int(chance.choice(len(weights), p=weights / weights.sum()))


def curious_action(env: gymnasium.Env[Any, Any], chance: np.random.Generator) -> int:
    """Use whatever stands in front: pick it up, open it, put down what is carried."""
    base: Any = env.unwrapped
    thing = base.grid.get(*base.front_pos)
    if base.action_space.n < len(Actions) or chance.random() < 0.2:
        return random_action(env, chance)
    if thing is not None and thing.can_pickup():
        return int(Actions.drop if base.carrying else chance.choice([3, 3, 5]))
    if thing is not None and thing.type == "door":
        return int(Actions.toggle if not thing.is_open else chance.choice([2, 2, 5]))
    if thing is None and base.carrying is not None and chance.random() < 0.15:
        return int(Actions.drop)
    blocked = thing is not None and not thing.can_overlap()
    careful = thing is not None and thing.type in ("lava", "goal") and chance.random() < 0.7
    return int(chance.integers(2)) if blocked or careful else int(Actions.forward)
