"""The paper's generic Atari abstraction: a coarse picture in which small things survive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rpd_core.errors import FitError, SpecError
from rpd_core.plugin.protocols import Facts

Array = NDArray[Any]
Area = tuple[int, int, int, int]

USUAL_AREA: Area = (25, 195, 0, 160)
AREAS: dict[str, Area] = {
    "Alien": (0, 172, 8, 152),
    "Assault": (12, 188, 0, 160),
    "Asteroids": (16, 196, 0, 160),
    "Atlantis": (10, 182, 0, 160),
    "BankHeist": (36, 178, 8, 150),
    "BattleZone": (2, 178, 8, 160),
    "Berzerk": (2, 180, 4, 156),
    "Boxing": (30, 182, 26, 134),
    "Breakout": (32, 196, 8, 152),
    "ChopperCommand": (26, 172, 8, 160),
    "DemonAttack": (16, 186, 0, 160),
    "Hero": (18, 140, 8, 160),
    "IceHockey": (32, 188, 32, 128),
    "Jamesbond": (24, 180, 8, 160),
    "Krull": (0, 176, 8, 160),
    "Phoenix": (18, 184, 0, 160),
    "Pong": (34, 194, 0, 160),
    "Qbert": (26, 206, 0, 156),
    "Riverraid": (2, 162, 8, 160),
    "RoadRunner": (20, 180, 8, 152),
    "Seaquest": (26, 166, 8, 160),
    "SpaceInvaders": (24, 196, 0, 160),
    "StarGunner": (26, 190, 0, 160),
    "Tennis": (12, 184, 4, 156),
    "YarsRevenge": (10, 196, 8, 160),
}
"""Where the paper's games take place, without frame, score and lives."""


@dataclass(frozen=True)
class AtariGrid:
    """The game area in 18 x 14 cells of 9 grey levels, 0 to 8.

    The paper enlarges what matters before it shrinks the screen. Here every cell takes the grey of
    the pixel that stands out most from the background of its row of cells, so that a ball of a few
    pixels fills its cell wherever it is.
    """

    area: tuple[int, ...] = ()
    """Top, bottom, left, right of the game area in pixels, as `34+194+0+160`; none: the game's."""
    rows: int = 18
    """Cells from top to bottom."""
    columns: int = 14
    """Cells from left to right."""
    levels: int = 9
    """Grey levels."""

    needs: ClassVar[tuple[str, ...]] = ("grey",)

    def __post_init__(self) -> None:
        if min(self.rows, self.columns) < 1:
            raise SpecError(f"atari: there are no cells in {self.rows} x {self.columns}")
        if len(self.area) not in (0, 4):
            raise SpecError(f"atari: area takes top+bottom+left+right, got {list(self.area)}")
        top, bottom, left, right = self.area or USUAL_AREA
        if not (0 <= top <= bottom - self.rows and 0 <= left <= right - self.columns):
            raise SpecError(
                f"atari: the area {[top, bottom, left, right]} is too small for {self.rows} x "
                f"{self.columns} cells"
            )
        if not 2 <= self.levels <= 256:
            raise SpecError(f"atari: levels must lie in 2..256, got {self.levels}")

    def open(self, facts: Facts) -> AtariGrid:
        """Take the area of the game where none was given."""
        game = facts.description.removeprefix("atari:")
        return self if self.area else replace(self, area=AREAS.get(game, USUAL_AREA))

    def __call__(self, values: Any, views: Mapping[str, Array]) -> Array:
        top, bottom, left, right = self.area or USUAL_AREA
        grey = views["grey"]
        if bottom > grey.shape[1] or right > grey.shape[2]:
            raise FitError(
                f"atari: the area {[top, bottom, left, right]} lies outside a screen of "
                f"{grey.shape[1:]}"
            )
        picture = grey[:, top:bottom, left:right]
        down = windows(bottom - top, self.rows)
        across = windows(right - left, self.columns)
        bright, dark = _extremes(picture, down, across)
        usual = _backgrounds(picture, down)
        stands_out = np.where(bright - usual >= usual - dark, bright, dark)
        return (stands_out * self.levels >> 8).astype(np.uint8)

    def draw(self, value: Array) -> NDArray[np.uint8]:
        """Draw the cells from black to white, as large as the game area on the screen."""
        top, bottom, left, right = self.area or USUAL_AREA
        rows = np.arange(bottom - top) * self.rows // (bottom - top)
        columns = np.arange(right - left) * self.columns // (right - left)
        grey = (value.astype(np.uint16) * 255 // (self.levels - 1)).astype(np.uint8)
        return np.repeat(grey[np.ix_(rows, columns)][..., None], 3, axis=2)

    def show(self, value: Array) -> str:
        """Write the cells with dots for black and 8 for white, row by row."""
        marks = ".12345678" if self.levels == 9 else "".join(map(chr, range(48, 48 + self.levels)))
        return "/".join("".join(marks[int(cell)] for cell in row) for row in value)


def windows(length: int, parts: int) -> NDArray[np.intp]:
    """Return the pixels of equal windows, one row each; neighbours may share a pixel."""
    size = -(-length // parts)
    starts = np.arange(parts) * length // parts
    return np.minimum(starts, length - size)[:, None] + np.arange(size)


def _extremes(picture: Array, down: Array, across: Array) -> tuple[Array, Array]:
    """Return the brightest and the darkest pixel of every cell.

    First along the rows of pixels, then, turned around, along the columns: both times whole lines
    of neighbouring bytes are compared, which is several times faster than single ones.
    """
    turned = picture.swapaxes(0, 1)
    bright, dark = _along(turned, turned, down)
    width = picture.shape[2]
    high, low = (lines.transpose(2, 1, 0).reshape(width, -1) for lines in (bright, dark))
    cells, shape = _along(high, low, across), (len(across), len(picture), len(down))
    bright, dark = (one.reshape(shape).transpose(1, 2, 0) for one in cells)
    return bright.astype(np.int16, order="C"), dark.astype(np.int16, order="C")


def _along(high: Array, low: Array, parts: Array) -> tuple[Array, Array]:
    """Return the largest of the high and the smallest of the low lines of each window."""
    first, *others = parts.T
    bright, dark = high[first], low[first]
    for lines in others:
        upper = high[lines]
        lower = upper if low is high else low[lines]  # to take them costs as much as to compare
        np.maximum(bright, upper, out=bright)
        np.minimum(dark, lower, out=dark)
    return bright, dark


def _backgrounds(picture: Array, down: Array) -> Array:
    """Return the middle grey along the line through the middle of each row of cells."""
    lines = picture[:, down[:, down.shape[1] // 2], ::4]
    middle = lines.shape[2] // 2
    return np.partition(lines, middle, axis=2)[:, :, middle, None].astype(np.int16)
