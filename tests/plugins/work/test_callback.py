"""Analyses of checkpoints while stable-baselines3 trains, read back from a real log."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from stable_baselines3.common.vec_env import SubprocVecEnv

import rpd
from rpd_core.errors import ConfigError
from rpd_work.figures import figures_of


class Bits(gymnasium.Env[Any, Any]):
    """Eight steps: name the bit that is shown; one reward each."""

    observation_space = spaces.Box(0, 8, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.at = 0
        return self._seen(), {}

    def _seen(self) -> Any:
        self.bit = int(self.np_random.integers(2))
        return np.array([self.bit, self.at], np.float32)

    def step(self, action: Any) -> Any:
        reward = float(int(action) == self.bit)
        self.at += 1
        return self._seen(), reward, False, self.at >= 8, {}


def trained(callback: BaseCallback | None, log: Path) -> PPO:
    torch.set_num_threads(1)
    model = PPO(
        "MlpPolicy", Bits(), seed=0, device="cpu", n_steps=64, learning_rate=0.01,
        policy_kwargs={"net_arch": [8]},
    )  # fmt: skip
    model.set_logger(configure(str(log), ["csv"]))
    model.learn(512, callback=callback)
    model.logger.close()
    return model


def test_checkpoints_are_analysed_logged_and_kept_and_training_is_as_without(
    tmp_path: Path,
) -> None:
    callback = rpd.sb3.DecisionCallback(
        every=256, budget=60, out=tmp_path / "runs", abstraction="identity", confirm_episodes=50
    )
    watched, alone = trained(callback, tmp_path / "log"), trained(None, tmp_path / "alone")
    for one, two in zip(watched.policy.parameters(), alone.policy.parameters(), strict=True):
        assert torch.equal(one, two)

    assert [run.path.name for run in callback.runs] == ["step-000000256", "step-000000512"]
    figures = [figures_of(run) for run in callback.runs]
    with (tmp_path / "log" / "progress.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row.get("rpd/return")]
    for name in ("return", "confirmed", "default_return"):
        assert [float(row[f"rpd/{name}"]) for row in rows] == [one[name] for one in figures]
    last = callback.runs[-1].policy()
    assert last is not None
    assert figures[-1]["decisions"] == last.kept
    assert figures[-1]["steps"] == last.steps
    assert figures[-1]["needed"] == sum(one.needed for one in callback.runs[-1].decisions)
    assert figures[-1]["return"] > 7
    again = rpd.sb3.DecisionCallback(every=1, out=tmp_path / "runs")
    assert again.folder == tmp_path / "runs-2"
    assert rpd.compare(*callback.runs).common > 0


def test_an_analysis_that_cannot_be_done_gives_a_warning_and_training_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    callback = rpd.sb3.DecisionCallback(
        every=512, budget=20, out=tmp_path / "runs", condition="return>=100"
    )
    trained(callback, tmp_path / "log")
    assert callback.runs == []
    assert callback.num_timesteps == 512
    (told,) = [one.getMessage() for one in caplog.records if one.name == "rpd"]
    assert told.startswith("no analysis after 512 steps: all 20 episodes failed return>=100")


@pytest.mark.parametrize(("name", "value"), [("every", 0), ("budget", 2.5)])
def test_wrong_numbers_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"{name} must be a whole number of at least 1"):
        rpd.sb3.DecisionCallback(**({"every": 10} | {name: value}))


def test_environments_in_other_processes_must_be_named(tmp_path: Path) -> None:
    envs = SubprocVecEnv([lambda: gymnasium.make("CartPole-v1")], start_method="fork")
    try:
        callback = rpd.sb3.DecisionCallback(every=8, out=tmp_path / "runs")
        model = PPO("MlpPolicy", envs, n_steps=8, batch_size=8, device="cpu")
        with pytest.raises(ConfigError, match=r"other processes \(SubprocVecEnv\): give"):
            model.learn(8, callback=callback)
    finally:
        envs.close()
