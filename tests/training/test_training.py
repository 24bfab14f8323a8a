"""The training scripts run, and no plugin carries them along."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from cartpole_module import load_network, network
from train_cartpole import actor, returns_of, save
from train_minigrid import Settings, mean_return, train

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"


def test_no_plugin_carries_a_training_script() -> None:
    names = [path.name for path in PLUGINS.rglob("*.py") if path.name.startswith("train")]
    scripts = [path.name for path in PLUGINS.rglob("*.py") if "__main__" in path.read_text()]
    assert (names, scripts) == ([], ["child.py"]), "the process in which ONNX models are tried"


def test_the_shipped_cartpole_policy_is_measured_at_the_cap() -> None:
    assert set(returns_of(load_network("good")).tolist()) == {200.0}


def test_what_the_cartpole_script_saves_is_what_the_plugin_reads(tmp_path: Path) -> None:
    torch.manual_seed(1)
    module = network()
    save(module, tmp_path / "policy.npz")
    with np.load(tmp_path / "policy.npz") as stored:
        assert {name: stored[name].tolist() for name in stored.files} == {
            name: value.tolist() for name, value in module.state_dict().items()
        }


def test_the_actor_of_a_fresh_ppo_has_the_shape_of_the_shipped_network() -> None:
    stable_baselines3 = pytest.importorskip("stable_baselines3")
    layers = {"net_arch": [32, 32], "activation_fn": torch.nn.ReLU}
    model = stable_baselines3.PPO("MlpPolicy", "CartPole-v1", device="cpu", policy_kwargs=layers)
    shapes = {name: value.shape for name, value in actor(model).state_dict().items()}
    assert shapes == {name: value.shape for name, value in network().state_dict().items()}


def test_a_short_minigrid_training_gives_a_network_that_plays() -> None:
    trained = train(Settings(lanes=8, horizon=8, updates=2, batches=2))
    assert 0.0 <= mean_return(trained, sample=True, episodes=4) <= 1.0
