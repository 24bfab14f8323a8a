"""Exported pruned policies of strangers: their description, arrays and members changed."""

from __future__ import annotations

import io
import json
import pickle
import random
import struct
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rpd_basics.pruned import PrunedFile
from rpd_core.plugin.registry import installed
from rpd_work.predictor import PrunedPredictor
from tests.fuzz import small_run
from tests.fuzz.mutations import flipped, json_bomb, members, other_json, zipped

SUFFIX = ".rpd"
_ARRAYS = ("keys.npy", "ranked.npy")


class _Touch:
    """Something whose unpickling would import a stranger's module."""

    def __reduce__(self) -> tuple[Any, ...]:
        return __import__, ("stranger",)


def cases(seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield files without end; the first is as it should be."""
    chance = random.Random(seed)
    whole = small_run.files()[1]
    yield "0 whole", whole
    number = 0
    while True:
        number += 1
        what, content = chance.choice(_CHANGES)(chance, whole)
        yield f"{number} {what}"[:200], content


def _described(chance: random.Random, whole: bytes) -> tuple[str, bytes]:
    held, names = members(whole), []
    for _ in range(chance.choice([1, 1, 2])):
        what, held["pruned.json"] = other_json(chance, held["pruned.json"])
        names.append(what)
    return "; ".join(names), zipped(held)


def _damaged(chance: random.Random, whole: bytes) -> tuple[str, bytes]:
    return flipped(chance, whole)


def _member(chance: random.Random, whole: bytes) -> tuple[str, bytes]:
    held = members(whole)
    name = chance.choice(list(held))
    what, held[name] = flipped(chance, held[name])
    packing = chance.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
    return f"{name} {what}", zipped(held, packing)


def _array(chance: random.Random, whole: bytes) -> tuple[str, bytes]:
    held, name = members(whole), chance.choice(_ARRAYS)
    what = chance.choice(list(_ODD_ARRAYS))
    return f"{name} {what}", zipped({**held, name: _ODD_ARRAYS[what]()})


def _members(chance: random.Random, whole: bytes) -> tuple[str, bytes]:
    """Add members with odd names, or take one away."""
    held = members(whole)
    if chance.random() < 0.3:
        gone = chance.choice(list(held))
        return f"{gone} gone", zipped({k: v for k, v in held.items() if k != gone})
    name = chance.choice(["../out", "/tmp/out", "a" * 300, "inputs/\x1b[31m", "pruned.json/x"])
    return f"with {name[:20]!r}", zipped({**held, name: b"x"})


def _sizes(chance: random.Random, whole: bytes) -> tuple[str, bytes]:
    """Let the directory of the zip lie about sizes."""
    made = bytearray(whole)
    at = made.find(b"PK\x01\x02")
    for _ in range(chance.randrange(3)):
        at = made.find(b"PK\x01\x02", at + 1) if made.find(b"PK\x01\x02", at + 1) > 0 else at
    size = chance.choice([0, 1, 2**31, 2**32 - 2])
    struct.pack_into("<I", made, at + chance.choice([20, 24]), size)
    return f"a size of {size} at {at}", bytes(made)


def _bomb(chance: random.Random, whole: bytes) -> tuple[str, bytes]:
    held, name = members(whole), chance.choice(["pruned.json", *_ARRAYS])
    return f"{name} a bomb", zipped({**held, name: b" " * 5_000_000 + held[name]})


def _saved(value: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, value, allow_pickle=True)
    return stream.getvalue()


def _header(shape: str, dtype: str) -> bytes:
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (117 - len(text)) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


_ODD_ARRAYS: dict[str, Callable[[], bytes]] = {
    "of 10^12": lambda: _header("(1000000000000,)", "<u8"),
    "of a negative length": lambda: _header("(-1,)", "<u8"),
    "of a huge item": lambda: _header("(1,)", "|S2000000000"),
    "of deep brackets": lambda: _header("(" * 60, "<u8"),
    "of objects": lambda: _saved(np.array([_Touch()], dtype=object)),
    "of pickles": lambda: pickle.dumps(_Touch()),
    "of floats": lambda: _saved(np.ones(3)),
    "of two rows": lambda: _saved(np.ones((2, 2), dtype=np.uint64)),
    "of nothing": lambda: _saved(np.zeros(0, dtype=np.uint64)),
    "of one twice": lambda: _saved(np.zeros(5, dtype=np.uint64)),
    "empty": lambda: b"",
    "a number": lambda: _saved(np.uint64(5)),
}


def _heavy(chance: random.Random, whole: bytes) -> tuple[str, bytes]:
    """Describe what takes far more than it looks: JSON, spaces, members in other packings."""
    held = members(whole)
    if chance.random() < 0.4:
        what, held["pruned.json"] = json_bomb(chance)
        return what, zipped(held)
    about = json.loads(held["pruned.json"])
    box = {"box": [4096, 4096], "dtype": "<f4", "low": 0, "high": 1}
    count = chance.choice([1, 10, 10_000])
    about["facts"]["observation_space"] = {"tuple": [box] * count}
    packing = chance.choice([zipfile.ZIP_BZIP2, zipfile.ZIP_DEFLATED])
    return f"{count} large spaces", zipped(
        {**held, "pruned.json": json.dumps(about).encode()}, packing
    )


_CHANGES = (
    _heavy,
    _described,
    _described,
    _described,
    _damaged,
    _member,
    _array,
    _members,
    _sizes,
    _bomb,
)


def warm() -> None:
    """Import what loading needs."""
    installed().make("environment", "cartpole").task()
    installed().make("policy", "cartpole")


def attempt(path: Path) -> None:
    """Read what the file says, load it, and ask it for an action."""
    with tempfile.TemporaryDirectory(prefix="rpd-fuzz-") as folder:
        (Path(folder) / "stranger.py").write_text(small_run.STRANGER)
        sys.path.append(folder)
        try:
            file = PrunedFile(path)
            assert all(isinstance(text, str) for text in file.describe().values())
            predictor = PrunedPredictor(path)
            space = predictor.facts.observation_space
            predictor.predict(np.zeros(space.shape, dtype=space.dtype))
        finally:
            sys.path.remove(folder)
            sys.modules.pop("stranger", None)
