"""Weights by name, out of the three kinds of file; nothing in a file is run."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rpd_core.errors import SpecError
from rpd_core.untrusted.arrays import (
    ARRAYS,
    TENSORS,
    Shelf,
    Storage,
    StoredTensor,
    read_array,
    stored_row,
)
from rpd_core.untrusted.boundary import Budget, Flaw, Refused, file_name, quoted
from rpd_core.untrusted.files import check_regular, open_regular, read_bounded
from rpd_core.untrusted.pickles import LARGEST_PICKLE, AllowedNames, Reference, read_pickle
from rpd_core.untrusted.zips import BoundedZip
from rpd_weights.safetensors import begins_safetensors, read_safetensors

Weights = dict[str, torch.Tensor]
_HINT = "give the .pt, .safetensors or .npz file with the weights"
_LARGEST = 2**30
_MOST_TENSORS = 10_000
_TRAINING = re.compile(r"optim(?!al)|scheduler|replay|buffer\b", re.IGNORECASE)
"""Names below which no network lies."""


def _nothing(*arguments: Any) -> None:
    """Stand for a value that is not needed."""


_NAMES = AllowedNames(
    {**ARRAYS, **TENSORS, "torch.device": _nothing, "torch.Size": lambda sizes=(): tuple(sizes)},
    lambda reference: reference,  # a note that cannot be called: settings may name anything
    stored_row,
)


def read_weights(path: Path) -> tuple[str, Weights]:
    """Return what a file is and the weights in it, those of dicts inside it as `outer.inner`."""
    check_regular(path, _HINT)
    with open_regular(path, _HINT) as stream:
        start = stream.read(16)
    try:
        if start.startswith(b"PK"):
            return _from_zip(path)
        if begins_safetensors(start):
            return "safetensors", _from_safetensors(path)
    except Flaw as error:
        raise SpecError(f"{file_name(path)}: {error}") from error
    raise SpecError(_not_weights(path, start))


def _not_weights(path: Path, start: bytes) -> str:
    name = file_name(path)
    if start.startswith(b"\x80"):
        return (
            f"{name} is a pickle, as torch wrote before 1.6 and others still do, which is not "
            "read: load it where it was made and save its state dict with torch.save"
        )
    return f"{name} holds no weights that are known: {_HINT}"


def _from_safetensors(path: Path) -> Weights:
    arrays = read_safetensors(read_bounded(path, Budget(_LARGEST), _HINT))
    if len(arrays) > _MOST_TENSORS:
        raise Flaw(f"it holds more than {_MOST_TENSORS:,} arrays: refused")
    ordered = sorted(arrays, key=_natural)  # the format itself keeps no order
    return {n: _row(arrays[n].raw, arrays[n].kind).reshape(arrays[n].shape) for n in ordered}


def _natural(name: str) -> list[tuple[int, str]]:
    """Return what sorts `fc10` behind `fc9`."""
    return [(int(part[:18]), "") if part.isdecimal() else (-1, part) for part in
            re.split(r"(\d+)", name)]  # fmt: skip


def _from_zip(path: Path) -> tuple[str, Weights]:
    try:
        with open_regular(path, _HINT) as stream:
            zipped = BoundedZip(stream, Budget(_LARGEST))
            if all(name.endswith(".npy") for name in zipped.names):
                return "NumPy archive", _from_arrays(zipped)
            return "torch file", _from_torch(path, zipped)
    except zipfile.BadZipFile as error:
        raise Flaw("it is a zip file that is damaged or was cut short: copy it again") from error


def _from_arrays(zipped: BoundedZip) -> Weights:
    found: Weights = {}
    _check_count(zipped.names)
    for member in zipped.names:
        name = member.removesuffix(".npy")
        values = read_array(name, zipped.read(member))
        if values.dtype.kind in "biuf":
            little = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<")))
            found[name.replace("/", ".")] = torch.from_numpy(_signed(little).copy())
    return found


def _signed(values: Any) -> Any:
    """Return whole numbers in a type that torch computes with."""
    return values.astype(np.int64) if values.dtype.kind == "u" else values


def _from_torch(path: Path, zipped: BoundedZip) -> Weights:
    folders = [name.removesuffix("data.pkl") for name in zipped.names if name.endswith("/data.pkl")]
    if len(folders) != 1 or any("/code/" in name for name in zipped.names):
        raise Flaw(f"it is a zip file, but not one of weights: {_HINT}")
    folder = folders[0]
    order = f"{folder}byteorder"
    if order in zipped.names and zipped.read(order, 100) != b"little":
        raise Flaw("its weights were saved on a big-endian machine: save it on another")
    described = _described(path, zipped.read(f"{folder}data.pkl", LARGEST_PICKLE), zipped.budget)

    def fetch(storage: Storage) -> bytes:
        name = f"{folder}data/{storage.key}"
        if name not in zipped.names:
            raise Flaw(f"the numbers {quoted(storage.key)} of its weights are gone: copy it again")
        return zipped.read(name, storage.size)

    shelf = Shelf(fetch, _row)
    stored = dict(_flat(described, ""))
    _check_count(stored)
    return {name: shelf.tensor(one, quoted(name)).contiguous() for name, one in stored.items()}


def _described(path: Path, pickled: bytes, budget: Budget) -> Any:
    try:
        return read_pickle(io.BytesIO(pickled), _NAMES, budget)
    except Refused as error:
        name = file_name(path)
        raise Flaw(
            f"it is more than weights, {error}: save module.state_dict() with torch.save, or, if "
            f"you trust whoever made it, torchscript:{name},trust=true loads a whole module"
        ) from error


def _flat(value: Any, name: str) -> Iterable[tuple[str, StoredTensor]]:
    """Yield the tensors inside dicts, lists and tuples by the names that lead to them."""
    if isinstance(value, StoredTensor):
        yield name or "tensor", value
    elif isinstance(value, dict | list | tuple) and not _TRAINING.search(name):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            if not isinstance(item, Reference):
                yield from _flat(item, f"{name}.{key}" if name else str(key))


def _check_count(names: Any) -> None:
    if len(names) > _MOST_TENSORS:
        raise Flaw(f"it holds more than {_MOST_TENSORS:,} tensors: refused")


def _row(raw: bytes, kind: str) -> torch.Tensor:
    if kind == "bool":  # other bytes than 0 and 1 are no truth values
        return _row(raw, "uint8") != 0
    dtype: torch.dtype = getattr(torch, kind)
    return torch.frombuffer(bytearray(raw), dtype=dtype) if raw else torch.empty(0, dtype=dtype)
