"""Work for worker processes, in a module that is quick to import."""

from __future__ import annotations

import os
from pathlib import Path


def double(number: int) -> int:
    """Give twice the number."""
    return 2 * number


def refuse(number: int) -> int:
    """Fail as work may."""
    raise ValueError(f"no {number}")


def die_once(marker: str) -> str:
    """Kill the process the first time, answer the second."""
    path = Path(marker)
    if not path.exists():
        path.touch()
        os._exit(9)
    return "survived"


def die(number: int) -> int:
    """Kill the process every time."""
    os._exit(9)


def process_id(number: int) -> int:
    """Give the number of the process that did the work."""
    return os.getpid()


def threads(number: int) -> str | None:
    """Give what a numerical library would read."""
    return os.environ.get("OMP_NUM_THREADS")
