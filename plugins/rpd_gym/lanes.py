"""Lanes over single Gymnasium environments: works for any, as fast as each one is."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

import gymnasium
import numpy as np
from numpy.typing import NDArray

from rpd_core.errors import FitError, LaneError, WrongAnswerError, ends_rpd
from rpd_core.plugin.protocols import Facts, StepResult
from rpd_gym.actions import flat_actions
from rpd_gym.labels import labels_of
from rpd_gym.layout import Layout, holds_nan
from rpd_gym.lifecycle import close, start

Array = NDArray[Any]
Factory = Callable[[], "gymnasium.Env[Any, Any]"]
RESET = "reset", ("observation", "info")
STEP = "step", ("observation", "reward", "terminated", "truncated", "info")
"""The calls of an environment, and the parts of its answers."""
_PARTS = len(STEP[1])
_NO_RENDER_MODE = ".*calling render method without specifying any render mode"


class GymLanes:
    """One environment per lane, stepped in turn; observations live in one batch."""

    def __init__(
        self, factory: Factory, lanes: int, description: str, rebuild: bool = False
    ) -> None:
        self.factory, self.rebuild = factory, rebuild
        first = factory()
        self.envs = {0: first}
        """One per lane, made when the lane is first reset."""
        self._used: set[int] = set()
        try:
            self.layout = Layout.of(first.observation_space)
            action_space, self._to_action = flat_actions(first.action_space)
        except FitError:
            self.close()
            raise
        self.batch = self.layout.blank(lanes)
        self._write = self.layout.writer(self.batch)
        self.infos: list[Mapping[str, Any]] = [{} for _ in range(lanes)]
        facts = facts_of(first, lanes, description)
        self.facts = replace(facts, action_space=action_space)

    def reset(self, lanes: NDArray[np.int64], seeds: NDArray[np.int64]) -> None:
        """Reset some environments, each with its own seed."""
        for lane, seed in zip(lanes.tolist(), seeds.tolist(), strict=True):
            try:
                observation, self.infos[lane] = _checked(RESET, start(self._env_for(lane), seed))
                self._write(lane, observation)
            except BaseException as error:  # an environment may raise anything
                raise_of_lane(lane, error)
        self._refuse_nan(np.isin(np.arange(self.facts.lanes), lanes))

    def _env_for(self, lane: int) -> gymnasium.Env[Any, Any]:
        """Return the environment of a lane, a new one if it is the first or must not be reused."""
        if lane in self.envs and lane in self._used and self.rebuild:
            close(self.envs.pop(lane))
        if lane not in self.envs:
            self.envs[lane] = self.factory()
        self._used.add(lane)
        return self.envs[lane]

    def observe(self) -> Array | dict[str, Array]:
        """Return a copy: the lanes go on writing to the batch."""
        if isinstance(self.batch, dict):
            return {name: part.copy() for name, part in self.batch.items()}
        return self.batch.copy()

    def view(self, name: str) -> Array:
        """Refuse: there are no views."""
        raise FitError(f"{self.facts.description} has no view {name!r}")

    def step(self, actions: Array, active: NDArray[np.bool_]) -> StepResult:
        """Step the active environments."""
        lanes = self.facts.lanes
        rewards = np.zeros(lanes)
        terminated, truncated = np.zeros(lanes, dtype=bool), np.zeros(lanes, dtype=bool)
        envs, to_action = self.envs, self._to_action
        for lane in np.flatnonzero(active).tolist():
            try:
                answer = envs[lane].step(to_action(actions[lane]))
                if type(answer) is not tuple or len(answer) != _PARTS:
                    answer = _checked(STEP, answer)
                observation, reward, terminated[lane], truncated[lane], self.infos[lane] = answer
                self._write(lane, observation)
                rewards[lane] = reward if type(reward) is float else _number(reward)
            except BaseException as error:  # an environment may raise anything
                raise_of_lane(lane, error)
        self._refuse_nan(active)
        return StepResult(rewards, terminated, truncated)

    def _refuse_nan(self, active: NDArray[np.bool_]) -> None:
        wrong = holds_nan(self.batch) & active
        if wrong.any():
            complaint = WrongAnswerError("an observation that is not a number (NaN)")
            raise LaneError(int(np.flatnonzero(wrong)[0]), complaint)

    def info(self, lane: int) -> Mapping[str, Any]:
        """Return the last info."""
        return self.infos[lane]

    def render(self, lane: int) -> Array:
        """Draw a lane; the environment must have been made with render_mode='rgb_array'."""
        return picture_of(self.envs[lane], self.facts.description)

    def close(self) -> None:
        """Close all environments."""
        for env in self.envs.values():
            close(env)


def raise_of_lane(lane: int, error: BaseException) -> NoReturn:
    """Say which lane's environment raised something, unless it is to end rpd."""
    if ends_rpd(error):
        raise error
    raise LaneError(lane, error) from error


def facts_of(env: gymnasium.Env[Any, Any], lanes: int, description: str) -> Facts:
    """Return what lanes of an environment say of themselves."""
    labels = labels_of(env)
    return Facts(
        observation_space=env.observation_space,
        action_space=env.action_space,
        lanes=lanes,
        action_names=labels.actions,
        entry_names=labels.entries,
        entries=labels.shown,
        description=description,
    )


def picture_of(env: gymnasium.Env[Any, Any], description: str) -> Array:
    """Draw an environment, or refuse one that was not made with render_mode='rgb_array'."""
    picture: Any = None
    with contextlib.suppress(NotImplementedError), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=_NO_RENDER_MODE)  # it is told below
        picture = env.render()
    if picture is None:
        raise FitError(f"{description} draws nothing: make it with render_mode='rgb_array'")
    return np.asarray(picture)


def _checked(call: tuple[str, tuple[str, ...]], answer: Any) -> Any:
    """Return the answer of an environment, or refuse one of another form."""
    method, names = call
    if isinstance(answer, tuple) and len(answer) == len(names):
        return answer
    found = f"a tuple of {len(answer)}" if isinstance(answer, tuple) else type(answer).__name__
    expected = ", ".join(names)
    raise WrongAnswerError(
        f"{found} from {method}, not ({expected}): is it written for the old Gym?"
    )


def _number(reward: Any) -> float:
    if isinstance(reward, float | int):
        return reward
    found = np.asarray(reward)
    if found.size != 1 or found.dtype.kind not in "biuf":
        raise WrongAnswerError(
            f"a reward of type {found.dtype} and shape {found.shape}, not a number"
        )
    return float(found.item())
