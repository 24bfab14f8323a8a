"""CartPole: the paper's settings, dynamics equal to Gymnasium's bit for bit, shipped policies."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from cartpole_module import load_network
from gymnasium import spaces

from rpd_core.chance import Phase, canonical, episode_keys, state_keys
from rpd_core.config.resolve import resolve
from rpd_core.config.settings import Request
from rpd_core.errors import FitError
from rpd_core.play.chunks import SuiteChunk, perform_suite, player_for
from rpd_core.play.deciders import always
from rpd_core.play.loop import Plan
from rpd_core.play.recipe import recipe_of
from rpd_core.plugin.protocols import Opening
from rpd_core.plugin.registry import Registry
from rpd_gym.cartpole import CartPole, CartPoleGrid, CartPoleLanes
from rpd_gym.cartpole_network import Greedy, load_weights
from rpd_gym.cartpole_policy import CartPolePolicy
from rpd_gym.lanes import GymLanes


def test_the_task_has_the_papers_settings(registry: Registry) -> None:
    config = resolve(Request("cartpole"), registry).config
    settings = config.settings
    assert config.max_steps == 200
    assert settings.episodes == 5000
    assert settings.mutation_rate == 0.4
    assert settings.condition == "return>=200"
    assert settings.abstraction == ("cartpole",)
    assert settings.default_action == "repeat"
    assert settings.test_episodes == 100
    assert settings.reference == 0.0
    assert config.policy == "cartpole:good"


def test_another_step_cap_moves_the_condition_with_it(registry: Registry) -> None:
    config = resolve(Request("cartpole:max_steps=500"), registry).config
    assert (config.max_steps, config.settings.condition) == (500, "return>=500")


@pytest.mark.parametrize(("seed", "lanes"), [(0, 5), (1, 40)])
def test_lanes_equal_single_environments_bit_for_bit(seed: int, lanes: int) -> None:
    """Forty seeds and random actions, with lanes that finish, restart and stand idle."""
    chance = np.random.default_rng(seed)
    fast = CartPole().open(Opening(lanes))
    singles = [gymnasium.make("CartPole-v1").unwrapped for _ in range(lanes)]
    every = np.arange(lanes)
    seeds = chance.integers(0, 2**31, lanes)
    fast.reset(every, seeds)
    seen = np.array([env.reset(seed=int(s))[0] for env, s in zip(singles, seeds, strict=True)])
    for _ in range(300):
        np.testing.assert_array_equal(fast.observe(), seen)
        active = chance.random(lanes) < 0.9
        actions = chance.integers(0, 2, lanes)
        result = fast.step(actions, active)
        over = np.zeros(lanes, dtype=bool)
        for lane in np.flatnonzero(active):
            seen[lane], reward, over[lane], _, _ = singles[lane].step(int(actions[lane]))
            assert result.rewards[lane] == reward
            assert result.terminated[lane] == over[lane]
            assert not result.truncated[lane]
        again = np.flatnonzero(over)
        if len(again):
            fresh = chance.integers(0, 2**31, len(again))
            fast.reset(again, fresh)
            for lane, s in zip(again, fresh, strict=True):
                seen[lane] = singles[lane].reset(seed=int(s))[0]


def test_the_general_lanes_play_the_same_episodes(registry: Registry) -> None:
    """The same configuration over one Gymnasium environment per lane."""
    setup = resolve(Request("cartpole", lanes=20), registry)
    fast = perform_suite(SuiteChunk(recipe_of(setup), 3, 0.4, 0, 39)).suite

    class Single(CartPole):
        def open(self, opening: Opening) -> Any:
            make = lambda: gymnasium.make("CartPole-v1", max_episode_steps=10**6)  # noqa: E731
            return GymLanes(make, opening.lanes, "single")

    slow = perform_suite(
        SuiteChunk(dataclasses.replace(recipe_of(setup), environment=Single()), 3, 0.4, 0, 39)
    ).suite
    np.testing.assert_array_equal(fast.episodes.total_return, slow.episodes.total_return)
    np.testing.assert_array_equal(fast.visits.key, slow.visits.key)
    np.testing.assert_array_equal(fast.visits.mutated, slow.visits.mutated)


def test_the_abstraction_is_the_papers_formula() -> None:
    chance = np.random.default_rng(0)
    values = (chance.normal(size=(20_000, 4)) * [1.5, 1.5, 0.2, 2]).astype(np.float32)
    x, speed, angle, spin = values.astype(np.float64).T
    formula = np.stack(
        [
            np.abs(np.round(x)),
            np.abs(np.round(speed, 1)),
            np.abs(np.round(angle / 4, 2)),
            np.abs(np.round(spin, 1)),
        ],
        axis=1,
    )
    found = CartPoleGrid()(values, {})
    np.testing.assert_array_equal(found, formula)
    assert len(np.unique(state_keys(canonical(found)))) == len(np.unique(formula, axis=0))


def test_mirrored_states_are_the_same() -> None:
    values = np.array([[0.04, -0.3, 0.011, -0.04], [-0.04, 0.3, -0.011, 0.04]], dtype=np.float32)
    keys = state_keys(canonical(CartPoleGrid()(values, {})))
    assert keys[0] == keys[1]


def test_a_state_is_shown_in_words() -> None:
    text = CartPoleGrid().show(np.array([1.0, 0.5, 0.03, 1.2]))
    assert text == "cart 1 m, 0.5 m/s; pole 7°, 1.2 rad/s"


def test_vectors_of_another_length_are_refused() -> None:
    with pytest.raises(FitError, match=r"'cartpole' needs vectors of 4, got shape \(3,\)"):
        CartPoleGrid()(np.zeros((2, 3)), {})


@pytest.mark.parametrize(("which", "low", "high"), [("good", 200.0, 200.0), ("weak", 85, 115)])
def test_the_shipped_policies_earn_what_they_promise(
    which: str, low: float, high: float, registry: Registry
) -> None:
    setup = resolve(Request("cartpole", f"cartpole:{which}", lanes=500), registry)
    index = np.arange(500)
    plan = Plan(index, episode_keys(77, Phase.PROBE, index))
    played = player_for(recipe_of(setup)).player.play(plan, always)
    assert low <= played.total_return.mean() <= high


@pytest.mark.parametrize("which", ["good", "weak"])
@pytest.mark.parametrize("count", [1, 100, 2500])
def test_the_shipped_policy_does_what_its_network_prefers(which: str, count: int) -> None:
    module = load_network(which)
    seen = np.random.default_rng(0).normal(0, 0.5, (count, 4)).astype(np.float32)
    with torch.inference_mode():
        preferences = module(torch.from_numpy(seen)).numpy()
    given: Any = SimpleNamespace(observations=seen)
    choice = Greedy(load_weights(which))(given)
    assert np.array_equal(choice.actions, preferences.argmax(axis=1))
    chances = np.exp(preferences) / np.exp(preferences).sum(axis=1, keepdims=True)
    for action in (0, 1):
        found = np.exp(choice.log_probability(np.full(count, action)))
        np.testing.assert_allclose(found, chances[:, action], rtol=1e-4)


def test_the_shipped_policy_refuses_another_environment(registry: Registry) -> None:
    setup = resolve(Request("gym:MountainCar-v0", "cartpole:good", lanes=2), registry)
    with pytest.raises(FitError, match="policy 'cartpole' takes vectors of 4 and 2 actions"):
        player_for(recipe_of(setup))


def test_the_shipped_policy_takes_subclasses_of_spaces_and_refuses_bits() -> None:
    class Pair(spaces.Discrete):
        pass

    facts = CartPole().open(Opening(1)).facts
    CartPolePolicy().load(dataclasses.replace(facts, action_space=Pair(2)))
    for wrong in (spaces.MultiBinary(2), spaces.Discrete(2, start=1)):
        with pytest.raises(FitError, match="takes vectors of 4 and 2 actions"):
            CartPolePolicy().load(dataclasses.replace(facts, action_space=wrong))


def test_playing_a_shipped_policy_does_not_import_torch() -> None:
    program = """
