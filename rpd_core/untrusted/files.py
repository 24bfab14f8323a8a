"""Files from strangers: regular ones, and no more of them than allowed."""

from __future__ import annotations

import stat
from pathlib import Path

from rpd_core.errors import SpecError
from rpd_core.untrusted.boundary import file_name, printable
from rpd_core.untrusted.budget import Budget


def check_regular(path: Path, hint: str) -> None:
    """Refuse what is not a file with an end: directories, devices, pipes."""
    name = printable(str(path), 300)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise SpecError(f"{name!r} does not exist: {hint}") from None
    if stat.S_ISDIR(mode):
        raise SpecError(f"{name!r} is a directory: {hint}")
    if not stat.S_ISREG(mode):
        raise SpecError(f"{name!r} is a device or a pipe, not a regular file: {hint}")


def read_bounded(path: Path, budget: Budget, hint: str) -> bytes:
    """Return the content of a regular file, if the budget allows for all of it."""
    check_regular(path, hint)
    with path.open("rb") as stream:
        content = stream.read(budget.bytes + 1)
    if len(content) > budget.bytes:
        raise SpecError(f"{file_name(path)} has more than {budget.bytes:,} bytes: {hint}")
    budget.take_bytes(len(content), "it")
    return content
