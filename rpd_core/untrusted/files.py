"""Files from strangers: regular ones, no more of them than allowed, and JSON that fits memory."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any

from rpd_core.errors import SpecError
from rpd_core.untrusted.boundary import ITEM, Budget, Flaw, file_name, printable


class NotAFile(SpecError):
    """Something that has no end, or nothing to read: a directory, a device, a pipe."""


@contextmanager
def open_regular(path: Path, hint: str) -> Iterator[BufferedReader]:
    """Open a regular file for reading: the one place where files are opened."""
    # Nothing is waited for, and what was opened is looked at, not what was there a moment before.
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
    with open_regular(path, hint) as stream:
        return stream.read()


Table = Callable[[list[tuple[str, Any]]], Any]
_DEEPEST = 100  # lists and tables inside one another
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
"""Also one that does not end: nothing is looked at twice."""
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_BEFORE_VALUES = b",", b":", b"[", b"{"
"""What stands before every value but the first; inside texts it counts as well."""


def read_json(content: bytes, budget: Budget, table: Table | None = None) -> Any:
    """Return the value of a JSON text in UTF-8; every value in it is charged to the budget."""
    # `table` makes a table of its names and values, where Python's own is not wanted.
    budget.take_made(len(content) + ITEM * sum(map(content.count, _BEFORE_VALUES)))
    if _is_too_deep(content):
        raise Flaw("its JSON is nested too deeply: refused")
    return json.loads(content.decode(), object_pairs_hook=table)


def _is_too_deep(content: bytes) -> bool:
    """Take away pairs of brackets with nothing between them, as often as there may be levels."""
    left = _TEXT.sub(b"", content).translate(None, _NO_BRACKETS)
    for _ in range(_DEEPEST):
        rest = left.replace(b"[]", b"").replace(b"{}", b"")
        if rest == left:  # nothing is left, or what was never closed
            return left.count(b"[") + left.count(b"{") > _DEEPEST
        left = rest
    return len(left) > 0
