"""The edge of the loader: whatever goes wrong inside leaves it as one short line about the file."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rpd_core.errors import FitError, RpdError, one_line

LONGEST = 600
"""Characters of an error line."""
_END = 200
"""How many of them are kept for its end, which says what to do."""
DAMAGED = "it is damaged or not the frozen graph of a network; copy it or freeze the graph again"


def printable(text: str, longest: int = LONGEST) -> str:
    """Return text of a file without line breaks and control characters, its middle cut out."""
    if len(text) > longest:
        end = min(_END, longest // 3)
        text = f"{text[: longest - end - 5]} ... {text[-end:]}"
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def quoted(name: str) -> str:
    """Return the name of a node as it may stand in a message."""
    return repr(printable(name, 100))


def file_name(path: Path) -> str:
    """Return the name of a file as it may stand in a message."""
    return printable(path.name or str(path), 100)


@contextmanager
def boundary(path: Path, kind: type[RpdError] = FitError, advice: str = DAMAGED) -> Iterator[None]:
    """Turn every error into one line of an `RpdError`.

    Damaged graphs make protobuf, NumPy and torch raise anything, even MemoryError; what they
    raised stays chained for whoever looks for a bug.
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


def read_bounded(path: Path, most: int) -> bytes:
    """Return the content of a regular file that has at most so many bytes."""
    name = printable(str(path), 300)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise FitError(f"{name!r} does not exist: check the path") from None
    if not stat.S_ISREG(mode):
        kind = "a directory" if stat.S_ISDIR(mode) else "a device or a pipe"
        raise FitError(f"{name!r} is {kind}, not a regular file: give the frozen .pb file")
    with path.open("rb") as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise FitError(f"{file_name(path)} has more than {most:,} bytes: not a network of the zoo")
    return content
