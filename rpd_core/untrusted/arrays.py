"""Arrays of NumPy and tensors of torch, made of the bytes that are really there.

What torch checks of a file differs from version to version; some take sixteen stored bytes for a
whole layer and read on beyond them. Here each tensor's type, size, offset and strides must lie
within the bytes that are stored. Torch itself is not needed: a loader makes numbers of bytes.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib import format as npy

from rpd_core.plugin.protocols.arrays import Array
from rpd_core.untrusted.boundary import Budget, Flaw, Refused, printable, quoted
from rpd_core.untrusted.pickles import Draft, Reference, pairs
from rpd_core.untrusted.zips import BoundedZip

_CODE = re.compile(r"[biuf](1|2|4|8)|\?")
_MOST_AXES = 32
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}

# --------------------------------------------------------------------------- .npy


def read_arrays(raw: bytes, names: Iterable[str], budget: Budget) -> dict[str, Array]:
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


# ---------------------------------------------------------------- arrays in pickles


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


_MOST_TENSOR_AXES = 16
_LARGEST = 2**40  # bounds every size, stride and offset, and empty tensors, which need no bytes


@dataclass(frozen=True)
class NumberKind:
    """A type of numbers."""

    name: str
    """As torch calls it, for example `float32`."""
    width: int
    """Bytes of one number."""


@dataclass(frozen=True)
class Storage:
    """A row of numbers that tensors are cut from."""

    key: str
    kind: NumberKind
    count: int

    @property
    def size(self) -> int:
        return self.count * self.kind.width


@dataclass(frozen=True)
class StoredTensor:
    """What a file says about one tensor."""

    storage: Storage
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]


class Shelf:
    """Makes the tensors of one file; those that share numbers go on sharing."""

    def __init__(
        self, fetch: Callable[[Storage], bytes], row: Callable[[bytes, str], Any], repeats: int = 0
    ) -> None:
        self.fetch, self.row = fetch, row
        """What returns the bytes of a storage; what makes numbers of bytes and a type's name."""
        self.repeats = repeats
        """Most numbers of a tensor that uses some several times; 0: none does."""
        self.rows: dict[str, tuple[Storage, Any]] = {}
        self.finite: dict[str, bool] = {}
        """Rows that were searched, and whether all of their numbers are finite."""

    def tensor(self, stored: StoredTensor, name: str = "") -> Any:
        """Return the tensor of a description; `name` is for errors."""
        what = f"the weights {name}".rstrip()
        storage = stored.storage
        _check_extent(stored, max(storage.count, self.repeats), what)
        if storage.key not in self.rows:
            self.rows[storage.key] = storage, self._read(storage, what)
        first, row = self.rows[storage.key]
        if first != storage:
            raise Flaw(f"{what} in it are described in two ways: it is damaged, copy it again")
        return row.as_strided(stored.size, stored.stride, stored.offset)

    def is_finite(self, stored: StoredTensor, test: Callable[[Any], bool], budget: Budget) -> bool:
        """Return whether all numbers of a tensor that was made are finite, as `test` finds out."""
        # Thousands of tensors may show the same numbers, so a row is searched once, and only where
        # it has others does a tensor that is cut from it have to be searched itself.
        key = stored.storage.key
        row = self.rows[key][1]
        if key not in self.finite:
            self.finite[key] = test(row)
        if not self.finite[key]:
            budget.take_made(math.prod(stored.size) * stored.storage.kind.width)
        return self.finite[key] or test(row.as_strided(stored.size, stored.stride, stored.offset))

    def _read(self, storage: Storage, what: str) -> Any:
        raw = self.fetch(storage)
        if len(raw) != storage.size:
            raise Flaw(
                f"{what} in it need {storage.size:,} bytes, but {len(raw):,} are stored: it is "
                "damaged, copy it again"
            )
        return self.row(raw, storage.kind.name)


def _check_extent(stored: StoredTensor, most: int, what: str) -> None:
    """Refuse a tensor that reaches beyond its numbers, or has more of them than it may."""
    held, elements = stored.storage.count, math.prod(stored.size)
    steps = zip(stored.size, stored.stride, strict=True)
    last = stored.offset + sum((size - 1) * stride for size, stride in steps)
    widest = math.prod(max(size, 1) for size in stored.size)
    if elements > most or widest > _LARGEST or (last >= held if elements else stored.offset > held):
        raise Flaw(
            f"{what} in it are of size {stored.size}, but only {held:,} numbers are stored for "
            "them: it is damaged, copy it again"
        )


# --------------------------------------------------------------- tensors in pickles


def stored_row(identifier: Any) -> Storage:
    """Return the row of numbers that a pickle refers to."""
    if not isinstance(identifier, tuple) or len(identifier) < 5 or identifier[0] != "storage":
        raise Refused("it wants something from outside that is not a row of numbers")
    _, kind, key, _, count, *view = identifier
    if not (isinstance(kind, NumberKind) and isinstance(key, str) and _is_size(count)):
        raise Refused("it describes a row of numbers that makes no sense")
    if any(part is not None for part in view):
        raise Refused("it describes a part of a row of numbers, as only very old files do")
    return Storage(key, kind, count)


def _tensor(storage: Any, offset: Any, size: Any, stride: Any, *rest: Any) -> StoredTensor:
    plain = isinstance(size, tuple) and isinstance(stride, tuple)
    if not (plain and isinstance(storage, Storage) and _is_size(offset)):
        raise Refused("it describes a tensor that makes no sense")
    if (
        len(size) != len(stride)
        or len(size) > _MOST_TENSOR_AXES
        or not all(map(_is_size, size + stride))
    ):
        raise Refused("it describes a tensor whose size makes no sense")
    return StoredTensor(storage, offset, size, stride)


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value < _LARGEST


_KINDS = {
    "Bool": NumberKind("bool", 1),
    "Byte": NumberKind("uint8", 1),
    "Char": NumberKind("int8", 1),
    "Short": NumberKind("int16", 2),
    "Int": NumberKind("int32", 4),
    "Long": NumberKind("int64", 8),
    "Half": NumberKind("float16", 2),
    "BFloat16": NumberKind("bfloat16", 2),
    "Float": NumberKind("float32", 4),
    "Double": NumberKind("float64", 8),
}
TENSORS: dict[str, Any] = {
    "collections.OrderedDict": lambda *items: pairs(*items) if items else {},
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_parameter": lambda tensor, *rest: tensor,
    **{f"torch.{name}Storage": kind for name, kind in _KINDS.items()},
}
"""What pickles of tensors may name."""
