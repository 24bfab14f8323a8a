"""Signs of life of a process that plays, who watches that it goes on, and its one numeric thread.

How far the episodes are lies in an array that another process may share, so that a worker that
hangs in a step, a reset or a policy can be told from one that is busy.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, MutableSequence, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rpd_core.untrusted import boundary

LENGTH = 4
"""Numbers in the array: beats so far, an episode under way, its environment seed, and the
milliseconds that a policy may take which is being loaded; 0 if none is."""


@dataclass
class _Pulse:
    numbers: MutableSequence[int]


_pulse = _Pulse([0] * LENGTH)


def share(numbers: MutableSequence[int]) -> None:
    """Beat into an array that others can see."""
    _pulse.numbers = numbers


def beat(episode: int, seed: int) -> None:
    """Record that a step is about to be taken in this and other episodes."""
    numbers = _pulse.numbers
    numbers[1], numbers[2] = episode, seed
    numbers[0] += 1


@contextmanager
def loading(seconds: float) -> Iterator[None]:
    """Allow so many seconds for loading a policy: readers end by themselves, others are ended."""
    numbers = _pulse.numbers
    before, numbers[3] = numbers[3], int(1000 * min(seconds + _LATER, _LONGEST))
    try:
        with boundary.loading(seconds):
            yield
    finally:
        numbers[3] = before


def numbers() -> MutableSequence[int]:
    return _pulse.numbers


SAID_AFTER = 60.0  # seconds without progress after which it is said
STALL_TIMEOUT = 600.0
"""Seconds without progress after which a worker is ended, unless set otherwise."""
_LATER = 2.0  # seconds that readers get to end by themselves when loading has taken too long
_LONGEST = 10.0**9
_LOOK_EVERY = 5.0  # seconds between two looks at work in this process, at most

log = logging.getLogger("rpd")


class Watch:
    """Follows the heartbeat of one worker."""

    def __init__(self, numbers: Sequence[int], timeout: float) -> None:
        self.numbers, self.timeout = numbers, timeout
        self.restart()

    def restart(self) -> None:
        """Begin to wait: the worker was just given something to do."""
        self.beats, self.since, self.said = self._signs(), time.monotonic(), False

    def _signs(self) -> tuple[int, int]:
        return self.numbers[0], self.numbers[3]

    def stalled(self, label: str) -> str:
        """Return what to report of a worker that hangs; empty as long as it may be busy."""
        if self._signs() != self.beats:
            self.restart()
        silent, allowed = time.monotonic() - self.since, self.numbers[3] / 1000
        if allowed and silent >= allowed and self.timeout < float("inf"):
            return (
                f"loading the policy has not ended after {silent:.0f} seconds, of {label}: a "
                "longer --load-timeout gives it more time"
            )
        if silent >= self.timeout:
            return (
                f"no progress for {silent:.0f} seconds {self._where(label)}: the environment or "
                "the policy hangs; a longer --stall-timeout gives it more time"
            )
        if silent >= min(SAID_AFTER, self.timeout / 2) and not self.said:
            self.said = True
            log.warning("no progress for %.0f seconds %s", silent, self._where(label))
        return ""

    def _where(self, label: str) -> str:
        if not self.numbers[0]:
            return f"before the first step of {label}"
        return (
            f"in episode {self.numbers[1]} (environment seed {self.numbers[2]}) or those beside "
            f"it, of {label}"
        )


@contextmanager
def watched(watch: Watch, label: str, give_up: Callable[[str], object]) -> Iterator[None]:
    """Say, while something is done in this process, that it makes no progress; then give it up."""
    done = threading.Event()

    def look() -> None:
        while not done.wait(min(_LOOK_EVERY, watch.timeout / 4, _LATER / 2)):
            report = watch.stalled(label)
            if report:
                give_up(report)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


_ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
_here = threading.local()
"""Whether numerics of the current thread of Python have one thread already."""


def one_thread() -> None:
    """Restrict numerical libraries that this process imports later to one thread."""
    os.environ.update(_ONE_THREAD)


@contextmanager
def one_numeric_thread() -> Iterator[None]:
    """Restrict NumPy, and torch where a policy has imported it, to one thread inside the block."""
    # With more threads they split sums in another way and the last bits differ, so results would
    # depend on the machine; and small products wait for threads longer than they take. Worker
    # processes have one thread from their environment; here the number is set and put back, because
    # the process may be the user's own.
    if getattr(_here, "limited", False):  # to look for libraries takes longer than a small network
        with _one_thread_of_torch():
            yield
        return
    from threadpoolctl import threadpool_limits  # the command line sets `one_thread` first of all

    # torch first: limited to one thread of OpenMP it says one, whatever its MKL was told before
    with _one_thread_of_torch(), threadpool_limits(1):
        _here.limited = True
        try:
            yield
        finally:
            _here.limited = False


@contextmanager
def _one_thread_of_torch() -> Iterator[None]:
    torch = sys.modules.get("torch")  # looked up, not imported: most policies need none
    before = torch.get_num_threads() if torch is not None else 1
    if torch is None or before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
