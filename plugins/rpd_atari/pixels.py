"""Screens to the small grey pictures that policies see, pixel for pixel as OpenCV makes them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


AT_ONCE = 4
"""Pictures shrunk together: more would not fit into the cache."""


class Axis:
    """How the pixels of one axis are shared out among fewer pixels.

    In units of which each old pixel is `fresh / gcd` and each new one `old / gcd` wide, all
    overlaps are whole numbers, so that sums over them are exact. The pattern comes back every
    `width` old and `period` new pixels.
    """

    def __init__(self, old: int, fresh: int) -> None:
        self.repeats = math.gcd(old, fresh)
        self.width, self.period = old // self.repeats, fresh // self.repeats
        self.overlaps = [
            _overlaps(j * self.width, (j + 1) * self.width, self.period) for j in range(fresh)
        ]
        taps = max(map(len, self.overlaps))
        self.source = np.zeros((taps, fresh), dtype=np.intp)
        self.overlap = np.zeros((taps, fresh), dtype=np.uint32)
        for j, row in enumerate(self.overlaps):
            for tap, (pixel, overlap) in enumerate(row):
                self.source[tap, j], self.overlap[tap, j] = pixel, overlap
        self.weight = (self.overlap / self.width).astype(np.float32)


def _overlaps(low: int, high: int, pixel_width: int) -> list[tuple[int, int]]:
    """List the old pixels that lie under a stretch, each with the length it shares."""
    pixels = range(low // pixel_width, -(-high // pixel_width))
    return [
        (pixel, min(high, (pixel + 1) * pixel_width) - max(low, pixel * pixel_width))
        for pixel in pixels
    ]


class Shrink:
    """Area averages of batches of grey pictures; the same as `cv2.resize(..., INTER_AREA)`.

    Averages are computed in whole numbers. OpenCV adds in 32-bit floats, whose rounding errors
    decide only where an average lies exactly between two levels: those few pixels are done again
    in floats, in OpenCV's order.
    """

    def __init__(self, height: int, width: int, size: tuple[int, int]) -> None:
        self.rows, self.columns = Axis(height, size[0]), Axis(width, size[1])
        self.total = self.rows.width * self.columns.width
        self.kind: Any = np.uint16 if self.total * 256 < 2**16 else np.uint32

    def __call__(self, pictures: Array) -> Array:
        """Shrink pictures (number, height, width) of bytes, a few at a time to stay in cache."""
        shape = (len(pictures), self.rows.source.shape[1], self.columns.source.shape[1])
        small = np.empty(shape, dtype=np.uint8)
        tied = []
        for first in range(0, len(pictures), AT_ONCE):
            few = slice(first, first + AT_ONCE)
            ties = self._round(self._across(self._down(pictures[few])), small[few])
            tied.append(ties + first * (shape[1] * shape[2]))
        places = np.unravel_index(np.concatenate(tied), shape)
        small[places] = self._in_floats(pictures, *places)
        return small

    def _round(self, sums: Array, small: Array) -> Array:
        """Write averages to the nearest level; give the places that lie between two levels."""
        total, half = self.kind(self.total), self.kind(self.total // 2)
        levels = (sums + half) // total
        small[...] = levels
        levels *= total
        levels -= sums
        return np.flatnonzero(levels == half) if self.total % 2 == 0 else np.zeros(0, np.intp)

    def _down(self, pictures: Array) -> Array:
        """Add up rows; each lies in one piece, so that slices will do."""
        rows, count, width = self.rows, len(pictures), pictures.shape[2]
        old = pictures.reshape(count, rows.repeats, rows.width, width)
        fresh = np.zeros((count, rows.repeats, rows.period, width), dtype=self.kind)
        for j in range(rows.period):
            target = fresh[:, :, j]
            inside = [pixel for pixel, overlap in rows.overlaps[j] if overlap == rows.period]
            for pixel in inside:
                target += old[:, :, pixel]
            target *= self.kind(rows.period)
            for pixel, overlap in rows.overlaps[j]:
                if pixel not in inside:
                    part = old[:, :, pixel]
                    target += part if overlap == 1 else part * self.kind(overlap)
        return fresh.reshape(count, -1, width)

    def _across(self, sums: Array) -> Array:
        """Add up columns."""
        columns = self.columns
        weights = columns.overlap.astype(self.kind)
        total: Array = sums.take(columns.source[0], axis=2)
        total *= weights[0]
        for source, weight in zip(columns.source[1:], weights[1:], strict=True):
            part = sums.take(source, axis=2)
            part *= weight
            total += part
        return total

    def _in_floats(self, pictures: Array, picture: Array, row: Array, column: Array) -> Array:
        total = np.zeros(len(picture), dtype=np.float32)
        for source, weight in zip(self.rows.source, self.rows.weight, strict=True):
            line = np.zeros(len(picture), dtype=np.float32)
            for across, share in zip(self.columns.source, self.columns.weight, strict=True):
                line += pictures[picture, source[row], across[column]] * share[column]
            total += line * weight[row]
        rounded: Array = np.rint(total).astype(np.uint8)
        return rounded


_RED, _GREEN, _BLUE, _SHIFT = 9798, 19235, 3735, 15
"""Shares of the colours in grey, in units of 2**-15, as OpenCV rounds them."""


def to_grey(colours: Array) -> Array:
    """Make pictures (..., 3) of bytes grey; the same as `cv2.cvtColor(..., COLOR_RGB2GRAY)`."""
    sums = colours[..., 0] * np.uint32(_RED)
    sums += colours[..., 1] * np.uint32(_GREEN)
    sums += colours[..., 2] * np.uint32(_BLUE)
    sums += np.uint32(1 << (_SHIFT - 1))
    sums >>= np.uint32(_SHIFT)
    return sums.astype(np.uint8)
