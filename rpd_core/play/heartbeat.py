"""Signs of life: how far the episodes being played in this process are.

The numbers lie in an array that another process may share, so that a worker that hangs in a step,
a reset or a policy can be told from one that is busy.
"""

from __future__ import annotations

from collections.abc import MutableSequence
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
