"""What a policy file is, read from its bytes alone, and a copy of it that is safe to load.

Loading a TorchScript file can run its `__setstate__` methods, which may write files, and objects of
`torch.classes` restore themselves with native code. So the members of the zip are looked through
first, and torch is handed a new zip made of exactly those members: no second reading of a crafted
file can differ from what was checked.
"""

from __future__ import annotations

import io
import pickletools
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rpd_core.errors import FitError, one_line

Kind = Literal["script", "export", "pickle"]
_LARGEST = 2**31  # bytes in all members together
_RUN_AT_LOAD = ("__setstate__", "torch.classes")
_PLAIN_GLOBALS = {
    "collections OrderedDict",
    "torch._utils _rebuild_tensor_v2",
    "torch._utils _rebuild_parameter",
    "torch.jit._pickle build_boollist",
    "torch.jit._pickle build_doublelist",
    "torch.jit._pickle build_intlist",
    "torch.jit._pickle build_tensorlist",
    "torch.jit._pickle restore_type_tag",
}
INDIRECT = "a name that only running the pickle would show"
_MEMBER = re.compile(
    r"(data|constants|attributes|traced_inputs)\.pkl|version|byteorder|model\.json"
    r"|\.(data/serialization_id|format_version|storage_alignment)"
    r"|(data|constants|traced_inputs)/\d+|extra/[\w.-]+|code/__torch__[\w./]*\.py(\.debug_pkl)?"
)
"""What torch calls the members of a TorchScript file, below the name of the archive."""
_STORAGES = "Float Double Half BFloat16 Long Int Short Char Byte Bool"


@dataclass(frozen=True)
class Archive:
    """The members of a zip file, every one of them read."""

    path: Path
    members: dict[str, bytes]

    @property
    def kind(self) -> Kind:
        """`script` for TorchScript, `export` for torch.export, else a pickle of Python objects."""
        names = {name.partition("/")[2] or name for name in self.members}
        if "archive_format" in names or "archive_format" in self.members:
            return "export"
        coded = any(name.startswith("code/") for name in names)
        return "script" if coded and "constants.pkl" in names else "pickle"

    def ending(self, suffix: str) -> list[bytes]:
        """Give the contents of the members whose name ends so."""
        return [data for name, data in self.members.items() if name.endswith(suffix)]


def read_archive(path: Path) -> Archive:
    """Read all members of a zip file, or say what the file is instead."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            _check_entries(path, entries)
            members = {entry.filename: archive.read(entry) for entry in entries}
    except OSError as error:
        raise FitError(f"cannot read {str(path)!r}: {error.strerror or one_line(error)}") from error
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        raise FitError(f"{str(path)!r} {_not_a_zip(path)} ({one_line(error)})") from error
    return Archive(path, members)


def _check_entries(path: Path, entries: list[zipfile.ZipInfo]) -> None:
    names = [entry.filename for entry in entries]
    if len(set(names)) != len(names):
        raise FitError(f"{str(path)!r} holds two members of one name: refused, save it again")
    if sum(entry.file_size for entry in entries) > _LARGEST:
        raise FitError(f"{str(path)!r} unpacks to more than 2 GB: refused")


def _not_a_zip(path: Path) -> str:
    with path.open("rb") as stream:
        start = stream.read(4)
    if start.startswith(b"PK"):
        return "is a damaged or truncated zip file: copy it again"
    if start.startswith(b"\x80"):
        return "is a bare pickle, not TorchScript: save the policy with torch.jit.script(...).save"
    return "is no zip file, so no TorchScript: save the policy with torch.jit.script(...).save"


def check_loading(archive: Archive) -> None:
    """Refuse a TorchScript file that would do more than fill in tensors while it is loaded."""
    _check_names(archive)
    if any(name.endswith("model.json") for name in archive.members):
        raise refused(archive.path, "the format of PyTorch before 1.4")
    for name, code in archive.members.items():
        for word in _RUN_AT_LOAD:
            if "code/" in name and word.encode() in code:
                raise refused(archive.path, f"{word!r}, which runs while the file is loaded")
    for data in archive.ending(".pkl"):
        for name in sorted(pickled_names(archive.path, data)):
            if not _is_plain(name):
                raise refused(archive.path, shown_name(name))


def _check_names(archive: Archive) -> None:
    """Refuse members that are not named as torch names them: it finds `CODE/` for `code/`."""
    root = next(iter(archive.members), "").partition("/")[0]
    for name in archive.members:
        below = name.removeprefix(f"{root}/")
        if below == name or not _MEMBER.fullmatch(below) or "/../" in name:
            raise refused(archive.path, f"a member named {name!r}")


def refused(path: Path, what: str) -> FitError:
    """Give the error for a file that wants more than a policy needs."""
    return FitError(
        f"{path.name} uses {what}: refused. If you trust whoever made the file, add trust=true "
        "or --trust-policy"
    )


def pickled_names(path: Path, data: bytes) -> set[str]:
    """Give every `module name` that a pickle refers to, without unpickling it."""
    found: set[str] = set()
    try:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name in ("GLOBAL", "INST"):
                found.add(str(argument))
            elif opcode.name == "STACK_GLOBAL":
                found.add(INDIRECT)
    except (ValueError, IndexError, UnicodeDecodeError) as error:
        raise FitError(f"{str(path)!r} is damaged: {one_line(error)}") from error
    return found


def shown_name(name: str) -> str:
    """Give a name as people write it."""
    return name if name == INDIRECT else repr(name.replace(" ", "."))


def _is_plain(name: str) -> bool:
    module, _, attribute = name.partition(" ")
    if module == "__torch__" or module.startswith("__torch__."):
        return "torch.classes" not in name
    storages = {f"torch {word}Storage" for word in _STORAGES.split()}
    return name in _PLAIN_GLOBALS | storages and bool(attribute)


def is_loaded(name: str) -> bool:
    """Tell whether a member makes the module; the others are for debugging and are left out."""
    return not (name.endswith(".debug_pkl") or "/extra/" in name or "/traced_inputs" in name)


def clean_copy(archive: Archive) -> io.BytesIO:
    """Give a new zip of the members that were looked at, without those for debugging."""
    copy = io.BytesIO()
    with zipfile.ZipFile(copy, "w", zipfile.ZIP_STORED) as target:
        for name, data in archive.members.items():
            if is_loaded(name):
                target.writestr(name, data)
    copy.seek(0)
    return copy
