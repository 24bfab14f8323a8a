"""Files of weights that ask for far more memory or time than their size tells."""

from __future__ import annotations

import json
import random
import struct
from typing import Any

import torch
from torch import nn

from tests.fuzz.mutations import json_bomb

MANY = 9_000
"""Tensors, a little below what a file may hold."""


def table_bomb(chance: random.Random) -> tuple[str, bytes]:
    """Return a safetensors file whose table lies about its length, its offsets or its shapes."""
    name = chance.choice(list(_TABLES))
    return f"table with {name}", _TABLES[name](chance)


def storage_bomb(chance: random.Random) -> tuple[str, Any]:
    """Return a state dict whose tensors are many, or far larger than what is stored of them."""
    name = chance.choice(list(_STATES))
    return f"state dict of {name}", _STATES[name]()


def with_length(table: bytes, numbers: bytes, length: int | None = None) -> bytes:
    """Return a safetensors file, whose length need not be true."""
    return struct.pack("<Q", len(table) if length is None else length) + table + numbers


def _row(shape: list[int], begin: int, end: int) -> dict[str, Any]:
    return {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}


def _file(rows: dict[str, Any], numbers: int = 64) -> bytes:
    return with_length(json.dumps(rows).encode(), bytes(numbers))


def _long(chance: random.Random) -> bytes:
    length = chance.choice([2**20, 2**24, 2**24 + 1, 2**31, 2**63 - 1, 2**64 - 1])
    return with_length(b"{" + b" " * chance.choice([0, 2**20]), b"", length)


def _padded(chance: random.Random) -> bytes:
    return with_length(b"{" + b" " * (2**24 - 2) + b"}", b"")


def _json(chance: random.Random) -> bytes:
    _, text = json_bomb(chance)
    text = b'{"a":' + text[: 2**24 - 6] + b"}"
    return with_length(text, b"")


def _same_bytes(chance: random.Random) -> bytes:
    """Let thousands of arrays be the same bytes."""
    return _file({f"{n}.weight": _row([2**16], 0, 2**18) for n in range(MANY)}, 2**18)


def _odd_offsets(chance: random.Random) -> bytes:
    odd = [-1, -64, -(2**63), 2**63, 2**64, 10**400, 32, 1.5, True]
    begin, end = chance.choice([0, *odd]), chance.choice([64, *odd])
    return _file({"0.weight": _row([4, 4], begin, end), "1.weight": _row([4, 4], 32, 96)}, 96)


def _odd_shapes(chance: random.Random) -> bytes:
    shapes: list[list[int]] = [
        [2**31, 2**31, 0], [2**62, 2**62, 4], [-4, -4], [1] * 15 + [16], [1] * 10**5 + [16],
        [0] * 16, [10**400], [2**39, 0, 2**39],
    ]  # fmt: skip
    return _file({"0.weight": _row(chance.choice(shapes), 0, chance.choice([0, 64]))})


def _empty_arrays(chance: random.Random) -> bytes:
    return _file({f"{n}.weight": _row([0, 2**39], 0, 0) for n in range(MANY)}, 0)


_TABLES = {
    "a false length": _long,
    "a table of spaces": _padded,
    "JSON that unfolds": _json,
    "shared bytes": _same_bytes,
    "odd offsets": _odd_offsets,
    "odd shapes": _odd_shapes,
    "nothing in them": _empty_arrays,
}


def _shared() -> Any:
    """Thousands of tensors that are one storage of 4 MB, each all of it."""
    stored = torch.zeros(2**20)
    return {f"{n}.weight": stored.view(2**10, 2**10) for n in range(MANY)}


def _spread() -> Any:
    """Views of one number, each of a million."""
    stored = torch.zeros(1)
    return {f"{n}.weight": stored.expand(2**20) for n in range(MANY // 10)}


def _overlapping() -> Any:
    """Windows of one storage, each one number beside the one before."""
    stored = torch.zeros(2**20)
    return {f"{n}.weight": stored.as_strided((512, 512), (1, 512), n) for n in range(500)}


def _chain() -> Any:
    """Layers that fit, in a very long row."""
    layers: list[nn.Module] = [nn.Linear(4, 4) for _ in range(MANY // 4)]
    return nn.Sequential(*layers, nn.Linear(4, 2)).state_dict()


def _wide() -> Any:
    """A layer whose stored row of zeros is spread to a billion weights, and a head that fits."""
    zero = torch.zeros(1)
    return {
        "0.weight": zero.expand(2**28, 4), "0.bias": zero.expand(2**28),
        "2.weight": zero.expand(2, 2**28), "2.bias": torch.zeros(2),
    }  # fmt: skip


def _deep() -> Any:
    """Dicts in dicts, the same below both names of each: more paths than can be walked."""
    inside: Any = {"0.weight": torch.zeros(2, 4)}
    for _ in range(60):
        inside = {"a": inside, "b": inside}
    return inside


_STATES = {
    "one storage": _shared,
    "one number": _spread,
    "windows": _overlapping,
    "a long row": _chain,
    "a wide layer": _wide,
    "dicts in dicts": _deep,
}
