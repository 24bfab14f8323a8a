"""Lanes over single Gymnasium environments: works for any, as fast as each one is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rpd_core.components import Facts, StepResult
from rpd_core.errors import FitError
from rpd_core.rollout import LaneError

Array = NDArray[Any]
Factory = Callable[[], "gymnasium.Env[Any, Any]"]


class GymLanes:
    """One environment per lane, stepped in turn; observations live in one batch."""

    def __init__(self, factory: Factory, lanes: int, description: str) -> None:
        self.envs = [factory() for _ in range(lanes)]
        first = self.envs[0]
        self.batch = blank_batch(first.observation_space, lanes)
        self.infos: list[Mapping[str, Any]] = [{} for _ in range(lanes)]
        self.facts = Facts(
            observation_space=first.observation_space,
            action_space=first.action_space,
            lanes=lanes,
            description=description,
        )
        self._to_action = action_converter(first.action_space)

    def reset(self, lanes: NDArray[np.int64], seeds: NDArray[np.int64]) -> None:
        """Reset some environments, each with its own seed."""
        for lane, seed in zip(lanes.tolist(), seeds.tolist(), strict=True):
            try:
                observation, self.infos[lane] = self.envs[lane].reset(seed=seed)
            except Exception as error:  # an environment may raise anything
                raise LaneError(lane, error) from error
            put(self.batch, lane, observation)

    def observe(self) -> Array | dict[str, Array]:
        """Give a copy: the lanes go on writing to the batch."""
        if isinstance(self.batch, dict):
            return {name: part.copy() for name, part in self.batch.items()}
        return self.batch.copy()

    def view(self, name: str) -> Array:
        """There are no views."""
        raise FitError(f"{self.facts.description} has no view {name!r}")

    def step(self, actions: Array, active: NDArray[np.bool_]) -> StepResult:
        """Step the active environments."""
        lanes = len(self.envs)
        rewards = np.zeros(lanes)
        terminated, truncated = np.zeros(lanes, dtype=bool), np.zeros(lanes, dtype=bool)
        for lane in np.flatnonzero(active).tolist():
            try:
                observation, reward, over, cut, info = self.envs[lane].step(
                    self._to_action(actions[lane])
                )
            except Exception as error:  # an environment may raise anything
                raise LaneError(lane, error) from error
            put(self.batch, lane, observation)
            rewards[lane], terminated[lane], truncated[lane] = reward, over, cut
            self.infos[lane] = info
        return StepResult(rewards, terminated, truncated)

    def info(self, lane: int) -> Mapping[str, Any]:
        """Give the last info."""
        return self.infos[lane]

    def render(self, lane: int) -> Array:
        """Draw a lane; the environment must have been made with render_mode='rgb_array'."""
        return np.asarray(self.envs[lane].render())

    def close(self) -> None:
        """Close all environments."""
        for env in self.envs:
            env.close()


def action_converter(space: spaces.Space[Any]) -> Callable[[Any], Any]:
    """Give what turns a row of actions into what the environment takes."""
    return int if isinstance(space, spaces.Discrete) else lambda row: row


def blank_batch(space: spaces.Space[Any], lanes: int) -> Array | dict[str, Array]:
    """Make room for one observation per lane; parts without numbers, such as text, are left out."""
    if isinstance(space, spaces.Dict):
        return _blank_parts(dict(space.spaces), lanes)
    if isinstance(space, spaces.Tuple):
        return _blank_parts({str(i): part for i, part in enumerate(space.spaces)}, lanes)
    if space.shape is None or space.dtype is None:
        raise FitError(f"observations of {space} are not supported: wrap the environment")
    return np.zeros((lanes, *space.shape), dtype=space.dtype)


def _blank_parts(parts: dict[str, spaces.Space[Any]], lanes: int) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for name, part in parts.items():
        if isinstance(part, spaces.Text):
            continue
        blank = blank_batch(part, lanes)
        if isinstance(blank, dict):
            found |= {f"{name}.{inner}": array for inner, array in blank.items()}
        else:
            found[name] = blank
    return found


def put(batch: Array | dict[str, Array], lane: int, observation: Any) -> None:
    """Write one observation into the batch."""
    if not isinstance(batch, dict):
        batch[lane] = observation
        return
    for name, array in batch.items():
        part = observation
        for key in name.split("."):
            part = part[int(key)] if isinstance(part, tuple) else part[key]
        array[lane] = part
