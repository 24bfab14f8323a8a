"""Work for worker processes, in a module that is quick to import."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def double(number: int) -> int:
    """Return twice the number."""
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


def die_of(number: int) -> None:
    """Die as by a crash."""
    os.kill(os.getpid(), number)
    time.sleep(600)


def fork_and_die(marker: str) -> None:
    """Leave a process behind that has all open files of this one; write down its number."""
    forked = os.fork()
    if forked:
        Path(marker).write_text(str(forked))
        os._exit(9)
    time.sleep(60)
    os._exit(0)


def start_program(seconds: float) -> int:
    """Start a program that has all open files that may be had."""
    return subprocess.Popen(["sleep", str(seconds)], close_fds=False).pid


def swallow_request(number: int) -> int:
    """Go on working when asked to end."""
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(600)
    except BaseException:
        pass
    return number


def process_id(number: int) -> int:
    """Return the number of the process that did the work."""
    return os.getpid()


def threads(number: int) -> str | None:
    """Return what a numerical library would read."""
    return os.environ.get("OMP_NUM_THREADS")


def much(size: int) -> bytes:
    """Return an answer that fills a pipe many times over."""
    return bytes(size)


def sleep(seconds: float) -> float:
    """Work for a while."""
    time.sleep(seconds)
    return seconds


def stay(marker: str) -> None:
    """Refuse to end when asked politely; say so once that is so."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Path(marker).touch()
    time.sleep(600)


def leave(code: int) -> None:
    """End as a program would."""
    sys.exit(code)


class Peculiar(Exception):
    """An error that cannot be made from its message alone."""

    def __init__(self, cause: str, place: str) -> None:
        super().__init__(f"{cause} in {place}")


def fail_peculiarly(number: int) -> None:
    """Fail with an error that does not survive the way home."""
    raise Peculiar(f"fault {number}", "the cellar")


def open_file(path: str) -> object:
    """Return something that cannot be sent."""
    return Path(path).open("w")
