"""How fast is `onnx:` beside `sb3:` on the same network? `python tests/benchmarks/onnx_speed.py`.

One step of all lanes of an untrained PPO through either loader, both with probabilities and one
thread, interleaved; what counts is the ratio of processor times, sb3 over onnx.
"""

from __future__ import annotations

import json
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from sb3_speed import LANES, batched
from stable_baselines3 import PPO

from rpd_core.plugin.protocols import Facts
from rpd_onnx.loader import OnnxFile
from rpd_sb3.loader import Sb3File

STEPS = 200
ROUNDS = 7


class Logits(torch.nn.Module):
    """The part of a policy that decides."""

    def __init__(self, policy: Any) -> None:
        super().__init__()
        self.policy = policy

    def forward(self, observation: torch.Tensor) -> Any:
        hidden, _ = self.policy.mlp_extractor(observation)
        return self.policy.action_net(hidden)


def export(model: PPO, path: Path, any_batch: bool) -> Path:
    """Export the logits of a model, for batches of any size or of one."""
    with warnings.catch_warnings(action="ignore"):
        torch.onnx.export(
            Logits(model.policy).eval(), (torch.zeros(1, 4),), str(path), input_names=["obs"],
            dynamic_axes={"obs": {0: "batch"}} if any_batch else {}, dynamo=False,
        )  # fmt: skip
    return path


def cost(step: Callable[[], Any], times: int) -> float:
    """Return the seconds of processor time that one call takes."""
    start = time.process_time()
    for _ in range(times):
        step()
    return (time.process_time() - start) / times


def measure() -> dict[str, float]:
    """Interleave the loaders and return the median ratios."""
    torch.set_num_threads(1)
    model = PPO("MlpPolicy", gymnasium.make("CartPole-v1"), seed=0, device="cpu")
    rows = np.random.default_rng(0).normal(size=(LANES, 4)).astype(np.float32)
    facts = Facts(model.observation_space, model.action_space, LANES)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        model.save(root / "ppo.zip")
        paths = [export(model, root / f"{many}.onnx", many) for many in (True, False)]
        recipes = [
            Sb3File(root / "ppo.zip"),
            *(OnnxFile(path, deterministic=True) for path in paths),
        ]
        steps = [batched(recipe.load(facts), rows) for recipe in recipes]
    assert all((step() == steps[0]()).all() for step in steps)
    rounds = np.array([[cost(step, STEPS) for step in steps] for _ in range(ROUNDS)])
    whole, single = np.median(rounds[:, :1] / rounds[:, 1:], axis=0)
    return {
        "lanes": LANES,
        "ratio_whole_batches": round(float(whole), 2),
        "ratio_one_by_one": round(float(single), 3),
        "microseconds_sb3": round(1e6 * float(np.median(rounds[:, 0]))),
        "microseconds_onnx": round(1e6 * float(np.median(rounds[:, 1]))),
    }


if __name__ == "__main__":
    print(json.dumps(measure()))
