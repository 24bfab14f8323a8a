"""The edge of a loader: whatever goes wrong inside leaves it as one short line about the file."""

from __future__ import annotations

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


class Refused(Flaw):
    """A file wants something that is not on a list."""


def printable(text: str, longest: int = LONGEST) -> str:
    """Return text of a file without line breaks and control characters, its middle cut out."""
    if len(text) > longest:
        end = min(_END, longest // 3)
        text = f"{text[: longest - end - 5]} ... {text[-end:]}"
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def file_name(path: Path) -> str:
    """Return the name of a file as it may stand in a message."""
    return printable(path.name or str(path), 100)


def quoted(name: str) -> str:
    """Return a name from a file as it may stand in a message."""
    return repr(printable(name, 100))


@contextmanager
def boundary(path: Path, advice: str, kind: type[RpdError] = SpecError) -> Iterator[None]:
    """Turn every error into one line of an `RpdError`; `advice` says what to do with the file.

    Damaged files make zlib, zipfile, json, protobuf, NumPy, torch and stable-baselines3 raise
    anything, even MemoryError and RecursionError; what they raised stays chained for whoever looks
    for a bug.
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
    except MemoryError as error:
        raise kind(
            f"{file_name(path)} cannot be used: it, or an option of it, asks for more memory than "
            f"there is ({printable(str(error), 300) or 'MemoryError'})"
        ) from error
    except Exception as error:
        reason = printable(one_line(error), 300)
        raise kind(f"{file_name(path)} cannot be used ({reason}): {advice}") from error
