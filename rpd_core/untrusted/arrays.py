"""Arrays of NumPy, in pickles and in .npz files, made of the bytes that are really there."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from rpd_core.untrusted.boundary import Budget, Flaw, Refused, printable, quoted
from rpd_core.untrusted.machine import Reference, pairs
from rpd_core.untrusted.pickles import Draft
from rpd_core.untrusted.zips import BoundedZip

Array = NDArray[Any]
_CODE = re.compile(r"[biuf](1|2|4|8)|\?")
_MOST_AXES = 32
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}

# --------------------------------------------------------------------------- .npy


def read_arrays(raw: bytes, names: Iterable[str], budget: Budget) -> dict[str, Array]:
    """Return those of the named arrays that the bytes of an .npz file hold."""
    zipped = BoundedZip(io.BytesIO(raw), budget)
    wanted = [name for name in names if f"{name}.npy" in zipped.names]
    return {name: read_array(name, zipped.read(f"{name}.npy")) for name in wanted}


def read_array(name: str, raw: bytes) -> Array:
    """Return the array of an .npy file; NumPy itself makes room for any shape that it claims."""
    stream = io.BytesIO(raw)
    version = npy.read_magic(stream)
    if version not in _HEADERS:
        raise Flaw(f"the array {quoted(name)} in it has format {version}, which is not read")
    shape, fortran, dtype = _HEADERS[version](stream)
    if dtype.kind not in "biuf":
        kind = printable(str(dtype), 40)
        raise Flaw(f"the array {quoted(name)} in it is of type {kind!r}; only numbers are read")
    content = raw[stream.tell() :]
    if not all(size >= 0 for size in shape) or len(content) != math.prod(shape) * dtype.itemsize:
        raise Flaw(
            f"the array {quoted(name)} in it is of shape {printable(str(shape), 80)}, but "
            f"{len(content):,} bytes are stored for it: it is damaged, copy it again"
        )
    flat = np.frombuffer(content, dtype)
    return flat.reshape(shape, order="F" if fortran else "C")


# ------------------------------------------------------------------------ pickles


class _Dtype(Draft):
    """The type of numbers: only truth values, integers and floats."""

    __slots__ = ("code", "order")

    def __init__(self, code: Any, *rest: Any) -> None:
        if not (isinstance(code, str) and _CODE.fullmatch(code)):
            raise Refused(f"it holds an array of {_in_words(code)}; only numbers are read")
        self.code, self.order = code, "|"

    def fill(self, state: Any) -> None:
        self.order = state[1] if state[1] in ("<", ">", "=") else "|"

    def finished(self) -> np.dtype[Any]:
        return np.dtype(self.code if self.code in ("?", "b1") else self.order + self.code)


class _Array(Draft):
    """An array in the making: `_reconstruct` makes it empty, its state fills it."""

    __slots__ = ("value",)

    def __init__(self, *args: Any) -> None:
        self.value = np.zeros(0)

    def fill(self, state: Any) -> None:
        shape, dtype, fortran, data = state[-4:]
        self.value = _numbers(data, dtype, shape, "F" if fortran else "C")

    def finished(self) -> Array:
        return self.value


def _in_words(value: Any) -> str:
    """Return a value of a file in a few words; the text of a nested one may be endless."""
    if isinstance(value, str):
        return f"type {printable(value, 40)!r}"
    return f"a type that is a {type(value).__name__}"


def _numbers(data: Any, dtype: Any, shape: Any, order: str = "C") -> Array:
    if not isinstance(dtype, _Dtype):
        raise Refused(f"it holds an array of {_in_words(dtype)}; only numbers are read")
    if not isinstance(data, bytes | bytearray | str):
        raise Refused(f"it holds an array whose content is a {type(data).__name__}")
    raw = data.encode("latin1") if isinstance(data, str) else bytes(data)
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    if len(sizes) > _MOST_AXES or not all(isinstance(n, int) and n >= 0 for n in sizes):
        raise Refused("it holds an array whose shape makes no sense")
    kind, count = dtype.finished(), math.prod(sizes)
    if len(raw) != count * kind.itemsize:
        raise Refused("the size of an array does not agree with its content")
    flat = np.frombuffer(raw, kind, count)
    return flat.reshape(sizes, order="F" if order == "F" else "C").copy()


def _scalar(dtype: Any, data: Any = b"") -> Any:
    return _numbers(data, dtype, (1,))[0]


def _latin(text: Any, *encoding: Any) -> bytes:
    if not isinstance(text, str):
        raise Refused(f"it encodes a {type(text).__name__} as text")
    return text.encode("latin1")


def _dictionary(items: Any = ()) -> dict[Any, Any]:
    return pairs(items.items() if isinstance(items, dict) else items)


_SCALARS = (
    "bool_ bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 ndarray"
)
ARRAYS: dict[str, Any] = {
    "collections.OrderedDict": _dictionary,
    "_codecs.encode": _latin,
    "numpy.dtype": _Dtype,
    **{f"numpy.{name}": Reference("numpy", name) for name in _SCALARS.split()},
    **{
        f"{core}.{name}": reader
        for core in ("numpy.core", "numpy._core")
        for name, reader in (
            ("multiarray._reconstruct", _Array),
            ("multiarray.scalar", _scalar),
            ("numeric._frombuffer", _numbers),
        )
    },
}
"""What pickles of arrays may name."""
