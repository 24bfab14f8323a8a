"""Files of `policy.save`: the policy without its model acts as the model does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from sb3_toys import IMAGE, PUSHES, VECTOR, batch, facts_of, samples, seen, train

from rpd_core.config.resolve import choose
from rpd_core.errors import SpecError
from rpd_core.plugin.registry import installed
from rpd_sb3.loader import Sb3File

SMALL = {"net_arch": [8, 8]}
FOUR = spaces.Discrete(4)
CASES = [
    ("PPO", "MlpPolicy", VECTOR, FOUR, {"policy_kwargs": {"activation_fn": torch.nn.ReLU}}),
    ("PPO", "MlpPolicy", VECTOR, PUSHES, {"use_sde": True}),
    ("A2C", "CnnPolicy", IMAGE, FOUR, {}),
    ("DQN", "MlpPolicy", VECTOR, FOUR, {"policy_kwargs": SMALL}),
    ("SAC", "MlpPolicy", VECTOR, PUSHES, {"policy_kwargs": SMALL}),
    ("TD3", "MlpPolicy", VECTOR, PUSHES, {"policy_kwargs": SMALL}),
    ("TQC", "MlpPolicy", VECTOR, PUSHES, {"policy_kwargs": SMALL}),
    ("RecurrentPPO", "MlpLstmPolicy", VECTOR, FOUR, {}),  # policy.save forgets other sizes
]


@pytest.mark.parametrize(("name", "policy", "observation", "action", "extra"), CASES)
def test_a_policy_without_its_model_acts_as_predict_does(
    tmp_path: Path, name: str, policy: str, observation: Any, action: Any, extra: dict[str, Any]
) -> None:
    model = train(name, policy, observation, action, **extra)
    model.policy.save(tmp_path / "policy.pt")
    file = Sb3File(tmp_path / "policy.pt", algo=name.lower())
    loaded = file.load(facts_of(observation, action))
    rows = samples(observation)
    expected = np.stack([model.predict(row, deterministic=True)[0] for row in rows])
    np.testing.assert_allclose(loaded(seen(batch(rows))).actions, expected, atol=1e-5, rtol=1e-5)
    assert file.describe()["algorithm"] == name


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    train("PPO", "MlpPolicy", VECTOR, FOUR).policy.save(tmp_path / "policy.pt")
    return tmp_path / "policy.pt"


def test_a_policy_does_not_say_its_algorithm(policy: Path) -> None:
    with pytest.raises(SpecError, match=r"policy\.pt: its algorithm is not recognised: set algo="):
        Sb3File(policy).load(facts_of(VECTOR, FOUR))


def test_a_wrong_algorithm_does_not_fit(policy: Path) -> None:
    with pytest.raises(SpecError, match=r"DQNPolicy"):
        Sb3File(policy, algo="dqn").load(facts_of(VECTOR, FOUR))


def test_a_bare_path_finds_the_loader(policy: Path) -> None:
    assert choose(installed(), "policy", f"{policy},algo=ppo").text == f"sb3:{policy},algo=ppo"


def test_a_policy_is_never_loaded_by_torch_even_with_trust(policy: Path) -> None:
    loaded = Sb3File(policy, algo="ppo", trust=True).load(facts_of(VECTOR, FOUR))
    assert "loaded in full" not in loaded.describe()["adapted"]


class _Harm:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return open, (str(self.path), "w")


def test_a_policy_that_calls_something_is_refused(policy: Path, tmp_path: Path) -> None:
    held = torch.load(policy, weights_only=False)
    held["data"]["net_arch"] = _Harm(tmp_path / "harm")
    torch.save(held, policy)
    with pytest.raises(SpecError, match=r"it wants "):
        Sb3File(policy, algo="ppo").load(facts_of(VECTOR, FOUR))
    assert not (tmp_path / "harm").exists()


def test_weights_alone_name_the_loader_that_takes_them(tmp_path: Path) -> None:
    torch.save(torch.nn.Linear(4, 2).state_dict(), tmp_path / "net.pt")
    with pytest.raises(SpecError, match=r"net\.pt holds weights alone, .*: use weights:net\.pt"):
        Sb3File(tmp_path / "net.pt").load(facts_of(VECTOR, FOUR))
