"""Work for worker processes, in a module that is quick to import."""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from rpd_core.play.heartbeat import beat


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


def want_too_much(number: int) -> bytearray:
    """Ask for more memory than any machine has."""
    return bytearray(1 << 60)


def want_too_much_once(marker: str) -> str:
    """Ask for too much the first time, answer the second."""
    path = Path(marker)
    if not path.exists():
        path.touch()
        want_too_much(1)
    return "survived"


def exhaust_memory(group: str) -> int:
    """Join a control group and use more memory than it allows: the kernel kills the process."""
    Path(group, "cgroup.procs").write_text(str(os.getpid()))
    return len(bytearray(256 << 20))


def stop_itself(number: int) -> None:
    """Stop as by Ctrl-Z, so that nothing happens any more."""
    os.kill(os.getpid(), signal.SIGSTOP)


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


def fail_to_pickle(number: int) -> None:
    """Fail as work may that has nothing to do with being sent."""
    raise pickle.PicklingError("Can't pickle the pear")


class Locked(Exception):
    """An error that holds what cannot be sent."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.lock = threading.Lock()


def fail_with_a_lock(number: int) -> None:
    """Fail with an error that cannot be pickled."""
    raise Locked(f"no key for door {number}")


@dataclass(frozen=True)
class Reader:
    """Names files as a loader does."""

    paths: tuple[Path, ...]


def read_all(reader: Reader) -> list[tuple[str, str]]:
    """Return where each file is and what is in it."""
    return [(str(path), path.read_text()) for path in reader.paths]


def read_all_slowly(reader: Reader) -> list[tuple[str, str]]:
    """Return the same after a while, so that all workers have something to do."""
    time.sleep(0.3)
    return read_all(reader)


OFTEN_SHADOWED = ("pickle", "random", "socket")


def module_files(number: int) -> list[str]:
    """Return where modules come from that a careless user has files named after."""
    time.sleep(0.3)  # so that both workers have something to do
    return [str(importlib.import_module(name).__file__) for name in OFTEN_SHADOWED]


def safe_path(number: int) -> tuple[str, ...]:
    """Return what a program started here knows of the guard of worker processes."""
    shown = "import os, sys; print(sys.flags.safe_path, os.environ.get('PYTHONSAFEPATH'))"
    return tuple(subprocess.check_output([sys.executable, "-c", shown], text=True).split())


def play(number: int) -> int:
    """Take a step, as work that plays does."""
    beat(number, number)
    return number


def meet(folder: str) -> int:
    """Take a step, and wait until somebody else does this, too, at the same time."""
    beat(0, 0)
    path = Path(folder) / str(os.getpid())
    path.touch()
    deadline = time.monotonic() + 60
    while len(list(path.parent.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    return len(list(path.parent.iterdir()))