import sys
import numpy as np
from types import SimpleNamespace
from rpd_core.plugin.protocols import Opening
from rpd_gym.cartpole import CartPole
from rpd_gym.cartpole_policy import CartPolePolicy
lanes = CartPole().open(Opening(3))
lanes.reset(np.arange(3), np.arange(3))
CartPolePolicy().load(lanes.facts)(SimpleNamespace(observations=lanes.observe()))
print("torch" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout == "False\n"


def test_a_lane_is_drawn_where_it_stands() -> None:
    lanes = CartPole().open(Opening(2, render=True))
    lanes.reset(np.arange(2), np.array([1, 2]))
    try:
        for _ in range(8):
            lanes.step(np.array([0, 1]), np.array([True, True]))
        pictures = [lanes.render(lane) for lane in range(2)]
    except gymnasium.error.DependencyNotInstalled:
        pytest.skip("no pygame")
    finally:
        lanes.close()
    for action, picture in enumerate(pictures):
        alone = gymnasium.make("CartPole-v1", render_mode="rgb_array")
        alone.reset(seed=action + 1)
        for _ in range(8):
            alone.step(action)
        np.testing.assert_array_equal(picture, alone.render())
        alone.close()
    assert (pictures[0] != pictures[1]).any()


def test_a_drawn_lane_is_copied_in_one_piece() -> None:
    lanes = CartPole().open(Opening(1, render=True))
    assert isinstance(lanes, CartPoleLanes)
    try:
        lanes.render(0)
        assert lanes._drawn is not None
        assert lanes._drawn.unwrapped.screen.get_bytesize() == 3  # type: ignore[attr-defined]
    except gymnasium.error.DependencyNotInstalled:
        pytest.skip("no pygame")
    finally:
        lanes.close()


def test_mirrored_pushes_are_one_relative_to_the_pole() -> None:
    grid = CartPoleGrid()
    assert grid.name_relations(2) == ("under", "away")
    assert grid.name_relations(3) == ()
    leaning = np.array([[0.0, 0.0, 0.1, 0.0], [0.0, 0.0, -0.1, 0.0]])
    assert grid.relate_actions(leaning, np.array([1, 0])).tolist() == [0, 0]
    assert grid.relate_actions(leaning, np.array([0, 1])).tolist() == [1, 1]
    coming_back = np.array([[0.0, 0.0, 0.1, -1.0]])  # it leans right and falls to the left
    assert grid.relate_actions(coming_back, np.array([0])).tolist() == [0]
    chance = np.random.default_rng(0)
    rows, pushes = chance.normal(size=(500, 4)), chance.integers(0, 2, 500)
    assert (grid.relate_actions(rows, pushes) == grid.relate_actions(-rows, 1 - pushes)).all()


def test_the_shipped_policy_mostly_does_one_thing_in_a_state_relative_to_the_pole(
    registry: Registry,
) -> None:
    setup = resolve(Request("cartpole", lanes=200), registry)
    chunk = perform_suite(SuiteChunk(recipe_of(setup), 3, 0.4, 0, 199))
    choices = chunk.suite.states.choices
    assert chunk.names.choices == ("under", "away")
    assert chunk.names.actions == ("left", "right")
    assert choices.max(axis=1).sum() / choices.sum() > 0.8  # left and right: 0.72
