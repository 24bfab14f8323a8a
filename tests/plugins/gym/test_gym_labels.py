"""Names for the entries of vectors and for actions, as Gymnasium documents them."""

from __future__ import annotations

from importlib.util import find_spec

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import FlattenObservation, FrameStackObservation
from own_worlds import Walk

from rpd_core.plugin.protocols import Opening
from rpd_gym.cartpole import CartPole
from rpd_gym.environments import GymEnvironment, PythonEnvironment
from rpd_gym.labels import LABELS

needs_box2d = pytest.mark.skipif(find_spec("Box2D") is None, reason="Box2D is not installed")
CART = ("cart position", "cart velocity", "pole angle", "pole angular velocity")


def names(environment) -> tuple[tuple[str, ...], tuple[str, ...]]:
    lanes = environment.open(Opening(1))
    lanes.close()
    return lanes.facts.entry_names, lanes.facts.action_names


def test_the_lanes_of_cartpole_name_entries_and_actions() -> None:
    assert names(CartPole()) == (CART, ("left", "right"))
    assert names(GymEnvironment("CartPole-v1")) == (CART, ("left", "right"))


@pytest.mark.parametrize(
    ("name", "entries", "actions"),
    [
        (
            "Acrobot-v1",
            (
                "cos angle 1", "sin angle 1", "cos angle 2", "sin angle 2",
                "angular velocity 1", "angular velocity 2",
            ),
            ("negative torque", "no torque", "positive torque"),
        ),
        ("MountainCar-v0", ("position", "velocity"), ("push left", "no push", "push right")),
        ("MountainCarContinuous-v0", ("position", "velocity"), ()),
        ("Pendulum-v0", ("cos angle", "sin angle", "angular velocity"), ()),
        ("FrozenLake-v1", (), ("left", "down", "right", "up")),
        ("Taxi-v3", (), ("south", "north", "east", "west", "pick up", "drop off")),
        ("Blackjack-v1", ("own sum", "dealer's card", "usable ace"), ("stick", "hit")),
    ],
)  # fmt: skip
def test_entries_of_classic_control_have_names(name, entries, actions) -> None:
    assert names(GymEnvironment(name)) == (entries, actions)


@pytest.mark.extras
@needs_box2d
def test_entries_of_box2d_have_names() -> None:
    lander = LABELS["LunarLander"]
    assert names(GymEnvironment("LunarLander-v3")) == (lander.entries, lander.actions)
    continuous = GymEnvironment("LunarLander-v3", kwargs=("continuous=true",))
    assert names(continuous) == (lander.entries, ())
    for walker in ("BipedalWalker-v3", "BipedalWalkerHardcore-v3"):
        assert names(GymEnvironment(walker)) == (LABELS["BipedalWalker"].entries, ())
    discrete = GymEnvironment("CarRacing-v3", kwargs=("continuous=false",))
    assert names(discrete) == ((), ("nothing", "steer right", "steer left", "gas", "brake"))


@pytest.mark.parametrize("id", sorted(gymnasium.registry))
def test_every_task_of_classic_control_and_box2d_has_names(id: str) -> None:
    spec = gymnasium.registry[id]
    if str(spec.entry_point).startswith(("gymnasium.envs.classic_control", "gymnasium.envs.box2d")):
        assert spec.name in LABELS


def test_the_walker_has_24_entries_in_the_order_of_its_state() -> None:
    entries = LABELS["BipedalWalker"].entries
    assert len(entries) == len(set(entries)) == 24
    assert entries[4:9] == (
        "hip 1 angle", "hip 1 speed", "knee 1 angle", "knee 1 speed", "leg 1 contact",
    )  # fmt: skip
    assert (entries[13], entries[14], entries[23]) == ("leg 2 contact", "lidar 1", "lidar 10")
    assert len(LABELS["LunarLander"].entries) == 8


def test_a_factory_around_a_known_environment_keeps_its_names() -> None:
    made = PythonEnvironment(lambda: FlattenObservation(gymnasium.make("CartPole-v1")))
    assert names(made) == (CART, ("left", "right"))


def test_names_that_do_not_fit_the_vector_are_left_out() -> None:
    stacked = PythonEnvironment(
        lambda: FlattenObservation(FrameStackObservation(gymnasium.make("CartPole-v1"), 2))
    )
    assert names(stacked) == ((), ("left", "right"))


def test_a_stranger_with_a_known_name_gets_no_names() -> None:
    gymnasium.register("MountainCar-v7", entry_point=Walk, max_episode_steps=7)
    assert names(GymEnvironment("MountainCar-v7")) == ((), ())
    gymnasium.registry.pop("MountainCar-v7")


@pytest.mark.parametrize(
    ("metadata", "found"),
    [
        (
            {"entry_names": ("at", "start"), "action_names": ["stay", "go"]},
            (("at", "start"), ("stay", "go")),
        ),
        ({"entry_names": ("here",), "action_names": ["stay"]}, ((), ())),
        ({"entry_names": 7, "action_names": [1, 2]}, ((), ())),
        ({}, ((), ())),
    ],
)
def test_an_environment_of_ones_own_names_things_in_its_metadata(metadata, found) -> None:
    own = type("Own", (Walk,), {"metadata": metadata})
    assert names(PythonEnvironment(own)) == found


@pytest.mark.parametrize(
    ("name", "action", "change"), [("push left", 0, -1), ("no push", 1, 0), ("push right", 2, 1)]
)
def test_the_pushes_of_the_mountain_car_are_what_they_are_called(name, action, change) -> None:
    assert LABELS["MountainCar"].actions[action] == name
    env = gymnasium.make("MountainCar-v0").unwrapped
    env.reset(seed=0)
    env.state = np.array([-np.pi / 6, 0.0])  # where the slope is 0
    velocity = env.step(action)[0][1]
    assert np.sign(np.round(velocity, 6)) == change


def test_units_words_and_angles_belong_to_entries_that_are_there() -> None:
    for name, labels in LABELS.items():
        for entry in labels.shown:
            assert {*(entry.angle_of or (entry.name,))} <= {*labels.entries}, name
    lanes = GymEnvironment("Acrobot-v1").open(Opening(1))
    lanes.close()
    turn = lanes.facts.entries[0]
    assert (turn.name, turn.unit, turn.angle_of) == ("angle 1", "°", ("cos angle 1", "sin angle 1"))
    assert turn.factor == pytest.approx(57.29578)
    legs = {entry.name: entry.words for entry in LABELS["LunarLander"].shown}
    assert legs["left leg contact"] == ("left leg in the air", "left leg on the ground")
