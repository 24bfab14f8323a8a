"""Whether the tensors that a TorchScript file describes lie inside the bytes that it holds.

torch believes sizes, strides and offsets as they are written, so a lying file would give tensors
over memory that is not theirs. The pickle is replayed with inert stand-ins for every name.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rpd_core.errors import FitError, one_line
from rpd_torchscript.archive import is_loaded

_BYTES = {
    "Double": 8, "Long": 8, "Float": 4, "Int": 4, "Half": 2, "BFloat16": 2, "Short": 2,
    "Char": 1, "Byte": 1, "Bool": 1,
}  # fmt: skip


class _Inert:
    """Takes whatever a pickle does to an object and does nothing."""

    def __init__(self, *arguments: Any, **options: Any) -> None: ...
    def __setstate__(self, state: Any) -> None: ...
    def __setitem__(self, key: Any, value: Any) -> None: ...
    def append(self, value: Any) -> None: ...
    def extend(self, values: Any) -> None: ...


@dataclass(frozen=True)
class _Storage:
    count: int


def check_tensors(path: Path, members: Mapping[str, bytes]) -> None:
    """Refuse a file whose tensors reach beyond the bytes of their storage."""
    for name, data in members.items():
        if not name.endswith(".pkl") or not is_loaded(name):
            continue
        folder = name.removesuffix(".pkl")
        try:
            _Replay(data, folder, members).load()
        except _Beyond as error:
            raise FitError(
                f"{path.name} describes {error}, which is more than it holds: refused, it is "
                "damaged or made to do harm"
            ) from error
        except Exception as error:  # a damaged pickle may raise anything
            raise FitError(f"{str(path)!r} is damaged: {one_line(error)}") from error


class _Beyond(Exception):
    """A tensor or a storage is larger than the bytes behind it."""


class _Replay(pickle.Unpickler):
    """Goes through a pickle and creates nothing but stand-ins."""

    def __init__(self, data: bytes, folder: str, members: Mapping[str, bytes]) -> None:
        super().__init__(io.BytesIO(data))
        self.folder, self.members = folder, members

    def find_class(self, module: str, name: str) -> Any:
        if name.endswith("Storage") and module == "torch":
            return type(name, (_Inert,), {"width": _BYTES[name.removesuffix("Storage")]})
        return _checked_tensor if name == "_rebuild_tensor_v2" else _Inert

    def persistent_load(self, identity: Any) -> _Storage:
        kind, storage, key, _, count = identity
        held = self.members.get(f"{self.folder}/{key}", b"")
        if kind != "storage" or not 0 <= count * storage.width <= len(held):
            raise _Beyond(f"a storage of {count} numbers in {len(held)} bytes")
        return _Storage(int(count))


def _checked_tensor(
    storage: _Storage, offset: int, size: Sequence[int], stride: Sequence[int], *rest: Any
) -> _Inert:
    if offset < 0 or len(size) != len(stride) or min([0, *size, *stride]) < 0:
        raise _Beyond(f"a tensor of size {tuple(size)} at {offset}")
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if 0 not in size and last >= storage.count:
        raise _Beyond(f"a tensor up to number {last} of {storage.count}")
    return _Inert()
