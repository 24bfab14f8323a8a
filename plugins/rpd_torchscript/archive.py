"""The members of a policy file, unpacked within limits and looked at without running anything."""

from __future__ import annotations

import pickletools
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rpd_core.errors import FitError, one_line
from rpd_torchscript.limits import PICKLE_BYTES, UNPACKED_BYTES, damaged, refused

Kind = Literal["script", "export", "pickle"]
INDIRECT = "a name that only running the pickle would show"
_LONGEST_NAME = 500
_MEMBER = re.compile(
    r"(data|constants|attributes|traced_inputs)\.pkl|version|byteorder|model\.json"
    r"|\.(data/(serialization_id|version)|format_version|storage_alignment)"
    r"|(data|constants|traced_inputs)/\d+|extra/[\w.-]+|code/__torch__[\w./]*\.py(\.debug_pkl)?"
)
"""What torch calls the members of a TorchScript file, below the name of the archive."""


@dataclass(frozen=True)
class Archive:
    """The members of a zip file; those that only debuggers read are left out."""

    path: Path
    members: dict[str, bytes]

    @property
    def kind(self) -> Kind:
        """`script` for TorchScript, `export` for torch.export, else a pickle of Python objects."""
        names = {name.partition("/")[2] or name for name in self.members}
        if "archive_format" in names or "archive_format" in self.members:
            return "export"
        coded = any(name.startswith("code/") for name in names)
        stored = "data.pkl" in names or "model.json" in names
        return "script" if coded and stored else "pickle"

    def ending(self, suffix: str) -> list[bytes]:
        """Return the contents of the members whose name ends so."""
        return [data for name, data in self.members.items() if name.endswith(suffix)]

    def below_root(self) -> dict[str, bytes]:
        """Return the members of a TorchScript file by their name below the name of the archive."""
        root = next(iter(self.members), "").partition("/")[0]
        found = {}
        for name, content in self.members.items():
            below = name.removeprefix(f"{root}/")
            if below == name or not _MEMBER.fullmatch(below) or "/../" in name:
                raise refused(self.path, f"has a member named {name[:_LONGEST_NAME]!r}")
            found[below] = content
        return found


def read_archive(path: Path) -> Archive:
    """Read the members of a zip file, or raise an error that names what the file is instead."""
    if path.exists() and not path.is_file():  # reading a device or a pipe may never end
        raise FitError(f"{str(path)!r} is not an ordinary file: give the .pt file")
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            _check_entries(path, entries)
            members = {e.filename: archive.read(e) for e in entries if _is_loaded(e.filename)}
    except OSError as error:
        raise FitError(f"cannot read {str(path)!r}: {error.strerror or one_line(error)}") from error
    except FitError:
        raise
    except Exception as error:  # a crafted zip makes zipfile and zlib raise anything
        raise FitError(f"{str(path)!r} {_not_a_zip(path)} ({one_line(error)[:200]})") from error
    return Archive(path, members)


def _is_loaded(name: str) -> bool:
    return not (name.endswith(".debug_pkl") or "/extra/" in name or "/traced_inputs" in name)


def _check_entries(path: Path, entries: list[zipfile.ZipInfo]) -> None:
    """Check names, packing and declared sizes; zipfile never unpacks more than is declared."""
    names = [entry.filename for entry in entries]
    if len(set(names)) != len(names):
        raise FitError(f"{str(path)!r} holds two members of one name: refused, save it again")
    if sum(entry.file_size for entry in entries) > UNPACKED_BYTES:
        raise FitError(f"{str(path)!r} unpacks to more than {UNPACKED_BYTES >> 30} GB: refused")
    for entry in entries:
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise damaged(path, f"{entry.filename[:_LONGEST_NAME]!r} is packed in an unusual way")
        stored = entry.compress_type == zipfile.ZIP_STORED
        if stored and entry.file_size != entry.compress_size:
            raise damaged(path, f"{entry.filename[:_LONGEST_NAME]!r} has two different sizes")


def _not_a_zip(path: Path) -> str:
    with path.open("rb") as stream:
        start = stream.read(4)
    if start.startswith(b"PK"):
        return "is a damaged or truncated zip file: copy it again"
    if start.startswith(b"\x80"):
        return "is a bare pickle, not TorchScript: save the policy with torch.jit.script(...).save"
    return "is no zip file, so no TorchScript: save the policy with torch.jit.script(...).save"


def pickled_names(path: Path, data: bytes) -> set[str]:
    """Return every `module name` that a pickle refers to, without unpickling it."""
    if len(data) > PICKLE_BYTES:
        raise damaged(path, f"a pickle of {len(data)} bytes")
    found: set[str] = set()
    try:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name in ("GLOBAL", "INST"):
                found.add(str(argument))
            elif opcode.name == "STACK_GLOBAL":
                found.add(INDIRECT)
    except Exception as error:  # a crafted pickle may fail in any way
        raise damaged(path, one_line(error)[:200]) from error
    return found


def shown_name(name: str) -> str:
    """Return a name of a pickle as people write it."""
    return name if name == INDIRECT else repr(name.replace(" ", ".")[:_LONGEST_NAME])
