"""Any gymnax environment (1.0 or later): JAX steps all lanes at once, each with its own key.

rpd run --env python:gymnax_lanes:Gymnax,id=Catch-bsuite --policy python:gymnax_lanes:catch
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnax
import jax
import numpy as np
from gymnax.environments.spaces import gymnax_space_to_gym_space

from rpd_core import Facts, FitError, StepResult, Task


@dataclass(frozen=True)
class Gymnax:
    """An environment that gymnax has registered, for example `CartPole-v1`."""

    id: str

    def task(self) -> Task:
        steps = gymnax.make(self.id)[1].max_steps_in_episode
        return Task(("auto",), "repeat", "auto", 0.2, 2000, 100, steps, lanes=500, chunk=1000)

    def open(self, opening: Any) -> GymnaxLanes:
        return GymnaxLanes(self.id, opening.lanes)


class GymnaxLanes:
    """Lanes whose states are one tree of arrays; all of it is stepped, idle lanes are put back."""

    def __init__(self, id: str, lanes: int) -> None:
        env, parameters = gymnax.make(id)
        spaces = env.observation_space(parameters), env.action_space(parameters)
        observed, acts = map(gymnax_space_to_gym_space, spaces)
        self.facts = Facts(observed, acts, lanes, description=f"gymnax {id}")
        self.begin = jax.jit(partial(_begin, env, parameters))
        self.go = jax.jit(partial(_go, env, parameters))
        self.keys = _keys(np.zeros(lanes, np.int64))
        self.now = self.begin(self.keys)  # observation, state and number of steps of each lane

    def reset(self, lanes: Any, seeds: Any) -> None:
        self.keys = self.keys.at[lanes].set(_keys(seeds))
        chosen = np.zeros(self.facts.lanes, bool)
        chosen[lanes] = True
        self.now = _where(chosen, self.begin(self.keys), self.now)

    def observe(self) -> Any:
        return np.asarray(self.now[0], self.facts.observation_space.dtype)

    def step(self, actions: Any, active: Any) -> StepResult:
        self.now, told = self.go(self.keys, self.now, actions, active)
        rewards, terminated, truncated = map(np.asarray, told)
        return StepResult(rewards.astype(float), terminated & active, truncated & active)

    def info(self, lane: int) -> dict[str, Any]:
        return {}

    def view(self, name: str) -> Any:
        raise FitError(f"gymnax has no view {name!r}")

    def render(self, lane: int) -> Any:
        raise FitError("gymnax draws no arrays: leave pictures out")

    def close(self) -> None:
        pass


@jax.jit
@jax.vmap
def _keys(seeds: Any) -> Any:
    return jax.random.PRNGKey(seeds)


@jax.jit
@jax.vmap
def _where(chosen: Any, new: Any, old: Any) -> Any:
    return jax.tree.map(partial(jax.numpy.where, chosen), new, old)


def _begin(env: Any, parameters: Any, keys: Any) -> Any:
    observed, state = jax.vmap(env.reset_env, (0, None))(keys, parameters)
    return observed, state, jax.numpy.zeros(len(keys), int)


def _go(env: Any, parameters: Any, keys: Any, now: Any, actions: Any, active: Any) -> Any:
    def one(key: Any, state: Any, steps: Any, action: Any) -> Any:
        drawn = jax.random.fold_in(key, steps + 1)  # the chance of a step: its seed and number
        observed, state, reward, over, _ = env.step_env(drawn, state, action, parameters)
        told = reward, over, env.is_truncated(state, parameters)
        return (observed, state, steps + 1), told

    new, told = jax.vmap(one)(keys, *now[1:], actions)
    return _where(active, new, now), told


def catch(screens: Any) -> Any:
    """Move the paddle of Catch, in the last row, below the ball."""
    ball = screens[:, :-1].any(axis=1).argmax(axis=1)
    return 1 + np.sign(ball - screens[:, -1].argmax(axis=1))
