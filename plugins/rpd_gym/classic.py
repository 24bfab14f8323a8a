"""Lanes of our own for Gymnasium's classic control: some twenty times as fast, the same bits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from rpd_core.errors import FitError
from rpd_core.plugin.protocols import Facts, StepResult
from rpd_gym.classic_dynamics import (
    Acrobot,
    CartPole,
    Dynamics,
    MountainCar,
    MountainCarContinuous,
    Pendulum,
    power_of_scalars,
)
from rpd_gym.lanes import facts_of, picture_of
from rpd_gym.lifecycle import close, closing, start
from rpd_gym.seeding import FirstUniform

Array = NDArray[Any]
Env = gymnasium.Env[Any, Any]
KINDS: dict[str, Callable[[], Dynamics]] = {
    "Acrobot-v1": Acrobot,
    "CartPole-v0": CartPole,
    "CartPole-v1": CartPole,
    "MountainCar-v0": MountainCar,
    "MountainCarContinuous-v0": MountainCarContinuous,
    "Pendulum-v1": Pendulum,
}
"""By id."""
CLASSIC_LANES = 250
"""Twice as fast as the 64 of other environments, whose steps cost each lane the same."""
_SEEDS, _STEPS = (1, 20, 300), 15
"""Episodes of the check, and their steps."""
_WRAPPERS = ("TimeLimit", "OrderEnforcing")
"""What `gymnasium.make` puts around an environment, and the lanes do without."""


class ClassicLanes:
    """All lanes in one array of states; each equals a single environment reset with its seed."""

    def __init__(
        self, dynamics: Dynamics, make: Callable[[], Env], lanes: int, description: str
    ) -> None:
        self.dynamics, self.single = dynamics, make()
        self.starts = FirstUniform(dynamics.low, dynamics.high, dynamics.drawn)
        state, seen = dynamics.begin(np.zeros((lanes, dynamics.drawn)))
        self.state, self.observations = state.astype(np.float64), np.zeros_like(seen)
        self.actions: Array | None = None
        self.played = np.zeros(lanes, dtype=np.int64)
        self.limit = self.single.get_wrapper_attr("_max_episode_steps")
        self.facts: Facts = facts_of(self.single, lanes, description)
        self._ready = False

    def reset(self, lanes: NDArray[np.int64], seeds: NDArray[np.int64]) -> None:
        """Draw each start as the single environment does for the same seed."""
        state, seen = self.dynamics.begin(self.starts(seeds))
        self.state[:, lanes] = state
        self.observations = self.observations.copy()
        self.observations[lanes] = seen
        self.played[lanes] = 0

    def observe(self) -> Array:
        """Return what the lanes show; every step makes another array."""
        return self.observations

    def view(self, name: str) -> Array:
        """Refuse: there are no views."""
        raise FitError(f"{self.facts.description} has no view {name!r}")

    def step(self, actions: Array, active: NDArray[np.bool_]) -> StepResult:
        """Move all lanes at once; idle ones stay where they are."""
        self.actions = actions
        if active.all():
            moved = self.dynamics.move(self.state, actions, self.played == 0)
            self.state, self.observations = moved.state, moved.observations
            self.played += 1
            return StepResult(moved.rewards, moved.terminated, self.played >= self.limit)
        lanes, rewards = np.flatnonzero(active), np.zeros(len(active))
        terminated = np.zeros(len(active), dtype=bool)
        state = self.state.take(lanes, axis=1)
        moved = self.dynamics.move(state, actions.take(lanes, axis=0), self.played[lanes] == 0)
        self.state[:, lanes] = moved.state
        self.observations = self.observations.copy()
        self.observations[lanes] = moved.observations
        self.played[lanes] += 1
        rewards[lanes], terminated[lanes] = moved.rewards, moved.terminated
        return StepResult(rewards, terminated, active & (self.played >= self.limit))

    def info(self, lane: int) -> Mapping[str, Any]:
        """Return nothing: classic control has no info."""
        return {}

    def render(self, lane: int) -> Array:
        """Draw a lane with the single environment's own picture."""
        if not self._ready:
            start(self.single, 0)
            self._ready = True
        action = self.actions[lane] if self.actions is not None and self.played[lane] else None
        self.dynamics.pose(self.single.unwrapped, self.state[:, lane].copy(), action)
        return picture_of(self.single, self.facts.description)

    def close(self) -> None:
        """Close the environment that draws."""
        close(self.single)


def classic_dynamics(name: str, make: Callable[[], Env]) -> Dynamics | None:
    """Return the dynamics of an id; none where it is another environment or computes otherwise."""
    if name not in KINDS:
        return None
    dynamics = KINDS[name]()
    with closing(make()) as env:
        same = _is_plain(env, dynamics) and _computes_alike() and _plays_alike(dynamics, env)
    return dynamics if same else None


def _is_plain(env: Env, dynamics: Dynamics) -> bool:
    """Return whether an environment is of Gymnasium's own class, and not wrapped in any other."""
    layer: Any = env
    while isinstance(layer, gymnasium.Wrapper):
        if type(layer).__name__ not in _WRAPPERS:
            return False
        layer = layer.env
    return type(layer) is dynamics.single and env.has_wrapper_attr("_max_episode_steps")


def _computes_alike() -> bool:
    """Return whether this machine computes arrays as it computes scalars, in some hundred cases."""
    angles = np.linspace(-9.0, 9.0, 499)
    pairs: list[tuple[Array, list[float]]] = [
        (np.cos(angles), [math.cos(one) for one in angles.tolist()]),
        (np.sin(angles), [math.sin(one) for one in angles.tolist()]),
        (np.cos(angles), [float(np.cos(one)) for one in angles]),
        (power_of_scalars(angles), [float(one**2) for one in angles]),
    ]
    return all(ours.tolist() == theirs for ours, theirs in pairs)


def _plays_alike(dynamics: Dynamics, env: Env) -> bool:
    """Return whether some beginnings of episodes are the same, bit for bit."""
    lanes = ClassicLanes(dynamics, lambda: env, len(_SEEDS), "")
    every, active = np.arange(len(_SEEDS)), np.ones(len(_SEEDS), dtype=bool)
    lanes.reset(every, np.array(_SEEDS))
    seen, rewards = [lanes.observe()], []
    actions = _some_actions(env.action_space)
    for action in actions:
        result = lanes.step(np.stack([action] * len(_SEEDS)), active)
        seen.append(lanes.observe())
        rewards.append(result.rewards)
    for lane, seed in enumerate(_SEEDS):
        observation, _ = start(env, seed)
        if not np.array_equal(observation, seen[0][lane]):
            return False
        for number, action in enumerate(actions):
            observation, reward, *_ = env.step(action if action.shape else int(action))
            if float(reward) != rewards[number][lane]:
                return False
            if not np.array_equal(observation, seen[number + 1][lane]):
                return False
    return True


def _some_actions(space: Any) -> list[Array]:
    """Return actions for the check, which are the same everywhere."""
    if isinstance(space, gymnasium.spaces.Discrete):
        return [np.array(number * 7 % 5 % space.n) for number in range(_STEPS)]
    low, high = space.low, space.high
    return [low + (high - low) * np.float32(number * 7 % 11 / 10) for number in range(_STEPS)]
