"""Abstractions of the console's 128 bytes of memory: chosen bytes, balls and paddles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rpd_core.errors import FitError, SpecError
from rpd_core.plugin.protocols import Facts

Array = NDArray[Any]


@dataclass(frozen=True)
class RamBytes:
    """Some bytes of the console's memory, for example `ram:49+54`."""

    positions: tuple[int, ...] = ()
    """Places in memory from 0 to 127; none: all of them."""

    needs: ClassVar[tuple[str, ...]] = ("ram",)

    def __post_init__(self) -> None:
        wrong = [position for position in self.positions if not 0 <= position <= 127]
        if wrong:
            raise SpecError(f"ram: positions lie in 0..127, got {wrong[0]}")

    def __call__(self, values: Any, views: Mapping[str, Array]) -> Array:
        ram = views["ram"]
        return ram[:, list(self.positions)] if self.positions else ram

    def show(self, value: Array) -> str:
        """Give each byte with its position."""
        places = self.positions or range(len(value))
        return ", ".join(
            f"byte {place} is {byte}" for place, byte in zip(places, value.tolist(), strict=True)
        )


_BALL = (0, 1)
"""Of the things that are read, the ball's x and y come first: it is gone as a whole."""


@dataclass(frozen=True)
class Things:
    """Where a game keeps the positions of things in memory; 0 there: not on the screen."""

    game: str
    names: tuple[str, ...]
    addresses: tuple[int, ...]
    offsets: tuple[int, ...]
    """What to add to get pixels of the screen."""

    def check(self, facts: Facts) -> None:
        """Refuse other games: their bytes mean something else."""
        if facts.description != f"atari:{self.game}":
            raise FitError(
                f"abstraction {self.game.lower()!r} reads the memory of atari:{self.game}, "
                f"not of {facts.description or 'another environment'}"
            )

    def read(self, ram: Array, pixels: int) -> Array:
        """Give positions rounded to a grid; -1 where a thing is not on the screen."""
        raw = ram[:, list(self.addresses)].astype(np.int16)
        there = raw > 0
        there[:, _BALL] = there[:, _BALL].all(axis=1, keepdims=True)
        rounded = np.rint((raw + np.array(self.offsets)) / pixels) * pixels
        return np.where(there, np.maximum(rounded, 0), -1).astype(np.int16)

    def say(self, value: Array) -> str:
        """Say where things are, in pixels of the screen."""
        named = zip(self.names, value.tolist(), strict=True)
        return ", ".join(f"{name} {'gone' if at < 0 else at}" for name, at in named)


BREAKOUT = Things("Breakout", ("ball x", "ball y", "paddle x"), (99, 101, 72), (-49, 9, -47))
PONG = Things(
    "Pong",
    ("ball x", "ball y", "paddle y", "other paddle y"),
    (49, 54, 51, 50),
    (-49, -14, -13, -15),
)


def check_grid(pixels: int) -> None:
    """Refuse a grid of nothing."""
    if pixels < 1:
        raise SpecError(f"pixels must be at least 1, got {pixels}")


@dataclass(frozen=True)
class Breakout:
    """Ball (x, y) and paddle (x) of Breakout in pixels, rounded to tens as in the paper."""

    pixels: int = 10
    """Grid to round to."""

    needs: ClassVar[tuple[str, ...]] = ("ram",)

    def __post_init__(self) -> None:
        check_grid(self.pixels)

    def open(self, facts: Facts) -> Breakout:
        """Refuse other games."""
        BREAKOUT.check(facts)
        return self

    def __call__(self, values: Any, views: Mapping[str, Array]) -> Array:
        return BREAKOUT.read(views["ram"], self.pixels)

    def show(self, value: Array) -> str:
        """Say where ball and paddle are."""
        return BREAKOUT.say(value)


@dataclass(frozen=True)
class Pong:
    """Ball (x, y), own and other paddle (y) of Pong in pixels, rounded to tens."""

    pixels: int = 10
    """Grid to round to."""

    needs: ClassVar[tuple[str, ...]] = ("ram",)

    def __post_init__(self) -> None:
        check_grid(self.pixels)

    def open(self, facts: Facts) -> Pong:
        """Refuse other games."""
        PONG.check(facts)
        return self

    def __call__(self, values: Any, views: Mapping[str, Array]) -> Array:
        return PONG.read(views["ram"], self.pixels)

    def show(self, value: Array) -> str:
        """Say where ball and paddles are."""
        return PONG.say(value)
