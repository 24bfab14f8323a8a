"""Files from strangers: regular ones, and no more of them than allowed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from rpd_core.errors import SpecError
from rpd_core.untrusted.boundary import file_name, printable
from rpd_core.untrusted.budget import Budget


class NotAFile(SpecError):
    """Something that has no end, or nothing to read: a directory, a device, a pipe."""


@contextmanager
def open_regular(path: Path, hint: str) -> Iterator[BufferedReader]:
    """Open a regular file for reading: the one place where files are opened.

    Nothing is waited for, and what was opened is looked at, not what was there a moment before.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)  # opening a pipe would wait for ever
    number = os.open(path, flags)
    mode = os.fstat(number).st_mode
    if not stat.S_ISREG(mode):
        os.close(number)
        raise NotAFile(_what_else(path, mode, hint))
    with os.fdopen(number, "rb") as stream:
        yield stream


def _what_else(path: Path, mode: int, hint: str) -> str:
    name = printable(str(path), 300)
    if stat.S_ISDIR(mode):
        return f"{name!r} is a directory: {hint}"
    return f"{name!r} is a device or a pipe, not a regular file: {hint}"


def check_regular(path: Path, hint: str) -> None:
    """Refuse what is not a file with an end: directories, devices, pipes."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise SpecError(f"{printable(str(path), 300)!r} does not exist: {hint}") from None
    if not stat.S_ISREG(mode):
        raise NotAFile(_what_else(path, mode, hint))


def read_bounded(path: Path, budget: Budget, hint: str) -> bytes:
    """Return the content of a regular file, if the budget allows for all of it."""
    check_regular(path, hint)
    with open_regular(path, hint) as stream:
        content = stream.read(budget.bytes + 1)
    if len(content) > budget.bytes:
        raise SpecError(f"{file_name(path)} has more than {budget.bytes:,} bytes: {hint}")
    budget.take_bytes(len(content), "it")
    return content


def read_all(path: Path, hint: str) -> bytes:
    """Return the content of a regular file of the user's own, however large it is."""
    with open_regular(path, hint) as stream:
        return stream.read()
