"""Screens to the small grey pictures that policies see, pixel for pixel as OpenCV makes them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


AT_ONCE = 168
"""Strips shrunk together: many more would not fit into the cache."""


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

    Pictures are cut into strips of as many rows as it takes for the pattern of the rows to come
    back, for example 42 strips of 5 rows that become 2; a strip that has not changed since the
    last picture need not be done again.
    """

    def __init__(self, height: int, width: int, size: tuple[int, int]) -> None:
        self.rows, self.columns = Axis(height, size[0]), Axis(width, size[1])
        self.total = self.rows.width * self.columns.width
        self.kind: Any = np.uint16 if self.total * 256 < 2**16 else np.uint32
        self.weights = self.columns.overlap.astype(self.kind)
        self.old = (self.rows.width, width)
        self.fresh = (self.rows.period, size[1])

    def __call__(self, pictures: Array) -> Array:
        """Shrink pictures (number, height, width) of bytes."""
        small = self._strips(pictures.reshape(-1, *self.old))
        return small.reshape(len(pictures), -1, self.fresh[1])

    def update(self, small: Array, before: Array, pictures: Array) -> None:
        """Make the shrunk pictures of `before` those of `pictures`, where they differ."""
        old, fresh = before.reshape(-1, *self.old), pictures.reshape(-1, *self.old)
        changed = np.flatnonzero(_rows_differ(old, fresh))
        if len(changed):
            strips = small.reshape(-1, *self.fresh)
            strips[changed] = self._strips(fresh[changed])

    def _strips(self, strips: Array) -> Array:
        small = np.empty((len(strips), *self.fresh), dtype=np.uint8)
        tied = []
        for first in range(0, len(strips), AT_ONCE):
            few = slice(first, first + AT_ONCE)
            ties = self._round(self._across(self._down(strips[few])), small[few])
            tied.append(ties + first * (self.fresh[0] * self.fresh[1]))
        places = np.unravel_index(np.concatenate(tied), small.shape)
        small[places] = self._in_floats(strips, *places)
        return small

    def _down(self, strips: Array) -> Array:
        """Add up rows."""
        fresh = np.zeros((len(strips), self.fresh[0], strips.shape[2]), dtype=self.kind)
        whole = self.rows.period
        for j in range(whole):
            target, overlaps = fresh[:, j], self.rows.overlaps[j]
            for row in [row for row, overlap in overlaps if overlap == whole]:
                target += strips[:, row]
            target *= self.kind(whole)
            for row, overlap in overlaps:
                if overlap != whole:
                    part = strips[:, row]
                    target += part if overlap == 1 else part * self.kind(overlap)
        return fresh

    def _across(self, sums: Array) -> Array:
        """Add up columns."""
        total: Array = sums.take(self.columns.source[0], axis=2)
        total *= self.weights[0]
        for source, weight in zip(self.columns.source[1:], self.weights[1:], strict=True):
            part = sums.take(source, axis=2)
            part *= weight
            total += part
        return total

    def _round(self, sums: Array, small: Array) -> Array:
        """Write averages to the nearest level; return the places that lie between two levels."""
        total, half = self.kind(self.total), self.kind(self.total // 2)
        levels = (sums + half) // total
        small[...] = levels
        levels *= total
        levels -= sums
        return np.flatnonzero(levels == half) if self.total % 2 == 0 else np.zeros(0, np.intp)

    def _in_floats(self, strips: Array, strip: Array, row: Array, column: Array) -> Array:
        total = np.zeros(len(strip), dtype=np.float32)
        for source, weight in zip(self.rows.source, self.rows.weight, strict=True):
            line = np.zeros(len(strip), dtype=np.float32)
            for across, share in zip(self.columns.source, self.columns.weight, strict=True):
                line += strips[strip, source[row], across[column]] * share[column]
            total += line * weight[row]
        rounded: Array = np.rint(total).astype(np.uint8)
        return rounded


def _rows_differ(left: Array, right: Array) -> Array:
    """Return which rows of two batches of bytes differ, eight bytes at a time where that works."""
    left, right = left.reshape(len(left), -1), right.reshape(len(right), -1)
    if left.shape[1] % 8 == 0:
        left, right = left.view(np.uint64), right.view(np.uint64)
    unequal: Array = (left != right).any(axis=1)
    return unequal


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
