"""Small torch modules and what is needed to load and call them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor, nn

from rpd_core.chance import Draws
from rpd_core.plugin.protocols import Facts, PolicyInput
from rpd_torchscript.loader import TorchScriptFile

LANES = 6


class Linear(nn.Module):
    """One number per action, from a vector of 4."""

    def __init__(self, inputs: int = 4, outputs: int = 3, seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.layer = nn.Linear(inputs, outputs)

    def forward(self, observation: Tensor) -> Tensor:
        return self.layer(observation)


class Counter(nn.Module):
    """Carries a sum of what it saw; the action with the number of that sum is preferred."""

    def forward(self, observation: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        hidden = hidden + observation[:, :1]
        places = torch.arange(3, device=observation.device).float()
        return -((hidden - places) ** 2), hidden


def save(module: nn.Module, path: Path, example: tuple[Tensor, ...] | None = None) -> Path:
    """Script (or, with an example, trace) a module and save it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made: Any = (
            torch.jit.script(module.eval())
            if example is None
            else torch.jit.trace(module.eval(), example)
        )
        made.save(str(path))
    return path


def box(shape: tuple[int, ...] = (4,), dtype: Any = np.float32) -> spaces.Box:
    high = 255 if dtype == np.uint8 else 1
    return spaces.Box(0, high, shape, dtype)


def facts(observation: gymnasium.Space[Any] | None = None, actions: Any = 3, **more: Any) -> Facts:
    space = spaces.Discrete(actions) if isinstance(actions, int) else actions
    given = box() if observation is None else observation
    return Facts(given, space, LANES, description="a world", **more)


def vectors(seed: int = 0, size: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(LANES, size)).astype(np.float32)


def seen(observations: Any, step: int = 0, **more: Any) -> PolicyInput:
    """One step of a batch; every row plays an episode of its own."""
    given: dict[str, Any] = {
        "views": {},
        "starts": np.full(LANES, step == 0),
        "memory": None,
        "draws": Draws(np.arange(LANES, dtype=np.uint64), np.full(LANES, step)),
        "previous": np.zeros(LANES, dtype=np.int64),
        "rewards": np.zeros(LANES),
        **more,
    }
    return PolicyInput(observations, **given)


def loaded(path: Path, where: Facts | None = None, **options: Any) -> Any:
    return TorchScriptFile(path, **options).load(where or facts())
