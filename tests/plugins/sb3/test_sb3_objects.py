"""Models of stable-baselines3 that live in this process go the way of their files."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest
import torch
from gymnasium import spaces
from sb3_toys import (
    MIXED,
    PUSHES,
    VECTOR,
    Toy,
    algorithm,
    batch,
    facts_of,
    samples,
    saved,
    seen,
    train,
)
from stable_baselines3 import PPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

import rpd
from rpd_core.config.resolve import choose
from rpd_core.errors import ConfigError
from rpd_core.plugin.registry import Registry

FOUR = spaces.Discrete(4)
CASES = [
    ("PPO", "MlpPolicy", VECTOR, FOUR),
    ("PPO", "MultiInputPolicy", MIXED, FOUR),
    ("A2C", "MlpPolicy", VECTOR, PUSHES),
    ("DQN", "MlpPolicy", VECTOR, FOUR),
    ("SAC", "MlpPolicy", VECTOR, PUSHES),
    ("RecurrentPPO", "MlpLstmPolicy", VECTOR, FOUR),
]


@pytest.mark.parametrize(("name", "policy", "observation", "action"), CASES)
def test_a_model_acts_as_it_does_by_itself_and_runs_no_code(
    registry: Registry, name: str, policy: str, observation: Any, action: Any
) -> None:
    model = train(name, policy, observation, action)
    recipe = choose(registry, "policy", model).recipe
    assert not recipe.trust
    rows = samples(observation)
    expected = np.stack([model.predict(row, deterministic=True)[0] for row in rows])
    loaded = recipe.load(facts_of(observation, action))
    assert loaded.describe()["algorithm"] == name
    np.testing.assert_allclose(loaded(seen(batch(rows))).actions, expected, atol=1e-5, rtol=1e-5)


def test_the_same_model_is_the_same_file_however_it_was_used(
    registry: Registry, tmp_path: Path
) -> None:
    model = train("DQN", "MlpPolicy", VECTOR, FOUR)
    first = choose(registry, "policy", model).recipe.path
    for row in samples(VECTOR):
        model.exploration_rate, before = 1.0, model.exploration_rate
        model.predict(row, deterministic=False)  # draws from its action space
        model.exploration_rate = before
    again = choose(registry, "policy", model).recipe.path
    loaded = algorithm("DQN").load(saved(model, tmp_path), device="cpu")
    assert first == again == choose(registry, "policy", loaded).recipe.path
    with torch.no_grad():
        next(iter(model.policy.parameters())).add_(1.0)
    assert choose(registry, "policy", model).recipe.path != first


def test_nothing_in_the_file_depends_on_when_and_where_it_was_saved(registry: Registry) -> None:
    model = train("PPO", "MlpPolicy", VECTOR, FOUR, learning_rate=lambda left: 1e-3 * left)
    with zipfile.ZipFile(choose(registry, "policy", model).recipe.path) as file:
        assert {one.date_time for one in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert b" at 0x" not in file.read("data")
        assert "system_info.txt" not in file.namelist()


def test_the_normalisation_of_its_environment_comes_along(registry: Registry) -> None:
    env = VecNormalize(DummyVecEnv([lambda: Toy(VECTOR, FOUR)]))
    model = PPO("MlpPolicy", env, n_steps=8, batch_size=8, seed=0, device="cpu").learn(64)
    recipe = choose(registry, "policy", model).recipe
    rows = samples(VECTOR)
    expected = [int(model.predict(env.normalize_obs(row), deterministic=True)[0]) for row in rows]
    found = recipe.load(facts_of(VECTOR, FOUR))(seen(batch(rows))).actions
    assert found.tolist() == expected
    assert recipe.vecnormalize is not None


class Own(BaseFeaturesExtractor):
    """Features that no file can name."""

    def __init__(self, observation_space: Any) -> None:
        super().__init__(observation_space, 4)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return torch.flip(observations, (1,)) * 2.0


def test_classes_of_ones_own_come_along(registry: Registry) -> None:
    kwargs = {"features_extractor_class": Own}
    model = train("PPO", "MlpPolicy", VECTOR, FOUR, policy_kwargs=kwargs)
    recipe = cloudpickle.loads(cloudpickle.dumps(choose(registry, "policy", model).recipe))
    rows = samples(VECTOR)
    expected = [int(model.predict(row, deterministic=True)[0]) for row in rows]
    assert recipe.trust
    assert recipe.load(facts_of(VECTOR, FOUR))(seen(batch(rows))).actions.tolist() == expected


def test_parameters_of_the_loader_can_be_given_with_a_model() -> None:
    model = train("PPO", "MlpPolicy", VECTOR, FOUR)
    recipe: Any = rpd.as_policy(model, deterministic=False)
    assert recipe.deterministic is False
    with pytest.raises(ConfigError, match="Did you mean 'deterministic'"):
        rpd.as_policy(model, determinstic=False)


def test_the_policy_inside_a_model_is_refused_in_a_sentence(registry: Registry) -> None:
    model = train("PPO", "MlpPolicy", VECTOR, FOUR)
    with pytest.raises(ConfigError, match="hand over the model itself"):
        choose(registry, "policy", model.policy)
    with pytest.raises(ConfigError, match="which is a class: make an object of it"):
        choose(registry, "policy", PPO)
