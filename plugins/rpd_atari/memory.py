"""Abstractions of the console's 128 bytes of memory: chosen bytes, balls and paddles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rpd_core.errors import FitError, SpecError
from rpd_core.plugin.protocols import Entry, Facts

Array = NDArray[Any]

_BYTES = 128
"""Size of the memory."""


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
        """Return each byte with its position."""
        places = self.positions or range(len(value))
        return ", ".join(
            f"byte {place} is {byte}" for place, byte in zip(places, value.tolist(), strict=True)
        )

    def name_entries(self, before: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return the bytes by their positions."""
        return tuple(Entry(f"byte {place}") for place in self.positions or range(_BYTES))


SCREEN = (210, 160)
"""Height and width of a screen of these games."""
BALL_SIZE = (4, 2)
"""Height and width of a ball, in pixels."""
_WIDE, _TALL = (4, 16), (16, 4)
"""Height and width of paddles."""
_BREAKOUT_ROW, _PONG_COLUMNS = 189, (140, 16)
"""Where paddles always are: their top in Breakout, left edges of the own and the other in Pong."""
_BALL = (0, 1)
"""Of the positions that are read, the ball's x and y come first: it is gone as a whole."""


@dataclass(frozen=True)
class _MemoryMap:
    """Where a game keeps the positions of objects in memory; 0 there: not on the screen."""

    game: str
    names: tuple[str, ...]
    addresses: tuple[int, ...]
    offsets: tuple[int, ...]
    """What to add to get pixels of the screen."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The positions by name; what is gone is at -1."""
        return tuple(map(Entry, self.names))

    def check(self, facts: Facts) -> None:
        """Refuse other games: their bytes mean something else."""
        if facts.description != f"atari:{self.game}":
            raise FitError(
                f"abstraction {self.game.lower()!r} reads the memory of atari:{self.game}, "
                f"not of {facts.description or 'another environment'}"
            )

    def read(self, ram: Array, pixels: int) -> Array:
        """Return positions rounded to a grid; -1 where an object is not on the screen."""
        raw = ram[:, list(self.addresses)].astype(np.int16)
        there = raw > 0
        there[:, _BALL] = there[:, _BALL].all(axis=1, keepdims=True)
        rounded = np.rint((raw + np.array(self.offsets)) / pixels) * pixels
        return np.where(there, np.maximum(rounded, 0), -1).astype(np.int16)

    def describe(self, value: Array) -> str:
        """Describe where objects are, in pixels of the screen."""
        named = zip(self.names, value.tolist(), strict=True)
        return ", ".join(f"{name} {'gone' if at < 0 else at}" for name, at in named)


BREAKOUT = _MemoryMap("Breakout", ("ball x", "ball y", "paddle x"), (99, 101, 72), (-49, 9, -47))
PONG = _MemoryMap(
    "Pong",
    ("ball x", "ball y", "paddle y", "other paddle y"),
    (49, 54, 51, 50),
    (-49, -14, -13, -15),
)


def _check_grid(component: str, pixels: int) -> None:
    """Refuse a grid that is finer than pixels or coarser than the screen."""
    if not 1 <= pixels <= SCREEN[0]:
        raise SpecError(f"{component}: pixels must lie in 1..{SCREEN[0]}, got {pixels}")


def _draw_blocks(*blocks: tuple[int, int, tuple[int, int]]) -> NDArray[np.uint8]:
    """Draw white blocks on a black screen: x and y of the corner, height and width; -1: gone."""
    picture = np.zeros((*SCREEN, 3), dtype=np.uint8)
    for x, y, (height, width) in blocks:
        if min(x, y) >= 0:
            picture[y : y + height, x : x + width] = 255
    return picture


@dataclass(frozen=True)
class Breakout:
    """Ball (x, y) and paddle (x) of Breakout in pixels, rounded to tens as in the paper."""

    pixels: int = 10
    """Grid to round to."""

    needs: ClassVar[tuple[str, ...]] = ("ram",)

    def __post_init__(self) -> None:
        _check_grid("breakout", self.pixels)

    def open(self, facts: Facts) -> Breakout:
        """Refuse other games."""
        BREAKOUT.check(facts)
        return self

    def __call__(self, values: Any, views: Mapping[str, Array]) -> Array:
        return BREAKOUT.read(views["ram"], self.pixels)

    def draw(self, value: Array) -> NDArray[np.uint8]:
        """Draw ball and paddle on an empty screen."""
        x, y, paddle = value.tolist()
        return _draw_blocks((x, y, BALL_SIZE), (paddle, _BREAKOUT_ROW, _WIDE))

    def show(self, value: Array) -> str:
        """Describe where ball and paddle are."""
        return BREAKOUT.describe(value)

    def name_entries(self, before: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return what is read from memory."""
        return BREAKOUT.entries


@dataclass(frozen=True)
class Pong:
    """Ball (x, y), own and other paddle (y) of Pong in pixels, rounded to tens."""

    pixels: int = 10
    """Grid to round to."""

    needs: ClassVar[tuple[str, ...]] = ("ram",)

    def __post_init__(self) -> None:
        _check_grid("pong", self.pixels)

    def open(self, facts: Facts) -> Pong:
        """Refuse other games."""
        PONG.check(facts)
        return self

    def __call__(self, values: Any, views: Mapping[str, Array]) -> Array:
        return PONG.read(views["ram"], self.pixels)

    def draw(self, value: Array) -> NDArray[np.uint8]:
        """Draw ball and paddles on an empty screen."""
        x, y, *paddles = value.tolist()
        sides = zip(_PONG_COLUMNS, paddles, strict=True)
        return _draw_blocks((x, y, BALL_SIZE), *((at, top, _TALL) for at, top in sides))

    def show(self, value: Array) -> str:
        """Describe where ball and paddles are."""
        return PONG.describe(value)

    def name_entries(self, before: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return what is read from memory."""
        return PONG.entries
