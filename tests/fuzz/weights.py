"""Hostile variants of small files of plain weights, in three formats, and one attempt at each."""

from __future__ import annotations

import io
import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import nn

from rpd_core.chance import Draws
from rpd_core.errors import RpdError
from rpd_core.plugin.protocols import Facts, PolicyInput
from rpd_weights.loader import WeightsFile
from tests.fuzz.mutations import ODD, flipped, members, other_json, zipped
from tests.fuzz.weight_bombs import storage_bomb, table_bomb, with_length

CASES = 300
"""Cases for each seed."""
_CANARY = "RPD_FUZZ_CANARY"
_ROWS = 3
_VECTOR = spaces.Box(-2.0, 3.0, (4,), np.float32)
_PICTURE = spaces.Box(0, 255, (2, 8, 8), np.uint8)
_WORLDS = (
    (_VECTOR, spaces.Discrete(2)),
    (_VECTOR, spaces.Box(-1.0, 1.0, (2,), np.float32)),
    (_PICTURE, spaces.Discrete(2)),
)
Weights = dict[str, Any]


def _mlp() -> Weights:
    return nn.ModuleDict(
        {"actor": nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Tanh(), nn.Linear(8, 2)),
         "critic": nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))}
    ).state_dict()  # fmt: skip


def _pictures() -> Weights:
    return nn.Sequential(
        nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(108, 2)
    ).state_dict()


def _dueling() -> Weights:
    streams = {"features": 8, "value_stream": 1, "advantage_stream": 2}
    sizes = {"features": 4}
    parts = {name: nn.Linear(sizes.get(name, 8), size) for name, size in streams.items()}
    return nn.ModuleDict(parts).state_dict()


def _recurrent() -> Weights:
    parts: dict[str, nn.Module] = {"lstm": nn.LSTM(4, 5, 2), "policy": nn.Linear(5, 2)}
    scaler = {"scaler.running_mean": torch.zeros(4), "scaler.running_var": torch.ones(4)}
    return nn.ModuleDict(parts).state_dict() | scaler


def _bases() -> list[Weights]:
    torch.manual_seed(0)
    return [_mlp(), _pictures(), _dueling(), _recurrent()]


class _Create:
    """Something whose unpickling would create a file."""

    def __reduce__(self) -> Any:
        return open, (os.environ.get(_CANARY, "x"), "w")


# ------------------------------------------------------------------------ three formats


def _torch_file(weights: Any) -> bytes:
    stream = io.BytesIO()
    torch.save(weights, stream)
    return zipped(members(stream.getvalue()), packing=0)  # of 1980: the same file at every time


def _numpy_file(weights: Weights) -> bytes:
    content = {}
    for name, values in weights.items():
        stream = io.BytesIO()
        np.save(stream, np.asarray(values))
        content[f"{name}.npy"] = stream.getvalue()
    return zipped(content)


def _safetensors(weights: Weights) -> tuple[bytes, bytes]:
    """Return the table and the numbers."""
    table: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    numbers = b""
    for name, values in weights.items():
        raw = np.asarray(values, np.float32).tobytes()
        offsets = [len(numbers), len(numbers) + len(raw)]
        table[name] = {"dtype": "F32", "shape": [*values.shape], "data_offsets": offsets}
        numbers += raw
    return json.dumps(table).encode(), numbers


# --------------------------------------------------------------------------- mutations


def _other_tensor(chance: random.Random, weights: Weights) -> tuple[str, Weights]:
    """Change one tensor: its numbers, shape, type or name."""
    key = chance.choice(list(weights))
    value = weights[key][None] if weights[key].dim() == 0 else weights[key]
    changes: dict[str, Any] = {
        "nan": value * float("nan"), "infinite": value + float("inf"), "huge": value * 1e38,
        "double": value.double(), "half": value.half(), "whole": value.long(),
        "flat": value.reshape(-1), "empty": value[:0], "row": value[None],
        "turned": value.mT if value.dim() > 1 else value,
        "long": value.repeat(50, *[1] * (value.dim() - 1)),
        "scalar": value.sum(), "many axes": value.reshape(*[1] * 12, *value.shape),
    }  # fmt: skip
    what = chance.choice([*changes, "renamed", "gone", "swapped"])
    made = dict(weights)
    if what in changes:
        made[key] = changes[what]
    elif what == "swapped":
        other = chance.choice(list(weights))
        made[key], made[other] = weights[other], weights[key]
    else:
        del made[key]
        odd = chance.choice(["\x1b[31m", "a" * 5000, ".weight", "...", "x.y.weight", "0" * 400])
        made |= {f"{odd}.weight": value} if what == "renamed" else {}
    return f"{key} {what}", made


