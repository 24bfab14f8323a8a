"""What reading one file may use: the one place that bounds every reader of strangers' bytes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from rpd_core.untrusted.boundary import Flaw

OPERATIONS = 1_000_000
"""Operations that pickles may take in all; the largest networks need some ten thousand."""
MADE = 2**29
"""Bytes that readers may make of those that they have read, copies included."""
ITEM = 100
"""Bytes that an item of a list or a dictionary counts for."""
_LOOK_EVERY = 1000
"""Operations between two looks at the clock."""
LOAD_TIMEOUT = 60.0
"""Seconds that loading a policy may take, unless set otherwise."""

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
    limit = _until.get()
    if limit is not None:
        _check(limit)


def _check(limit: tuple[float, float]) -> None:
    begun, seconds = limit
    if time.monotonic() - begun > seconds:
        raise Flaw(
            f"loading it takes longer than {seconds:g} seconds: refused; a longer --load-timeout "
            "gives it more time"
        )


def _limit() -> tuple[float, float]:
    return _until.get() or (time.monotonic(), LOAD_TIMEOUT)


@dataclass
class Budget:
    """What is left for the rest of a file; it is made where a file is opened and handed on."""

    bytes: int
    """Bytes that may still be read or unpacked."""
    operations: int = OPERATIONS
    """Operations that may still be done."""
    made: int = MADE
    """Bytes that may still be made of what was read: every copy, every view that is searched."""
    limit: tuple[float, float] = field(default_factory=_limit)
    """When loading began, and how many seconds it may take."""

    def take_bytes(self, count: int, what: str) -> None:
        """Count bytes before they are read."""
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
        """Count bytes before they are made of what was read."""
        self.check_time()
        self.made -= count
        if self.made < 0:
            raise Flaw("it grows to far more bytes than are stored in it: refused")

    def take_copy(self, *values: object) -> None:
        """Count what copies of some values take; of what is inside them, only how many there are.

        Whoever copies deeper counts deeper.
        """
        self.take_made(sum(map(weight, values)))

    def check_time(self) -> None:
        """Refuse to go on when loading has taken too long."""
        _check(self.limit)


def weight(value: object) -> int:
    """Return about how many bytes a copy of a value takes, of its items only the references."""
    if isinstance(value, str | bytes | bytearray):
        return len(value)
    return ITEM * len(value) if isinstance(value, list | tuple | dict) else 0
