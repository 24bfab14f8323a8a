"""Small environments, models and files for the tests of the SB3 loader."""

from __future__ import annotations

import base64
import copy
import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import stable_baselines3
import torch
from gymnasium import spaces

from rpd_core.chance import Draws
from rpd_core.plugin.protocols import Facts, PolicyInput

LANES = 6
VECTOR = spaces.Box(-2.0, 3.0, (4,), np.float32)
IMAGE = spaces.Box(0, 255, (3, 36, 36), np.uint8)
MIXED = spaces.Dict(
    {"image": IMAGE, "speed": spaces.Box(-1.0, 1.0, (2,), np.float32), "gear": spaces.Discrete(3)}
)
PUSHES = spaces.Box(np.array([-2.0, 0.0], np.float32), np.array([1.0, 3.0], np.float32))


class Toy(gymnasium.Env[Any, Any]):
    """Any spaces; observations at random, episodes of five steps."""

    def __init__(self, observation_space: Any, action_space: Any) -> None:
        self.observation_space, self.action_space = observation_space, action_space
        self.steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:  # None would draw a new seed, and every training would differ
            self.observation_space.seed(seed)
        self.steps = 0
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        return self.observation_space.sample(), float(self.steps % 2), self.steps >= 5, False, {}


def algorithm(name: str) -> type[Any]:
    """Return the class of an algorithm, from sb3-contrib if need be."""
    found: type[Any] | None = getattr(stable_baselines3, name, None)
    return found or getattr(pytest.importorskip("sb3_contrib"), name)


_ON_POLICY = {"n_steps": 8, "batch_size": 8}
_OFF_POLICY = {"learning_starts": 2, "buffer_size": 64, "batch_size": 4}
SETTINGS: dict[str, dict[str, Any]] = {
    "PPO": _ON_POLICY | {"n_epochs": 1},
    "A2C": {"n_steps": 8},
    "TRPO": _ON_POLICY,
    "RecurrentPPO": _ON_POLICY | {"n_epochs": 1},
    "MaskablePPO": _ON_POLICY | {"n_epochs": 1},
    "ARS": {"n_delta": 1},
    **dict.fromkeys(("DQN", "QRDQN", "SAC", "TD3", "DDPG", "TQC", "CrossQ"), _OFF_POLICY),
}


def train(
    name: str, policy: str, observation: Any, action: Any, steps: int = 16, **extra: Any
) -> Any:
    """Train a model for a moment."""
    settings = SETTINGS[name] | copy.deepcopy(extra)
    model = algorithm(name)(
        policy, Toy(observation, action), seed=3, device="cpu", verbose=0, **settings
    )
    model.learn(steps, **({"use_masking": False} if name == "MaskablePPO" else {}))
    spread(model.policy)
    return model


def spread(policy: Any) -> None:
    """Enlarge the weights, so that different observations get clearly different actions."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))


def saved(model: Any, folder: Path, name: str = "model") -> Path:
    """Save a model as its user would."""
    path = folder / f"{name}.zip"
    model.save(path)
    return path


def rewritten(path: Path, data: dict[str, Any] | None = None, **members: bytes) -> Path:
    """Return a copy of a saved model with other settings or members; None drops a setting."""
    target = path.with_name(f"{path.stem}_rewritten.zip")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "data" and data is not None:
                settings = json.loads(content) | data
                content = json.dumps({k: v for k, v in settings.items() if v is not None}).encode()
            new.writestr(name, members.get(name.replace(".", "_"), content))
    return target


def entry(pickled: bytes, **clear: Any) -> dict[str, Any]:
    """Return a setting in the form in which the library stores what is no JSON."""
    return {":type:": "?", ":serialized:": base64.b64encode(pickled).decode(), **clear}


def settings_of(path: Path) -> dict[str, Any]:
    """Return the settings of a saved model."""
    with zipfile.ZipFile(path) as zipped:
        found: dict[str, Any] = json.loads(zipped.read("data"))
    return found


def weights_of(path: Path) -> dict[str, torch.Tensor]:
    """Return the weights of a saved model."""
    with zipfile.ZipFile(path) as zipped:
        raw = io.BytesIO(zipped.read("policy.pth"))
    found: dict[str, torch.Tensor] = torch.load(raw, weights_only=True)
    return found


def weights_bytes(weights: Any) -> bytes:
    """Return weights as the bytes of a `.pth` file."""
    raw = io.BytesIO()
    torch.save(weights, raw)
    return raw.getvalue()


def facts_of(observation: Any, action: Any, views: tuple[str, ...] = ()) -> Facts:
    """Return what a policy may know about an environment with these spaces."""
    return Facts(observation, action, LANES, views, description="the toy")


def samples(space: Any, count: int = LANES, seed: int = 5) -> list[Any]:
    """Return elements of a space; images of noise are all alike, so they differ in brightness."""
    space.seed(seed)
    rows = [space.sample() for _ in range(count)]
    for place, row in enumerate(rows):
        for part in row.values() if isinstance(row, dict) else (row,):
            if isinstance(part, np.ndarray) and part.dtype == np.uint8:
                part[...] = part * (place / count)
    return rows


def batch(rows: list[Any]) -> Any:
    """Stack observations as lanes do."""
    if isinstance(rows[0], dict):
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    return np.stack(rows)


def seen(
    observations: Any,
    starts: Any = True,
    memory: Any = None,
    step: int = 0,
    views: dict[str, Any] | None = None,
) -> PolicyInput:
    """Return the input of a policy at one step."""
    lanes = len(
        next(iter(observations.values())) if isinstance(observations, dict) else observations
    )
    roots = np.arange(1, lanes + 1, dtype=np.uint64) * np.uint64(7919)
    return PolicyInput(
        observations,
        views or {},
        np.broadcast_to(np.asarray(starts, dtype=bool), (lanes,)).copy(),
        memory,
        Draws(roots, np.full(lanes, step)),
        np.zeros(lanes),
        np.zeros(lanes),
    )


class Touch:
    """An object whose unpickling would create a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return exec, (f"open({str(self.marker)!r}, 'w').close()",)


def touching(marker: Path) -> bytes:
    """Return a pickle that would create a file."""
    return pickle.dumps(Touch(marker))
