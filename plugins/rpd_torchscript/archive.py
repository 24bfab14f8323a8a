"""The members of a policy file, unpacked within limits, and what its pickles describe."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from rpd_core.errors import FitError, RpdError, one_line
from rpd_core.untrusted.arrays import TENSORS, Shelf, Storage, StoredTensor, stored_row
from rpd_core.untrusted.boundary import Budget, Flaw, Refused, printable, quoted
from rpd_core.untrusted.files import open_regular
from rpd_core.untrusted.pickles import AllowedNames, Holder, Reference, read_pickle, refuse
from rpd_core.untrusted.zips import BoundedZip
from rpd_torchscript.limits import NUMBERS, UNPACKED_BYTES, Forbidden
from rpd_torchscript.recognise import is_exported
from rpd_torchscript.values import Module, StoredDict, StoredList

Kind = Literal["script", "export", "pickle"]
_MEMBER = re.compile(
    r"(data|constants|attributes|traced_inputs)\.pkl|version|byteorder|model\.json"
    r"|\.(data/(serialization_id|version)|format_version|storage_alignment)"
    r"|(data|constants|traced_inputs)/\d+|extra/[\w.-]+|code/__torch__[\w./]*\.py(\.debug_pkl)?"
)
"""What torch calls the members of a TorchScript file, below the name of the archive."""
_HOW_TO_SAVE = "save the policy with torch.jit.script(...).save"


@dataclass(frozen=True)
class Archive:
    """The members of a zip file; those that only debuggers read are left out."""

    path: Path
    members: dict[str, bytes]
    budget: Budget
    """What is left for reading the pickles."""

    @property
    def kind(self) -> Kind:
        """`script` for TorchScript, `export` for torch.export, else a pickle of Python objects."""
        if is_exported(self.members):
            return "export"
        names = {name.partition("/")[2] or name for name in self.members}
        coded = any(name.startswith("code/") for name in names)
        stored = "data.pkl" in names or "model.json" in names
        return "script" if coded and stored else "pickle"

    def below_root(self) -> Archive:
        """Return a TorchScript file with its members named as below the name of the archive."""
        root = next(iter(self.members), "").partition("/")[0]
        found = {}
        for name, content in self.members.items():
            below = name.removeprefix(f"{root}/")
            if below == name or not _MEMBER.fullmatch(below) or "/../" in name:
                raise Forbidden(f"has a member named {quoted(name)}")
            found[below] = content
        return Archive(self.path, found, self.budget)

    def values(self, name: str) -> Any:
        """Return what a pickle describes: modules, tensors, and lists that nobody may change."""
        note = read_pickle(self.members[f"{name}.pkl"], _NAMES, self.budget)
        return _Values(name, self.members).convert(note)


def read_archive(path: Path) -> Archive:
    """Read the members of a zip file, or raise an error that names what the file is instead."""
    budget, shown = Budget(UNPACKED_BYTES), printable(str(path), 300)
    try:
        with open_regular(path, "give the .pt file") as stream:
            zipped = BoundedZip(stream, budget)
            if zipped.size() > budget.bytes:
                raise Flaw(f"it unpacks to more than {UNPACKED_BYTES >> 30} GB: refused")
            members = {name: zipped.read(name) for name in zipped.names if _is_loaded(name)}
    except Flaw as error:
        raise FitError(f"{shown!r} is refused: {error}") from error
    except (OSError, RpdError):
        raise
    except Exception as error:  # a crafted zip makes zipfile and zlib raise anything
        reason = printable(one_line(error), 200)
        raise FitError(f"{shown!r} {_not_a_zip(path)} ({reason})") from error
    return Archive(path, members, budget)


def _is_loaded(name: str) -> bool:
    return not (name.endswith(".debug_pkl") or "/extra/" in name or "/traced_inputs" in name)


def _not_a_zip(path: Path) -> str:
    with open_regular(path, "give the .pt file") as stream:
        start = stream.read(4)
    if start.startswith(b"PK"):
        return "is a damaged or truncated zip file: copy it again"
    if start.startswith(b"\x80"):
        return f"is a bare pickle, not TorchScript: {_HOW_TO_SAVE}"
    return f"is no zip file, so no TorchScript: {_HOW_TO_SAVE}"


class _Record(Holder):
    """An object of one of the file's own classes."""

    __slots__ = ()

    def __init__(self, *arguments: Any) -> None:
        super().__init__()
        if arguments:
            raise Refused("it makes an object in an unusual way")

    def fill(self, state: Any) -> None:
        """Keep the attributes."""
        if not isinstance(state, dict) or not all(isinstance(key, str) for key in state):
            raise Refused(
                f"{quoted(self.kind)} is restored by its own '__setstate__', which runs while the "
                "file is loaded"
            )
        self.state = state


def _own_class(reference: Reference) -> Any:
    """Return the records of a class whose code is in the file."""
    path = f"{reference.module}.{reference.name}"
    if path.startswith("__torch__.") and "torch.classes" not in path:
        return _Record.of(path)
    return refuse(reference)


_LISTS = "build_boollist build_doublelist build_intlist build_tensorlist restore_type_tag"
_NAMES = AllowedNames(
    TENSORS | {f"torch.jit._pickle.{name}": lambda value, *rest: value for name in _LISTS.split()},
    otherwise=_own_class,
    outside=stored_row,
)


class _Values:
    """Turns what a pickle says into modules, tensors, and lists that nobody may change."""

    def __init__(self, folder: str, members: Mapping[str, bytes]) -> None:
        def fetch(storage: Storage) -> bytes:
            return members.get(f"{folder}/{storage.key}", b"")

        self.shelf = Shelf(fetch, _row, NUMBERS)
        self.done: dict[int, tuple[Any, Any]] = {}

    def convert(self, note: Any) -> Any:
        """Convert a value; what was one object in the file stays one."""
        if not isinstance(note, _Record | StoredTensor | list | dict | tuple):
            return note
        if id(note) not in self.done:
            self.done[id(note)] = note, self._made(note)
        return self.done[id(note)][1]

    def _made(self, note: Any) -> Any:
        if isinstance(note, StoredTensor):
            return self.shelf.tensor(note)
        if isinstance(note, _Record):
            made = Module(note.kind)
            made.attributes = {name: self.convert(value) for name, value in note.state.items()}
            if "training" in made.attributes:
                made.attributes["training"] = False
            return made
        if isinstance(note, dict):
            return StoredDict((key, self.convert(value)) for key, value in note.items())
        items = [self.convert(item) for item in note]
        return tuple(items) if isinstance(note, tuple) else StoredList(items)


def _row(raw: bytes, kind: str) -> Tensor:
    if kind == "bool":  # other bytes than 0 and 1 are no truth values
        return _row(raw, "uint8") != 0
    dtype: torch.dtype = getattr(torch, kind)
    if not raw:
        return torch.empty(0, dtype=dtype)
    return torch.frombuffer(bytearray(raw), dtype=dtype).clone()
