"""The edge of the loader: whatever goes wrong inside leaves it as one short line about the file."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rpd_core.errors import RpdError, SpecError, one_line

LONGEST = 600
"""Characters of an error line."""
_END = 200
"""How many of them are kept for its end, which says what to do."""


class Flaw(SpecError):
    """Something wrong inside a file, found by a reader that does not know the file's name."""


def printable(text: str, longest: int = LONGEST) -> str:
    """Return text of a file without line breaks and control characters, its middle cut out."""
    if len(text) > longest:
        end = min(_END, longest // 3)
        text = f"{text[: longest - end - 5]} ... {text[-end:]}"
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def file_name(path: Path) -> str:
    """Return the name of a file as it may stand in a message."""
    return printable(path.name or str(path), 100)


DAMAGED = "it is damaged or was not written by model.save; copy it or save the model again"


@contextmanager
def boundary(path: Path, kind: type[RpdError] = SpecError, advice: str = DAMAGED) -> Iterator[None]:
    """Turn every error into one line of an `RpdError`.

    Damaged files make zlib, zipfile, json, NumPy, torch and stable-baselines3 raise anything, even
    MemoryError and RecursionError; what they raised stays chained for whoever looks for a bug.
    """
    try:
        yield
    except RpdError as error:
        line = printable(str(error))
        if line == str(error):
            raise
        raise type(error)(line) from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise kind(f"{file_name(path)} cannot be read ({reason}): check the path") from error
    except Exception as error:
        reason = printable(one_line(error), 300)
        raise kind(f"{file_name(path)} cannot be used ({reason}): {advice}") from error


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


def read_bounded(path: Path, most: int, hint: str) -> bytes:
    """Return the content of a regular file that has at most so many bytes."""
    check_regular(path, hint)
    with path.open("rb") as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise SpecError(f"{file_name(path)} has more than {most:,} bytes: {hint}")
    return content
