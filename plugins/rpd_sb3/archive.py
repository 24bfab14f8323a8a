"""The zip that stable-baselines3 writes, opened without running anything in it."""

from __future__ import annotations

import base64
import binascii
import io
import json
import pickle
import re
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from rpd_core.errors import SpecError, one_line
from rpd_sb3.pickles import Refused, printable

_DAMAGE = (
    zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError,
    NotImplementedError,
)  # fmt: skip
_WANTED = re.compile(r"GLOBAL ([\w.]+)")
Weights = dict[str, torch.Tensor]

TRUST = "if you trust the file, trust=true in the spec or --trust-policy loads it in full"


_LARGEST = 2**30
"""Bytes of settings and weights together; zips of other people may be bombs."""


@dataclass(frozen=True)
class Archive:
    """What a saved model holds that is needed to act."""

    path: Path
    data: dict[str, Any]
    """The settings; values that are no JSON carry a pickle that is only read when needed."""
    weights: Weights
    """The state dict of the policy, on the CPU."""
    version: str
    """The version of stable-baselines3 that saved it."""

    def error(self, text: str) -> SpecError:
        """Return an error that names the file."""
        return SpecError(f"{self.path.name}: {printable(text)}")

    def pickled(self, field: str) -> bytes:
        """Return the pickle of a setting."""
        entry = self.data.get(field)
        if not isinstance(entry, dict) or not isinstance(entry.get(":serialized:"), str):
            raise self.error(f"holds no {field!r}: save the model again with model.save")
        try:
            return base64.b64decode(entry[":serialized:"])
        except (binascii.Error, ValueError) as error:
            raise self.error(f"the {field!r} in it is damaged: save the model again") from error

    def refused(self, field: str, error: Refused) -> SpecError:
        """Return the error for a pickle that was not read."""
        return self.error(f"the {field} in it was not read: {error}; {TRUST}")


def open_archive(path: Path) -> Archive:
    """Read the settings and the weights, or say in one line what the file is instead."""
    if path.is_dir():
        raise SpecError(f"{path.name!r} is a directory: give the .zip file that model.save wrote")
    if not path.is_file():
        raise SpecError(f"{str(path)!r} does not exist: check the path")
    if not zipfile.is_zipfile(path):
        raise SpecError(_no_zip(path))
    try:
        with zipfile.ZipFile(path) as zipped:
            names = set(zipped.namelist())
            _check_members(path, names)
            _check_size(path, zipped)
            settings = json.loads(zipped.read("data"))
            weights = _weights(path, zipped.read("policy.pth"))
            stored = "_stable_baselines3_version"
            version = zipped.read(stored).decode().strip() if stored in names else "unknown"
    except _DAMAGE as error:
        raise SpecError(f"{path.name} is damaged ({one_line(error)}): copy it again") from error
    if not isinstance(settings, dict):
        raise SpecError(f"{path.name} is damaged: its settings are no JSON object; save it again")
    return Archive(path, settings, weights, version)


def _check_size(path: Path, zipped: zipfile.ZipFile) -> None:
    """Refuse settings and weights that would fill the memory."""
    size = sum(zipped.getinfo(name).file_size for name in ("data", "policy.pth"))
    if size > _LARGEST:
        raise SpecError(f"{path.name} unpacks to {size / 2**30:.1f} GB, more than 1 GB: refused")


def _check_members(path: Path, names: set[str]) -> None:
    if {"data", "policy.pth"} <= names:
        return
    if _first_member(path) not in names:  # only a zip inside it, the weights, is whole
        raise SpecError(_cut_short(path))
    folders = {name.partition("/")[2] for name in names}
    if "constants.pkl" in folders:
        raise SpecError(f"{path.name} is a TorchScript file: use torchscript:{path.name}")
    if "data.pkl" in folders:
        raise SpecError(_weights_only(path))
    if any(name.endswith("/policy.pth") for name in names):
        raise SpecError(
            f"{path.name} holds a folder with a model in it: zip the content of the folder instead"
        )
    found = printable(", ".join(sorted(names)[:5]), 200) or "nothing"
    raise SpecError(
        f"{path.name} is no stable-baselines3 file: it holds {found} where 'data' and "
        "'policy.pth' are needed; give the .zip that model.save wrote"
    )


def _weights_only(path: Path) -> str:
    return (
        f"{path.name} holds weights alone, without spaces and settings: save the whole model with "
        "model.save('model.zip') and give that"
    )


def _cut_short(path: Path) -> str:
    return f"{path.name} is a zip file that was cut short: copy it again"


def _first_member(path: Path) -> str:
    """Return the name with which the file itself begins, whatever its directory says."""
    with path.open("rb") as stream:
        header = stream.read(30)
        length = int.from_bytes(header[26:28], "little")
        return stream.read(length).decode("utf-8", "replace")


def _no_zip(path: Path) -> str:
    with path.open("rb") as stream:
        start = stream.read(4)
    if start == b"PK\x03\x04":
        return _cut_short(path)
    if start[:1] == b"\x80":
        return f"{path.name} is a pickle, no zip: save the whole model with model.save('model.zip')"
    return f"{path.name} is no zip file: give the .zip that model.save of stable-baselines3 wrote"


def _weights(path: Path, raw: bytes) -> Weights:
    try:
        found = torch.load(io.BytesIO(raw), map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        wanted = _WANTED.search(one_line(error))
        what = f"want {wanted.group(1)}" if wanted else "are no plain tensors"
        raise SpecError(
            f"{path.name}: the weights in it {what}, which is never loaded: save the model again"
        ) from error
    if not isinstance(found, dict) or not all(
        isinstance(value, torch.Tensor) for value in found.values()
    ):
        raise SpecError(f"{path.name}: policy.pth in it is no state dict; save the model again")
    return dict(found)
