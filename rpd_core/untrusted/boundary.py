"""The edge of a loader: what reading one file may use, and errors as one short line about it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from rpd_core.errors import RpdError, SpecError, one_line

LONGEST = 600  # characters of an error line
_END = 200  # how many of them are kept for its end, which says what to do


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
    return printable(path.name or str(path), 100)


def quoted(name: str) -> str:
    """Return a name from a file as it may stand in a message."""
    return repr(printable(name, 100))


@contextmanager
def boundary(path: Path, advice: str, kind: type[RpdError] = SpecError) -> Iterator[None]:
    """Turn every error into one line of an `RpdError`; `advice` says what to do with the file."""
    # Damaged files make zlib, zipfile, json, protobuf, NumPy, torch and stable-baselines3 raise
    # anything, even MemoryError and RecursionError; what they raised stays chained for whoever
    # looks for a bug.
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


OPERATIONS = 1_000_000
"""Operations that pickles may take in all; the largest networks need some ten thousand."""
MADE = 2**29  # bytes that readers may make of those that they have read, copies included
ITEM = 100  # bytes that an item of a list or a dictionary counts for
_LOOK_EVERY = 1000  # operations between two looks at the clock
LOAD_TIMEOUT = 60.0  # seconds that loading a policy may take, unless set otherwise

_until: ContextVar[tuple[float, float] | None] = ContextVar("until", default=None)
"""When loading began, on a clock that nobody sets, and how many seconds it may take."""


@contextmanager
def loading(seconds: float) -> Iterator[None]:
    """Let all that is read meanwhile share so many seconds; an outer limit stays in force."""
    token = _until.set(_until.get() or (time.monotonic(), seconds))
    try:
        yield
    finally:
        _until.reset(token)


def check_loading() -> None:
    """Refuse to go on when something is loaded and that has taken too long."""
    if _until.get() is not None:
        Budget(0).check_time()


@dataclass
class Budget:
    """What is left for the rest of a file; it is made where a file is opened and handed on."""

    bytes: int
    """Bytes that may still be read or unpacked."""
    operations: int = OPERATIONS
    """Operations that may still be done."""
    made: int = MADE
    """Bytes that may still be made of what was read: every copy, every view that is searched."""
    limit: tuple[float, float] = field(
        default_factory=lambda: _until.get() or (time.monotonic(), LOAD_TIMEOUT)
    )
    """When loading began, and how many seconds it may take."""

    def take_bytes(self, count: int, what: str) -> None:
        self.check_time()
        if count > self.bytes:
            raise Flaw(f"{what} takes {count:,} bytes, more than {self.bytes:,}: refused")
        self.bytes -= count

    def take_operations(self, count: int = 1) -> None:
        """Count operations before they are done; the time is looked at now and then."""
        before, self.operations = self.operations // _LOOK_EVERY, self.operations - count
        if before != self.operations // _LOOK_EVERY:
            self.check_time()
        if self.operations < 0:
            raise Flaw("it takes more steps to read than any policy needs: refused")

    def take_made(self, count: int) -> None:
        self.check_time()
        self.made -= count
        if self.made < 0:
            raise Flaw("it grows to far more bytes than are stored in it: refused")

    def take_copy(self, *values: object) -> None:
        """Count what copies of values take, of what is inside them only how many there are."""
        self.take_made(sum(map(weight, values)))

    def check_time(self) -> None:
        begun, seconds = self.limit
        if time.monotonic() - begun > seconds:
            raise Flaw(
                f"loading it takes longer than {seconds:g} seconds: refused; a longer "
                "--load-timeout gives it more time"
            )


def weight(value: object) -> int:
    """Return about how many bytes a copy of a value takes, of its items only the references."""
    if isinstance(value, str | bytes | bytearray):
        return len(value)
    return ITEM * len(value) if isinstance(value, list | tuple | dict) else 0
