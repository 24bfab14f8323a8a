"""What a worker's environments have started and not closed: found by a mark, and ended.

Programs inherit the environment variables of who starts them, also those that move to a session
of their own or whose starter has ended.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_MARK = "RPD_WORKER"


def bear(mark: str) -> None:
    """Mark whatever this process starts from now on."""
    os.environ[_MARK] = mark


def end_group(number: int) -> None:
    """End what is left of a worker's process group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(number, signal.SIGKILL)


def end_marked(mark: str) -> None:
    """End all other processes that bear a mark; where there is no /proc, none is found."""
    for number in _bearing(f"{_MARK}={mark}".encode()):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(number, signal.SIGKILL)


def _bearing(entry: bytes) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it is somebody else's, or has ended
            if entry in path.read_bytes().split(b"\0") and path.parent.name != str(os.getpid()):
                yield int(path.parent.name)