def _tensors(chance: random.Random, weights: Weights) -> tuple[str, bytes]:
    for _ in range(chance.choice([1, 1, 3])):
        what, weights = _other_tensor(chance, weights)
    write = chance.choice([_torch_file, _numpy_file, lambda made: with_length(*_safetensors(made))])
    return what, write(weights)


def _nested(chance: random.Random, weights: Weights) -> tuple[str, bytes]:
    """Put weights into dicts and lists, beside things that are none."""
    odd = chance.choice([*ODD, _Create(), torch.zeros(1).expand(10**7), {1: weights}, nn.Tanh])
    around: Any = chance.choice([
        {"model": weights, "odd": odd}, {"a": weights, "b": weights}, [weights, odd], (odd,),
        {"optimizer": weights}, {"target": weights}, {f"p{n}": weights for n in range(60)}, odd,
        {**weights, **{f"{n}.0.weight": torch.zeros(4, 4) for n in range(50)}},
    ])  # fmt: skip
    for _ in range(chance.choice([0, 0, 3, 200])):
        around = {"deeper": around}
    try:
        return "nested", _torch_file(around)
    except Exception:  # torch and pickle write not everything
        return "not nested", _torch_file({"model": weights})


def _damaged(chance: random.Random, weights: Weights) -> tuple[str, bytes]:
    if chance.random() < 0.5:
        write = chance.choice([_torch_file, _numpy_file])
        return flipped(chance, write(weights))
    return flipped(chance, with_length(*_safetensors(weights)))


def _member(chance: random.Random, weights: Weights) -> tuple[str, bytes]:
    """Damage one member of a zip, whose checksum is then right again."""
    held = members(chance.choice([_torch_file, _numpy_file])(weights))
    pickles = [name for name in held if name.endswith("data.pkl")]
    name = chance.choice([*held, *pickles * 9])
    what, held[name] = flipped(chance, held[name])
    return f"{name}, {what}", zipped(held, chance.choice([0, 8]))


def _table(chance: random.Random, weights: Weights) -> tuple[str, bytes]:
    """Change the table of a safetensors file; its length is then right again, or not."""
    table, numbers = _safetensors(weights)
    if chance.random() < 0.6:
        what, table = other_json(chance, table)
    else:
        what, table = flipped(chance, table)
    raw = with_length(table, numbers)
    if chance.random() < 0.2:
        length = chance.choice([0, 1, 2**24, 2**24 + 1, 2**63, len(raw)])
        return f"{what}, length {length}", with_length(table, numbers, length)
    return what, raw


def _bomb(chance: random.Random, weights: Weights) -> tuple[str, bytes]:
    if chance.random() < 0.5:
        return table_bomb(chance)
    what, state = storage_bomb(chance)
    return what, _torch_file(state)


def cases(seed: int) -> Iterator[tuple[str, bytes]]:
    """Return what was done to a file, and the file."""
    chance, bases = random.Random(seed), _bases()
    ways: list[Callable[[random.Random, Weights], tuple[str, bytes]]] = [
        _tensors, _nested, _damaged, _member, _table, _bomb,
    ]  # fmt: skip
    for number in range(CASES):
        what, raw = chance.choice(ways)(chance, chance.choice(bases))
        yield f"{seed}.{number} {what}", raw


def attempt(path: Path) -> None:
    """Use a file in several worlds; raise if it is a policy in none of them."""
    errors = [_use(WeightsFile(path), *world) for world in _WORLDS]
    refusals = [error for error in errors if error is not None]
    if len(refusals) == len(errors):
        raise refusals[0]


def _use(loader: WeightsFile, observed: Any, actions: Any) -> RpdError | None:
    """Load a policy and ask it once; return the error of one line that this may end in."""
    rows = np.ones((_ROWS, *observed.shape), observed.dtype)
    draws = Draws(np.arange(_ROWS, dtype=np.uint64), np.zeros(_ROWS, np.int64))
    starts, zeros = np.ones(_ROWS, dtype=bool), np.zeros(_ROWS)
    try:
        loader.describe()
        policy = loader.load(Facts(observed, actions, _ROWS, description="the fuzz"))
        policy(PolicyInput(rows, {}, starts, None, draws, zeros, zeros))
    except RpdError as error:
        line = str(error)
        assert line.isprintable(), f"the message is more than a line: {line!r}"
        assert len(line) <= 600, f"the message is too long: {line!r}"
        return error
    return None
