"""Lanes of our own for classic control: they play as Gymnasium's environments do, bit for bit."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.classic_control import AcrobotEnv
from numpy.typing import NDArray

from rpd_core.errors import FitError
from rpd_core.plugin.protocols import Opening
from rpd_gym import classic
from rpd_gym.classic import KINDS, ClassicLanes
from rpd_gym.environments import GymEnvironment
from rpd_gym.lanes import GymLanes

Array = NDArray[Any]
_LANES, _STEPS = 30, 520


def _opened(name: str, lanes: int, render: bool = False) -> Any:
    return GymEnvironment(name).open(Opening(lanes, render=render))


def _originals(name: str, lanes: int, render: bool = False) -> GymLanes:
    environment = GymEnvironment(name)
    return GymLanes(lambda: environment._make(render), lanes, name)


def _actions(space: Any, rng: np.random.Generator, seen: Array) -> Array:
    """Return actions that mostly push to where things move already, which swings them up."""
    lanes, forward = len(seen), seen[:, -1] > 0
    if isinstance(space, gymnasium.spaces.Discrete):
        chance, along = rng.integers(space.n, size=lanes), np.where(forward, space.n - 1, 0)
        return np.where(rng.random(lanes) < 0.9, along, chance)
    chance = rng.uniform(space.low, space.high, (lanes, 1)).astype(np.float32)
    along = np.where(forward[:, None], space.high, space.low)
    return np.where(rng.random((lanes, 1)) < 0.8, along, chance)


@pytest.mark.parametrize("name", KINDS)
def test_lanes_play_what_the_environments_play(name: str) -> None:
    ours, theirs = _opened(name, _LANES), _originals(name, _LANES)
    rng, active = np.random.default_rng(5), np.ones(_LANES, dtype=bool)
    assert type(ours) is ClassicLanes
    assert ours.facts == theirs.facts
    free, seed, ends = np.arange(_LANES), 0, set()
    for number in range(_STEPS):
        if len(free):
            seeds = np.arange(seed, seed + len(free)) * 999_983 % 2**32
            seed += len(free)
            for lanes in (ours, theirs):
                lanes.reset(free, seeds)
            assert ours.observe().tobytes() == theirs.observe().tobytes()
        actions = _actions(ours.facts.action_space, rng, ours.observe())
        active = rng.random(_LANES) < 0.9 if number % 2 else np.ones(_LANES, dtype=bool)
        mine, other = ours.step(actions, active), theirs.step(actions, active)
        assert ours.observe().dtype == theirs.observe().dtype
        assert ours.observe().tobytes() == theirs.observe().tobytes()
        for column in ("rewards", "terminated", "truncated"):
            assert getattr(mine, column).tobytes() == getattr(other, column).tobytes(), column
        free = np.flatnonzero(mine.terminated | mine.truncated)
        ends |= {*mine.terminated[free].tolist()}
    assert (True in ends) == (name != "Pendulum-v1")


@pytest.mark.parametrize("name", KINDS)
def test_episodes_end_at_the_step_cap(name: str) -> None:
    lanes = GymEnvironment(name, max_steps=3).open(Opening(2))
    lanes.reset(np.arange(2), np.arange(2))
    actions = np.zeros((2, *lanes.facts.action_space.shape), lanes.facts.action_space.dtype)
    first = np.array([True, False])
    cuts = [lanes.step(actions, active).truncated.tolist() for active in (first, ~first, first)]
    cuts.append(lanes.step(actions, np.ones(2, dtype=bool)).truncated.tolist())
    assert cuts == [[False, False]] * 3 + [[True, False]]


@pytest.mark.parametrize("name", KINDS)
def test_pictures_are_those_of_the_environments(name: str) -> None:
    ours, theirs = _opened(name, 2, render=True), _originals(name, 2, render=True)
    rng = np.random.default_rng(3)
    for lanes in (ours, theirs):
        lanes.reset(np.arange(2), np.array([4, 5]))
    for _ in range(6):
        assert all(np.array_equal(ours.render(lane), theirs.render(lane)) for lane in (1, 0))
        actions = _actions(ours.facts.action_space, rng, ours.observe())
        for lanes in (ours, theirs):
            lanes.step(actions, np.ones(2, dtype=bool))
    ours.close()


def test_lanes_without_pictures_say_what_is_missing() -> None:
    lanes = _opened("Acrobot-v1", 1)
    lanes.reset(np.arange(1), np.arange(1))
    with pytest.raises(FitError, match="draws nothing: make it with render_mode='rgb_array'"):
        lanes.render(0)


def test_other_rules_and_other_numbers_are_played_by_the_environments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert type(GymEnvironment("Pendulum-v1", kwargs=("g=9.81",)).open(Opening(2))) is GymLanes
    assert type(GymEnvironment("Pendulum-v1", rebuild=True).open(Opening(2))) is GymLanes
    with monkeypatch.context() as patched:
        patched.setattr(AcrobotEnv, "book_or_nips", "nips")
        assert type(_opened("Acrobot-v1", 2)) is GymLanes
    with monkeypatch.context() as patched:
        patched.setattr(classic, "power_of_scalars", lambda values: np.nextafter(values**2, 0))
        assert type(_opened("Acrobot-v1", 2)) is GymLanes
    assert type(_opened("Acrobot-v1", 2)) is ClassicLanes


def test_an_id_that_was_registered_anew_is_played_by_its_own_class(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Other(AcrobotEnv):
        """One that somebody put in its place."""

    spec = copy.copy(gymnasium.registry["Acrobot-v1"])
    spec.entry_point = Other
    monkeypatch.setitem(gymnasium.registry, "Acrobot-v1", spec)
    assert type(_opened("Acrobot-v1", 2)) is GymLanes
