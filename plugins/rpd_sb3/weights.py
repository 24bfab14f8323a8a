"""The weights in a saved model: tensors made from checked bytes, without torch's own reader.

What torch checks of a file differs from version to version; some take sixteen stored bytes for a
whole layer and read on beyond them. Here each tensor's type, size, offset and strides must lie
within the bytes that are really there.
"""

from __future__ import annotations

import io
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from rpd_core.untrusted.boundary import Flaw, printable
from rpd_core.untrusted.machine import Refused, pairs
from rpd_core.untrusted.zips import BoundedZip
from rpd_sb3.pickles import read_stream

Weights = dict[str, torch.Tensor]

_TYPES = {
    "Bool": torch.bool,
    "Byte": torch.uint8,
    "Char": torch.int8,
    "Short": torch.int16,
    "Int": torch.int32,
    "Long": torch.int64,
    "Half": torch.float16,
    "BFloat16": torch.bfloat16,
    "Float": torch.float32,
    "Double": torch.float64,
}
_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_LEGACY_PROTOCOL = 1001
_MOST_AXES = 16
_LARGEST_PICKLE = 2**25
_DIVERGED = "its training diverged, use an earlier checkpoint"


@dataclass(frozen=True)
class _Storage:
    """A row of numbers that tensors are cut from."""

    key: str
    dtype: torch.dtype
    count: int

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        return self.count * self.dtype.itemsize


@dataclass(frozen=True)
class _Tensor:
    """What the file says about one tensor."""

    storage: _Storage
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]


def read_weights(raw: bytes, budget: int) -> Weights:
    """Return the state dict in the bytes of `policy.pth`, each tensor checked.

    `budget` bounds the bytes that unpack from it.
    """
    if raw[:4] == b"PK\x03\x04":
        described, fetch = _open_zip(raw, budget)
    else:
        described, fetch = _open_legacy(raw)
    if not isinstance(described, dict) or not all(
        isinstance(name, str) and isinstance(value, _Tensor) for name, value in described.items()
    ):
        raise Flaw("policy.pth in it is not a state dict; save the model again")
    rows: dict[_Storage, torch.Tensor] = {}
    return {name: _made(name, value, rows, fetch) for name, value in described.items()}


# ------------------------------------------------------------------ the two formats

Fetch = Callable[[_Storage], bytes]
"""Returns the bytes that are kept for a storage."""


def _open_zip(raw: bytes, budget: int) -> tuple[Any, Fetch]:
    zipped = BoundedZip(io.BytesIO(raw), budget)
    folders = [name.removesuffix("data.pkl") for name in zipped.names if name.endswith("/data.pkl")]
    if len(folders) != 1:
        raise Flaw("policy.pth in it holds no weights; save the model again")
    folder = folders[0]
    order = f"{folder}byteorder"
    if order in zipped.names and zipped.read(order, 100) != b"little":
        raise Flaw("its weights were saved on a big-endian machine: save it on another")

    def fetch(storage: _Storage) -> bytes:
        name = f"{folder}data/{storage.key}"
        if name not in zipped.names:
            raise Flaw(f"the numbers {printable(storage.key, 40)!r} of its weights are gone")
        return zipped.read(name, storage.size)

    return _described(io.BytesIO(zipped.read(f"{folder}data.pkl", _LARGEST_PICKLE))), fetch


def _open_legacy(raw: bytes) -> tuple[Any, Fetch]:
    """Read what torch wrote before 1.6: pickles one after the other, then the numbers."""
    stream = io.BytesIO(raw)
    if _described(stream) != _LEGACY_MAGIC or _described(stream) != _LEGACY_PROTOCOL:
        raise Flaw("policy.pth in it is not a file of torch.save; save the model again")
    _described(stream)  # about the machine that wrote it
    described, keys = _described(stream), _described(stream)
    if not isinstance(keys, list) or len(set(map(str, keys))) != len(keys):
        raise Flaw("policy.pth in it is damaged; save the model again")
    tensors = described.values() if isinstance(described, dict) else ()
    storages = {t.storage.key: t.storage for t in tensors if isinstance(t, _Tensor)}
    found: dict[str, bytes] = {}
    for key in keys:
        (count,) = struct.unpack("<q", stream.read(8))
        known = storages.get(key) if isinstance(key, str) else None
        if known is None or count != known.count:
            raise Flaw("the numbers of its weights are not those that it lists: damaged")
        found[key] = stream.read(known.size)
    return described, lambda storage: found.get(storage.key, b"")


