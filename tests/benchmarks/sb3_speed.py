"""How much faster is a batch than `model.predict`? `python tests/benchmarks/sb3_speed.py`.

One step of 256 lanes through the loaded policy, which gives probabilities as well, against 256
calls of `predict` of the same model, one observation each. Both run in this process with one
thread, interleaved, so that a busy machine slows both; what counts is the ratio.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO

from rpd_core.chance import Draws
from rpd_core.plugin.protocols import Facts, PolicyInput
from rpd_sb3.loader import Sb3File

LANES = 256
STEPS = 200
ROUNDS = 7
TARGET = 60


def loaded_policy(model: PPO) -> Any:
    """Save the model and load it as a user would."""
    facts = Facts(model.observation_space, model.action_space, LANES)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ppo.zip"
        model.save(path)
        return Sb3File(path).load(facts)


def batched(policy: Any, rows: Any) -> Callable[[], Any]:
    """Return one step of all lanes."""
    roots, number = np.arange(LANES, dtype=np.uint64), np.zeros(LANES, dtype=np.int64)
    starts, zeros = np.zeros(LANES, dtype=bool), np.zeros(LANES)
    memory = None

    def step() -> Any:
        nonlocal memory
        seen = PolicyInput(rows, {}, starts, memory, Draws(roots, number), zeros, zeros)
        choice = policy(seen)
        memory = choice.memory
        return choice.actions

    return step


def seconds(function: Callable[[], Any], times: int) -> float:
    """Return the seconds that one call takes."""
    start = time.perf_counter()
    for _ in range(times):
        function()
    return (time.perf_counter() - start) / times


def measure() -> dict[str, float]:
    """Interleave both and return the median ratio."""
    torch.set_num_threads(1)
    model = PPO("MlpPolicy", gymnasium.make("CartPole-v1"), seed=0, device="cpu")
    rows = np.random.default_rng(0).normal(size=(LANES, 4)).astype(np.float32)
    step = batched(loaded_policy(model), rows)

    def one_by_one() -> Any:
        return np.array([model.predict(row, deterministic=True)[0] for row in rows])

    assert (step() == one_by_one()).all()
    pairs = [(seconds(one_by_one, 1), seconds(step, STEPS)) for _ in range(ROUNDS)]
    ratios = [slow / fast for slow, fast in pairs]
    return {
        "ratio_median": float(np.median(ratios)),
        "ratio_min": min(ratios),
        "target": TARGET,
        "microseconds_per_step": 1e6 * float(np.median([fast for _, fast in pairs])),
    }


if __name__ == "__main__":
    print(json.dumps(measure()))
