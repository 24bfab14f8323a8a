"""Environment objects that people hold become recipes, or are refused in one sentence."""

from __future__ import annotations

import threading
from typing import Any

import cloudpickle
import gymnasium
import numpy as np
import pytest
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.wrappers import TimeAwareObservation, TimeLimit

from rpd_core.config.resolve import choose
from rpd_core.errors import ConfigError
from rpd_core.plugin.protocols import Opening
from rpd_core.plugin.registry import Registry


class Heavy(CartPoleEnv):
    """A cart with a parameter of its own and no spec."""

    def __init__(self, load: float) -> None:
        super().__init__()
        self.load = load


class Locked(CartPoleEnv):
    """Holds what no other process can have."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


def text(registry: Registry, env: object) -> str:
    return choose(registry, "environment", env).text


def content(registry: Registry, env: object) -> str:
    recipe = choose(registry, "environment", env).recipe
    return str(recipe.content)


@pytest.mark.parametrize(
    ("id", "arguments", "expected"),
    [
        ("CartPole-v1", {}, "gym:CartPole-v1"),
        ("CartPole-v1", {"render_mode": "rgb_array"}, "gym:CartPole-v1"),
        ("CartPole-v1", {"max_episode_steps": 77}, "gym:CartPole-v1,max_steps=77"),
        (
            "FrozenLake-v1",
            {"map_name": "8x8", "is_slippery": False},
            "gym:FrozenLake-v1,kwargs=map_name=8x8+is_slippery=False",
        ),
    ],
)
def test_an_object_that_its_id_describes_is_the_same_as_its_id(
    registry: Registry, id: str, arguments: dict[str, Any], expected: str
) -> None:
    env = gymnasium.make(id, **arguments)
    chosen = choose(registry, "environment", env)
    assert chosen.text == expected
    assert chosen.recipe == registry.make("environment", expected)


def test_an_object_in_the_middle_of_an_episode_is_the_same_one(registry: Registry) -> None:
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=3)
    for _ in range(5):
        env.step(0)
    assert text(registry, env) == "gym:CartPole-v1"


def test_wrappers_are_put_on_again(registry: Registry) -> None:
    env = TimeAwareObservation(gymnasium.make("CartPole-v1"))
    recipe = choose(registry, "environment", env).recipe
    lanes = cloudpickle.loads(cloudpickle.dumps(recipe)).open(Opening(2))
    assert lanes.facts.observation_space.shape == (5,)
    lanes.close()
    other = TimeAwareObservation(gymnasium.make("CartPole-v1"), normalize_time=True)
    assert content(registry, env) != content(registry, other)


def test_a_changed_attribute_is_kept_and_counts(registry: Registry) -> None:
    changed, played = gymnasium.make("CartPole-v1"), gymnasium.make("CartPole-v1")
    for env in (changed, played):
        env.unwrapped.gravity = 20.0
    played.reset(seed=1)
    played.step(1)
    recipe = choose(registry, "environment", changed).recipe
    assert recipe.make().unwrapped.gravity == 20.0
    assert recipe.content == content(registry, played)
    assert recipe.content != content(registry, TimeLimit(Heavy(1.0), 50))


def test_objects_without_a_spec_are_copied_and_told_apart_by_their_parameters(
    registry: Registry,
) -> None:
    first, same, other = (content(registry, TimeLimit(Heavy(load), 50)) for load in (1, 1, 2))
    assert first == same != other
    assert text(registry, TimeLimit(Heavy(1), 50)) == "python:gymnasium.wrappers.common:TimeLimit"


def test_a_copy_plays_the_same_episode_for_the_same_seed(registry: Registry) -> None:
    recipe = choose(registry, "environment", TimeLimit(Heavy(1.0), 50)).recipe
    lanes = recipe.open(Opening(2))
    lanes.reset(np.arange(2), np.array([7, 7]))
    seen, _ = CartPoleEnv().reset(seed=7)
    assert np.array_equal(lanes.observe(), [seen, seen])
    assert recipe.task().max_steps == 50
    lanes.close()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: TimeLimit(Locked(), 50), r"this Locked cannot be made again .*lambda: MyEnv"),
        (lambda: gymnasium.make_vec("CartPole-v1", num_envs=2), r"holds several environments"),
    ],
)
def test_what_cannot_be_made_again_is_refused(registry: Registry, make: Any, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence) as refused:
        choose(registry, "environment", make())
    assert "\n" not in str(refused.value)
