"""TorchScript archives written by hand, so that they can say what torch would never write."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

_TYPES = {"f4": "FloatStorage", "f8": "DoubleStorage", "i8": "LongStorage", "u1": "ByteStorage"}


def text(value: str) -> bytes:
    raw = value.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def whole(value: int) -> bytes:
    return b"\x8a\x08" + struct.pack("<q", value)


def name(module: str, word: str) -> bytes:
    return f"c{module}\n{word}\n".encode()


def wholes(values: tuple[int, ...]) -> bytes:
    return b"(" + b"".join(map(whole, values)) + b"t"


def tensor(
    key: str,
    shape: tuple[int, ...],
    kind: str = "FloatStorage",
    count: int | None = None,
    strides: tuple[int, ...] | None = None,
    offset: int = 0,
) -> bytes:
    """Describe a tensor; nothing of what it says need be true."""
    steps = strides or tuple(int(np.prod(shape[place + 1 :])) for place in range(len(shape)))
    held = int(np.prod(shape)) if count is None else count
    storage = b"(" + text("storage") + name("torch", kind) + text(key) + text("cpu") + whole(held)
    return (
        name("torch._utils", "_rebuild_tensor_v2")
        + b"("
        + storage
        + b"tQ"
        + whole(offset)
        + wholes(shape)
        + wholes(steps)
        + b"\x89"
        + name("collections", "OrderedDict")
        + b")Rt"
        + b"R"
    )


def record(kind: str, attributes: Mapping[str, bytes]) -> bytes:
    """Pickle an object of one of the file's classes."""
    module, _, word = kind.rpartition(".")
    items = b"".join(text(key) + value for key, value in attributes.items())
    return name(module, word) + b")\x81}(" + items + b"ub"


def module_code(body: str, fields: str = "", more: str = "") -> str:
    """Write a class `Net` whose forward has this body."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    declared = "".join(f"  {line}\n" for line in fields.splitlines())
    return (
        "class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n"
        f"{declared}  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n{lines}{more}"
    )


def write(path: Path, members: Mapping[str, bytes | str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in members.items():
            archive.writestr(f"net/{member}", content)
    return path


def members(
    code: str, attributes: Mapping[str, bytes] | None = None, **arrays: np.ndarray
) -> dict[str, bytes | str]:
    """Return the members of an archive; arrays become attributes of their names."""
    state = {"training": b"\x89", **(attributes or {})}
    data: dict[str, bytes | str] = {}
    for number, (key, array) in enumerate(arrays.items()):
        data[f"data/{number}"] = array.tobytes()
        state[key] = tensor(str(number), array.shape, _TYPES[array.dtype.str[1:]])
    return {
        **data,
        "data.pkl": b"\x80\x02" + record("__torch__.Net", state) + b".",
        "code/__torch__.py": code,
        "constants.pkl": b"\x80\x02).",
        "version": "10\n",
        "byteorder": "little",
    }


def hostile(path: Path, body: str, fields: str = "", more: str = "", **arrays: Any) -> Path:
    """Write an archive whose forward has this body."""
    return write(path, members(module_code(body, fields, more), **arrays))
