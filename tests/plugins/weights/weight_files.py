"""Facts, inputs and files for the tests of plain weights."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces

from rpd_core.chance import Draws
from rpd_core.plugin.protocols import Choice, Facts, PolicyInput

LANES = 5
CART = (spaces.Box(-3.0, 3.0, (4,), np.float32), spaces.Discrete(2))
PENDULUM = (spaces.Box(-8.0, 8.0, (3,), np.float32), spaces.Box(-2.0, 2.0, (1,), np.float32))
ATARI = (spaces.Box(0, 255, (4, 84, 84), np.uint8), spaces.Discrete(6))


def facts(world: tuple[Any, Any]) -> Facts:
    return Facts(*world, LANES, description="a world")


def rows_of(world: tuple[Any, Any], seed: int = 0) -> Any:
    """Return a batch of observations of all magnitudes that the space has."""
    chance = np.random.default_rng(seed)
    space = world[0]
    drawn = chance.uniform(space.low, space.high, (LANES, *space.shape))
    return drawn.astype(space.dtype)


def ask(policy: Any, rows: Any, starts: Any = None, memory: Any = None) -> Choice:
    """Return what a policy wants to do."""
    zeros = np.zeros(LANES)
    begins = np.ones(LANES, bool) if starts is None else starts
    draws = Draws(np.arange(LANES, dtype=np.uint64), np.zeros(LANES, np.int64))
    choice: Choice = policy(PolicyInput(rows, {}, begins, memory, draws, zeros, zeros))
    return choice


def save_safetensors(path: Path, weights: dict[str, Any]) -> Path:
    """Write tensors of float32 as the library safetensors does: sorted by name."""
    table, numbers = {}, b""
    for name in sorted(weights):
        raw = weights[name].detach().float().numpy().tobytes()
        offsets = [len(numbers), len(numbers) + len(raw)]
        table[name] = {"dtype": "F32", "shape": [*weights[name].shape], "data_offsets": offsets}
        numbers += raw
    header = json.dumps(table).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + numbers)
    return path


def save_npz(path: Path, weights: dict[str, torch.Tensor]) -> Path:
    np.savez(path, **{name: one.detach().numpy() for name, one in weights.items()})
    return path
