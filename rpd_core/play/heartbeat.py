"""Signs of life: how far the episodes being played are, and who watches that they go on.

The numbers lie in an array that another process may share, so that a worker that hangs in a step,
a reset or a policy can be told from one that is busy.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, MutableSequence, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

LENGTH = 3
"""Numbers in the array: beats so far, an episode under way, its environment seed."""


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


def numbers() -> MutableSequence[int]:
    """Return the array of this process."""
    return _pulse.numbers


SAID_AFTER = 60.0
"""Seconds without progress after which it is said."""
STALL_TIMEOUT = 600.0
"""Seconds without progress after which a worker is ended, unless set otherwise."""
_LOOK_EVERY = 5.0
"""Seconds between two looks at work in this process, at most."""

log = logging.getLogger("rpd")


class Watch:
    """Follows the heartbeat of one worker."""

    def __init__(self, numbers: Sequence[int], timeout: float) -> None:
        self.numbers, self.timeout = numbers, timeout
        self.restart()

    def restart(self) -> None:
        """Begin to wait: the worker was just given something to do."""
        self.beats, self.since, self.said = self.numbers[0], time.monotonic(), False

    def stalled(self, label: str) -> str:
        """Return what to report of a worker that hangs; empty as long as it may be busy."""
        if self.numbers[0] != self.beats:
            self.restart()
        silent = time.monotonic() - self.since
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
        while not done.wait(min(_LOOK_EVERY, watch.timeout / 4)):
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
