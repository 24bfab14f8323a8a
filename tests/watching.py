"""Looking after other processes: whether they run, what they wait for, which signals they heed."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path


def is_running(process: int) -> bool:
    """Return whether a process exists and has not ended (a zombie has)."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def wait_until(holds: Callable[[], bool], seconds: float = 30.0) -> bool:
    """Return whether something comes true in time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def heed_signals() -> None:
    """Undo what shells in the background and nohup do: their children ignore some signals."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
