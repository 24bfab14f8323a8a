"""Loaded policies in the loop itself, and as users write them."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from sb3_toys import SETTINGS, algorithm, facts_of, saved

from rpd_core.chance import Phase, environment_seeds, episode_keys
from rpd_core.play.loop import Plan, Player, Recipe
from rpd_core.plugin.registry import installed
from rpd_kit import check_component

INDEX = np.arange(5)
KEYS = episode_keys(2, Phase.PROBE, INDEX)


def play(env: str, policy: str, lanes: int = 3) -> Any:
    """Play five episodes through the registry, as the command line does."""
    registry = installed()
    parts = {"environment": env, "policy": policy, "abstraction": "identity"}
    made = {kind: registry.make(kind, text) for kind, text in parts.items()}
    default = registry.make("default-action", "repeat")
    recipe = Recipe(made["environment"], made["policy"], made["abstraction"], default, lanes, 1000)
    recipe = pickle.loads(pickle.dumps(recipe))  # as a worker gets it
    return Player(recipe).play(Plan(INDEX, KEYS), lambda keys, at: np.ones(len(keys), dtype=bool))


@pytest.mark.parametrize("name", ["PPO", "RecurrentPPO"])
def test_episodes_in_lanes_are_those_played_one_by_one(tmp_path: Path, name: str) -> None:
    env = gymnasium.make("CartPole-v1")
    policy = "MlpLstmPolicy" if name == "RecurrentPPO" else "MlpPolicy"
    model = algorithm(name)(policy, env, seed=1, device="cpu", **SETTINGS[name])
    model.learn(64)
    path = saved(model, tmp_path)
    expected = []
    for seed in environment_seeds(KEYS).tolist():
        observation, _ = env.reset(seed=seed)
        total, over, state, start = 0.0, False, None, np.array([True])
        while not over:
            action, state = model.predict(observation, state, start, deterministic=True)
            observation, reward, ended, cut, _ = env.step(int(action))
            total, over, start = total + float(reward), ended or cut, np.array([False])
        expected.append(total)
    assert play("gym:CartPole-v1", f"sb3:{path}").total_return.tolist() == expected


def test_a_stochastic_policy_plays_the_same_whatever_the_lanes(tmp_path: Path) -> None:
    model = algorithm("PPO")("MlpPolicy", gymnasium.make("Pendulum-v1"), seed=1, device="cpu")
    spec = f"sb3:{saved(model, tmp_path)},deterministic=false"
    two, five = (play("gym:Pendulum-v1", spec, lanes).total_return for lanes in (2, 5))
    np.testing.assert_allclose(two, five, rtol=1e-3)
    assert len(set(two.tolist())) == 5


def test_describing_needs_no_environment(tmp_path: Path) -> None:
    model = algorithm("DQN")("MlpPolicy", gymnasium.make("CartPole-v1"), buffer_size=10)
    loader = installed().make("policy", f"sb3:{saved(model, tmp_path)}")
    facts = facts_of(model.observation_space, model.action_space)
    described = loader.describe()
    assert described["algorithm"] == "DQN"
    assert described["action space"] == "Discrete(2)"
    assert described["parameters"] == f"{2 * (4 * 64 + 64 + 64 * 64 + 64 + 64 * 2 + 2):,}"
    assert loader.load(facts).describe() == {**described, "adapted": "nothing"}
    assert json.dumps(described)


@pytest.mark.parametrize("name", ["PPO", "RecurrentPPO"])
def test_a_loaded_file_conforms(tmp_path: Path, name: str) -> None:
    policy = "MlpLstmPolicy" if name == "RecurrentPPO" else "MlpPolicy"
    env = gymnasium.make("CartPole-v1")
    path = saved(algorithm(name)(policy, env, seed=1, device="cpu", **SETTINGS[name]), tmp_path)
    assert check_component("policy", f"sb3:{path}", environment="cartpole") == []
