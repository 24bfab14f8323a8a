"""The zip that stable-baselines3 writes, opened without running anything in it."""

from __future__ import annotations

import base64
import binascii
import zipfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rpd_core.errors import RpdError, SpecError, one_line
from rpd_core.untrusted.boundary import Budget, Flaw, Refused, file_name, printable
from rpd_core.untrusted.files import check_regular, open_regular, read_json
from rpd_core.untrusted.zips import BoundedZip
from rpd_sb3.pickles import read
from rpd_sb3.policy_file import read_policy
from rpd_sb3.weights import Weights, read_weights

TRUST = "if you trust the file, trust=true in the spec or --trust-policy loads it in full"
_HINT = "give the .zip file that model.save wrote"
_LARGEST = 2**30
"""Bytes of settings and weights together; zips of other people may be bombs."""
_LARGEST_SETTINGS = 2**25
"""Bytes of settings: JSON takes many times its size in memory."""


@dataclass(frozen=True)
class Archive:
    """What a saved model holds that is needed to act."""

    path: Path
    data: dict[str, Any]
    """The settings; values that are not JSON carry a pickle that is only read when needed."""
    weights: Weights
    """The state dict of the policy, on the CPU."""
    version: str
    """The version of stable-baselines3 that saved it."""
    budget: Budget
    """What is left for reading the pickles among the settings."""
    alone: bool = False
    """Whether it is a policy without its model, which does not say its algorithm."""

    def error(self, text: str) -> SpecError:
        """Return an error that names the file."""
        return SpecError(f"{file_name(self.path)}: {printable(text)}")

    def pickled(self, field: str, lenient: bool = False) -> Any:
        """Return what the pickle of a setting holds."""
        if self.alone:
            return self.data[field]
        return read(self._pickle(field), self.budget, lenient=lenient)

    def _pickle(self, field: str) -> bytes:
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
    check_regular(path, _HINT)
    try:
        with open_regular(path, _HINT) as stream:
            if not zipfile.is_zipfile(stream):
                raise SpecError(_not_a_zip(path))
            return _read(path, BoundedZip(stream, Budget(2 * _LARGEST)))
    except Flaw as error:
        raise SpecError(f"{file_name(path)}: {error}") from error
    except RpdError:
        raise
    except Exception as error:  # zipfile, zlib and json raise many kinds for a damaged file
        reason = printable(one_line(error), 200)
        raise SpecError(f"{file_name(path)} is damaged ({reason}): copy it again") from error


def _read(path: Path, zipped: BoundedZip) -> Archive:
    if any(name.endswith("/data.pkl") for name in zipped.names):
        policy = None if _is_script(zipped.names) else read_policy(zipped)
        if policy is not None:
            return Archive(path, *policy, "unknown", zipped.budget, alone=True)
    _check_members(path, zipped.names)
    _check_size(path, zipped)
    settings = read_json(zipped.read("data", _LARGEST_SETTINGS), zipped.budget)
    if not isinstance(settings, dict):
        raise Flaw("it is damaged: its settings are not a JSON object; save it again")
    weights = read_weights(zipped.read("policy.pth", _LARGEST), zipped.budget)
    stored = "_stable_baselines3_version"
    version = zipped.read(stored, 1000) if stored in zipped.names else b"unknown"
    said = version.decode("utf-8", "replace").strip()
    return Archive(path, settings, weights, said, zipped.budget)


def _check_size(path: Path, zipped: BoundedZip) -> None:
    """Refuse settings and weights that would fill the memory."""
    size = zipped.size("data", "policy.pth")
    if size > _LARGEST:
        name = file_name(path)
        raise SpecError(f"{name} unpacks to {size / 2**30:.1f} GB, more than 1 GB: refused")


def _check_members(path: Path, members: Collection[str]) -> None:
    """Refuse a zip without settings or weights, and say what it is."""
    if {"data", "policy.pth"} <= set(members):
        return
    name = file_name(path)
    if _first_member(path) not in members:  # only a zip inside it, the weights, is whole
        raise SpecError(f"{name} is a zip file that was cut short: copy it again")
    inner = {member.partition("/")[2] for member in members}
    if _is_script(members):
        raise SpecError(f"{name} is a TorchScript file: use torchscript:{name}")
    if "data.pkl" in inner:
        raise SpecError(
            f"{name} holds weights alone, without spaces and settings: use weights:{name}, or save "
            "the whole model with model.save('model.zip') and give that"
        )
    if any(member.endswith("/policy.pth") for member in members):
        raise SpecError(
            f"{name} holds a folder with a model in it: zip the content of the folder instead"
        )
    listed = printable(", ".join(sorted(members)[:5]), 200) or "nothing"
    raise SpecError(
        f"{name} is not a stable-baselines3 file: it holds {listed} where 'data' and "
        f"'policy.pth' are needed; {_HINT}"
    )


def _is_script(members: Collection[str]) -> bool:
    return any(member.partition("/")[2] == "constants.pkl" for member in members)


def _first_member(path: Path) -> str:
    """Return the name with which the file itself begins, whatever its table of contents says."""
    with open_regular(path, _HINT) as stream:
        header = stream.read(30)
        length = int.from_bytes(header[26:28], "little")
        return stream.read(length).decode("utf-8", "replace")


def _not_a_zip(path: Path) -> str:
    """Return what to say about a file that is not a zip."""
    name = file_name(path)
    with open_regular(path, _HINT) as stream:
        start = stream.read(4)
    if start == b"PK\x03\x04":
        return f"{name} is a zip file that was cut short: copy it again"
    if start[:1] == b"\x80":
        return f"{name} is a pickle, not a zip: save the whole model with model.save('model.zip')"
    return f"{name} is not a zip file: {_HINT}"
