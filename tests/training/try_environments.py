"""Tries environments of other packages: trains a tiny policy on each and runs rpd on it.

    python tests/training/try_environments.py [WORD ...]

Prints a row per environment, `works`, `refused`, `not installed` or `cannot be made`; words
choose those whose spec holds one of them. The policies are as good as nothing, but for MiniWorld's,
a rule: what is tried is that episodes are played, states learned, pruned policies confirmed or
missed. MiniWorld draws without a screen with `PYGLET_HEADLESS=1`.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3 import DDPG, PPO, SAC, TD3
from stable_baselines3.common.base_class import BaseAlgorithm

import rpd
from rpd_core.errors import RpdError


@dataclass(frozen=True)
class Trial:
    """An environment and what plays it."""

    id: str
    """As after `gym:`."""
    algorithm: type[BaseAlgorithm] | Callable[..., Any]
    """What is trained, or a rule."""
    policy: str = "MlpPolicy"
    default: str = "zero"
    reference: float | None = None
    """Return that shares are measured from, where so little training is no better than chance."""
    arguments: dict[str, Any] = field(default_factory=dict)
    """What makes a slow environment quick."""


def go_to_red(pictures: Any) -> Any:
    """Turn until something red is ahead, and go there."""
    red, green, blue = np.moveaxis(pictures.astype(int), -1, 0)
    found = (red > 60) & (red > 2 * green) & (red > 2 * blue)
    amount = found.sum(axis=(1, 2))
    across = (found * np.arange(found.shape[2])).sum(axis=(1, 2)) / np.maximum(amount, 1)
    return np.select([(amount < 5) | (across < 25), across > 55], [0, 1], 2)


TRIALS = (
    Trial("Hopper-v5", SAC),
    Trial("HalfCheetah-v5", TD3, default="mean", reference=-2000),
    Trial("Reacher-v5", PPO),
    Trial("Swimmer-v5", DDPG, default="hold:4"),
    Trial("shimmy:dm_control/cartpole-balance-v0", PPO, "MultiInputPolicy", reference=0),
    Trial("gymnasium_robotics:FetchReach-v4", PPO, "MultiInputPolicy", reference=-100),
    Trial(
        *("highway_env:highway-fast-v0", PPO, "MlpPolicy", "repeat", -10),
        {"config": {"vehicles_count": 5, "duration": 15}},
    ),
    Trial("flappy_bird_gymnasium:FlappyBird-v0", PPO, default="repeat", reference=-20),
    Trial("miniworld:MiniWorld-OneRoom-v0", go_to_red, default="repeat"),
)


def attempt(trial: Trial, folder: Path) -> str:
    """Train, save, load and analyse; return what to print."""
    module, _, name = trial.id.rpartition(":")
    try:
        if module:
            __import__(module)
        env = gymnasium.make(name, **trial.arguments)
    except (ImportError, gymnasium.error.Error) as error:
        return f"not installed: {error}"
    except Exception as error:  # of packages that do not fit one another
        return f"cannot be made, without rpd: {error}"
    began = time.process_time()
    arguments = [f",{key}='{json.dumps(value)}'" for key, value in trial.arguments.items()]
    try:
        run = rpd.run(
            f"gym:{trial.id}{''.join(arguments)}", trained(trial, env, folder / "model.zip"),
            out=folder / "run", quick=True,
            abstraction="auto", default_action=trial.default, episodes=40, lanes=16,
            test_episodes=5, unmutated_episodes=20, confirm_episodes=20, confirm_tries=1,
            reference=trial.reference, shares=(0.0, 0.5, 1.0), progress=False, finish=(),
            minimise_steps=2000,
        )  # fmt: skip
    except RpdError as error:
        return f"refused: {error}"
    found, seconds = run.summary, time.process_time() - began
    kept = "none confirmed" if found.policy is None else f"{found.policy.kept} kept"
    return (
        f"works: return {found.original.return_mean:.4g}, {found.suite.states} states, {kept}, "
        f"{seconds:.0f} CPU-s"
    )


def trained(trial: Trial, env: gymnasium.Env[Any, Any], file: Path) -> Any:
    """Train and save, and return the spec of the file; a rule needs none."""
    if not isinstance(trial.algorithm, type):
        return trial.algorithm
    off_policy = {"learning_starts": 100, "buffer_size": 2000}
    options = {"n_steps": 128} if trial.algorithm is PPO else off_policy
    model = trial.algorithm(trial.policy, env, seed=0, device="cpu", **options)
    model.learn(256).save(file)
    return f"sb3:{file}"


def main(words: list[str]) -> None:
    """Try what the words choose, or all."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for trial in TRIALS:
        if words and not any(word in trial.id for word in words):
            continue
        with tempfile.TemporaryDirectory() as folder:
            told = attempt(trial, Path(folder))
        print(f"{trial.id} ({trial.algorithm.__name__}): {told}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