def _described(stream: io.BytesIO) -> Any:
    try:
        return read_stream(stream, _KNOWN, outside=_storage)
    except Refused as error:
        raise Flaw(
            f"the weights in it are never loaded as they are, {error}: save the model again"
        ) from error


def _storage(identifier: Any) -> _Storage:
    if not isinstance(identifier, tuple) or len(identifier) < 5 or identifier[0] != "storage":
        raise Refused("it wants something from outside that is not a row of numbers")
    _, dtype, key, _, count, *view = identifier
    if not (isinstance(dtype, torch.dtype) and isinstance(key, str) and _is_size(count)):
        raise Refused("it describes a row of numbers that makes no sense")
    if any(part is not None for part in view):
        raise Refused("it describes a part of a row of numbers, as only very old files do")
    return _Storage(key, dtype, count)


def _tensor(storage: Any, offset: Any, size: Any, stride: Any, *rest: Any) -> _Tensor:
    plain = isinstance(size, tuple) and isinstance(stride, tuple)
    if not (plain and isinstance(storage, _Storage) and _is_size(offset)):
        raise Refused("it describes a tensor that makes no sense")
    if len(size) != len(stride) or len(size) > _MOST_AXES or not all(map(_is_size, size + stride)):
        raise Refused("it describes a tensor whose size makes no sense")
    return _Tensor(storage, offset, size, stride)


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and 0 <= value < 2**40


def _parameter(tensor: Any, *rest: Any) -> Any:
    return tensor


_KNOWN: dict[str, Any] = {
    "collections.OrderedDict": lambda *items: pairs(*items) if items else {},
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_parameter": _parameter,
    **{f"torch.{name}Storage": dtype for name, dtype in _TYPES.items()},
}


# ------------------------------------------------------------------------- checks


def _made(
    name: str, tensor: _Tensor, rows: dict[_Storage, torch.Tensor], fetch: Fetch
) -> torch.Tensor:
    _check_extent(name, tensor)
    storage = tensor.storage
    if storage not in rows:
        rows[storage] = _row(name, storage, fetch(storage))
    values = rows[storage].as_strided(tensor.size, tensor.stride, tensor.offset)
    check_finite(name, values)
    return values


def _check_extent(name: str, tensor: _Tensor) -> None:
    """Refuse a tensor that reaches beyond its numbers, or uses some of them several times."""
    elements = math.prod(tensor.size)
    steps = zip(tensor.size, tensor.stride, strict=True)
    last = tensor.offset + sum((size - 1) * stride for size, stride in steps)
    if elements > tensor.storage.count or (elements and last >= tensor.storage.count):
        raise Flaw(
            f"the weights {printable(name, 80)!r} in it are of size {tensor.size}, but only "
            f"{tensor.storage.count:,} numbers are stored for them: it is damaged, copy it again"
        )


def _row(name: str, storage: _Storage, raw: bytes) -> torch.Tensor:
    if len(raw) != storage.size:
        raise Flaw(
            f"the weights {printable(name, 80)!r} in it need {storage.size:,} bytes, but "
            f"{len(raw):,} are stored: it is damaged, copy it again"
        )
    if not raw:
        return torch.empty(0, dtype=storage.dtype)
    return torch.frombuffer(bytearray(raw), dtype=storage.dtype)


def check_finite(name: str, values: torch.Tensor) -> None:
    """Refuse weights that are not numbers: the policy would act, but on nothing."""
    if values.is_floating_point() and not bool(torch.isfinite(values).all()):
        raise Flaw(
            f"the weights {printable(name, 80)!r} in it are not all finite numbers: {_DIVERGED}"
        )
