"""Is a network as quick from plain weights as from SB3? `python tests/benchmarks/weights_speed.py`.

One step of 64 lanes through `weights:` against the same network through `sb3:`, both with
probabilities, in this process with one thread, interleaved. What counts is the ratio of processor
time; a ratio below 1 says that plain weights take less.
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
from gymnasium import spaces
from stable_baselines3 import PPO

from rpd_core.chance import Draws
from rpd_core.plugin.protocols import Facts, PolicyInput
from rpd_sb3.loader import Sb3File
from rpd_weights.loader import WeightsFile

LANES = 64
ROUNDS = 9
VECTOR = spaces.Box(-2.0, 2.0, (4,), np.float32)
PICTURE = spaces.Box(0, 255, (4, 84, 84), np.uint8)
NETWORKS: dict[str, tuple[str, Any, int, int]] = {
    "MLP 4-64-64-2": ("MlpPolicy", VECTOR, 2, 300),
    "NatureCNN 4x84x84-6": ("CnnPolicy", PICTURE, 6, 3),
}
"""Policy class, observations, number of actions, and steps of one round."""
_NAMES = {
    "mlp_extractor.policy_net": "actor",
    "pi_features_extractor.cnn": "network",
    "pi_features_extractor.linear.0": "network.7",
    "action_net": "actor",
}
"""What CleanRL calls the parts of SB3's PPO that act."""


class _Still(gymnasium.Env[Any, Any]):
    """An environment that is never stepped."""

    def __init__(self, observed: Any, actions: int) -> None:
        self.observation_space, self.action_space = observed, spaces.Discrete(actions)


def _renamed(model: PPO) -> dict[str, torch.Tensor]:
    """Return the weights that act, named as CleanRL names them."""
    made = {}
    for name, values in model.policy.state_dict().items():
        for theirs, ours in _NAMES.items():
            if name.startswith(f"{theirs}."):
                last = ".4" if (theirs, ours) == ("action_net", "actor") and _is_mlp(model) else ""
                made[name.replace(theirs, f"{ours}{last}")] = values
    return made


def _is_mlp(model: PPO) -> bool:
    return "mlp_extractor.policy_net.0.weight" in model.policy.state_dict()


def _stepping(policy: Any, rows: Any) -> Callable[[], Any]:
    """Return one step of all lanes."""
    roots, number = np.arange(LANES, dtype=np.uint64), np.zeros(LANES, dtype=np.int64)
    starts, zeros = np.zeros(LANES, dtype=bool), np.zeros(LANES)
    memory = None

    def step() -> Any:
        nonlocal memory
        choice = policy(PolicyInput(rows, {}, starts, memory, Draws(roots, number), zeros, zeros))
        memory = choice.memory
        return choice.probabilities

    return step


def _seconds(step: Callable[[], Any], times: int) -> float:
    """Return the processor seconds that one call takes."""
    start = time.process_time()
    for _ in range(times):
        step()
    return (time.process_time() - start) / times


def measure(name: str) -> dict[str, float]:
    """Interleave both loaders and return the median ratio."""
    torch.set_num_threads(1)
    kind, observed, actions, times = NETWORKS[name]
    model = PPO(kind, _Still(observed, actions), seed=0, device="cpu")
    facts = Facts(observed, model.action_space, LANES)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "ppo.zip")
        torch.save(_renamed(model), Path(folder) / "ppo.pt")
        activation: Any = "tanh" if _is_mlp(model) else "relu"
        plain = WeightsFile(Path(folder) / "ppo.pt", activation=activation).load(facts)
        full = Sb3File(Path(folder) / "ppo.zip").load(facts)
    rows = np.random.default_rng(0).uniform(observed.low, observed.high, (LANES, *observed.shape))
    ours, theirs = (_stepping(policy, rows.astype(observed.dtype)) for policy in (plain, full))
    np.testing.assert_allclose(ours(), theirs(), atol=1e-5)
    pairs = [(_seconds(ours, times), _seconds(theirs, times)) for _ in range(ROUNDS)]
    return {
        "ratio_median": float(np.median([own / other for own, other in pairs])),
        "microseconds_weights": 1e6 * float(np.median([own for own, _ in pairs])),
        "microseconds_sb3": 1e6 * float(np.median([other for _, other in pairs])),
    }


if __name__ == "__main__":
    print(json.dumps({name: measure(name) for name in NETWORKS}, indent=2))
