"""The weights in a saved model: tensors made from checked bytes, without torch's own reader."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from typing import Any

import torch

from rpd_core.untrusted.arrays import TENSORS, Shelf, Storage, StoredTensor, stored_row
from rpd_core.untrusted.boundary import Budget, Flaw, Refused, quoted
from rpd_core.untrusted.pickles import LARGEST_PICKLE, AllowedNames, read_pickle
from rpd_core.untrusted.zips import BoundedZip

Weights = dict[str, torch.Tensor]
Fetch = Callable[[Storage], bytes]
"""Returns the bytes that are kept for a row of numbers."""

_NAMES = AllowedNames(TENSORS, outside=stored_row)
_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_LEGACY_PROTOCOL = 1001
_DIVERGED = "its training diverged, use an earlier checkpoint"


def read_weights(raw: bytes, budget: Budget) -> Weights:
    """Return the state dict in the bytes of `policy.pth`, each tensor checked."""
    if raw[:4] == b"PK\x03\x04":
        return state_dict(*open_zip(BoundedZip(io.BytesIO(raw), budget)), budget)
    return state_dict(*_open_legacy(raw, budget), budget)


def state_dict(described: Any, fetch: Fetch, budget: Budget) -> Weights:
    """Return the tensors of a description, each checked."""
    if not isinstance(described, dict) or not all(
        isinstance(n, str) and isinstance(v, StoredTensor) for n, v in described.items()
    ):
        raise Flaw("policy.pth in it is not a state dict; save the model again")
    shelf = Shelf(fetch, _row)
    weights: Weights = {}
    for name, stored in described.items():
        weights[name] = shelf.tensor(stored, quoted(name))
        if not shelf.is_finite(stored, _is_finite, budget):
            raise Flaw(f"the weights {quoted(name)} in it are not all finite numbers: {_DIVERGED}")
    return weights


def _row(raw: bytes, kind: str) -> torch.Tensor:
    if kind == "bool":  # other bytes than 0 and 1 are no truth values
        return _row(raw, "uint8") != 0
    dtype: torch.dtype = getattr(torch, kind)
    return torch.frombuffer(bytearray(raw), dtype=dtype) if raw else torch.empty(0, dtype=dtype)


# ------------------------------------------------------------------ the two formats


def open_zip(zipped: BoundedZip, names: AllowedNames = _NAMES) -> tuple[Any, Fetch]:
    """Return what a file of torch describes, and what fetches the numbers behind it."""
    folders = [name.removesuffix("data.pkl") for name in zipped.names if name.endswith("/data.pkl")]
    if len(folders) != 1:
        raise Flaw("policy.pth in it holds no weights; save the model again")
    folder = folders[0]
    order = f"{folder}byteorder"
    if order in zipped.names and zipped.read(order, 100) != b"little":
        raise Flaw("its weights were saved on a big-endian machine: save it on another")

    def fetch(storage: Storage) -> bytes:
        name = f"{folder}data/{storage.key}"
        if name not in zipped.names:
            raise Flaw(f"the numbers {quoted(storage.key)} of its weights are gone")
        return zipped.read(name, storage.size)

    pickled = io.BytesIO(zipped.read(f"{folder}data.pkl", LARGEST_PICKLE))
    return _described(pickled, zipped.budget, names), fetch


def _open_legacy(raw: bytes, budget: Budget) -> tuple[Any, Fetch]:
    """Read what torch wrote before 1.6: pickles one after the other, then the numbers."""
    stream = io.BytesIO(raw)
    magic, protocol = (_described(stream, budget) for _ in range(2))
    if (magic, protocol) != (_LEGACY_MAGIC, _LEGACY_PROTOCOL):
        raise Flaw("policy.pth in it is not a file of torch.save; save the model again")
    _, described, keys = (_described(stream, budget) for _ in range(3))  # first: the machine
    if not isinstance(keys, list) or len(set(map(str, keys))) != len(keys):
        raise Flaw("policy.pth in it is damaged; save the model again")
    tensors = described.values() if isinstance(described, dict) else ()
    storages = {t.storage.key: t.storage for t in tensors if isinstance(t, StoredTensor)}
    found: dict[str, bytes] = {}
    for key in keys:
        (count,) = struct.unpack("<q", stream.read(8))
        known = storages.get(key) if isinstance(key, str) else None
        if known is None or count != known.count:
            raise Flaw("the numbers of its weights are not those that it lists: damaged")
        found[key] = stream.read(known.size)
    return described, lambda storage: found.get(storage.key, b"")


def _described(stream: io.BytesIO, budget: Budget, names: AllowedNames = _NAMES) -> Any:
    try:
        return read_pickle(stream, names, budget)
    except Refused as error:
        raise Flaw(
            f"the weights in it are never loaded as they are, {error}: save the model again"
        ) from error


def _is_finite(values: torch.Tensor) -> bool:
    return not values.is_floating_point() or bool(torch.isfinite(values).all())
