"""Abstractions of pictures: grey, crop, resize, levels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rpd_basics.batches import Array, Batch, shape_of
from rpd_core.errors import FitError, SpecError
from rpd_core.plugin.wording import digest_of

_AT_ONCE = 256
_MOST_FRAMES = 16
_NO_PICTURES = "for vectors there are round and bins, for dicts clusters, for both auto"
_NO_PICTURE = (
    "grey works on pictures of shape (height, width, 3), (height, width) or (stack, height, width) "
    "and got shape {}"
)
_RED, _GREEN, _BLUE = 299, 587, 114


def _grey_pictures(values: Batch, who: str) -> Array:
    """Return a batch of grey pictures, or refuse another shape."""
    if isinstance(values, dict) or np.ndim(values) != 3:
        coloured = not isinstance(values, dict) and np.ndim(values) == 4
        raise FitError(
            f"{who} works on grey pictures of shape (height, width) and got shape "
            f"{shape_of(values)}: {'make it grey first' if coloured else _NO_PICTURES}"
        )
    return np.asarray(values)


def _frames_first(rows: Array) -> bool:
    """Return whether the first axis of pictures with three holds the colours or the frames."""
    first, last = rows.shape[1], rows.shape[3]
    at_the_end = last in (1, 3) or (first not in (1, 3) and last <= first)
    return first <= _MOST_FRAMES and not at_the_end


def to_grey(values: Batch) -> Array:
    """Return grey pictures (number, height, width) of colour pictures and of stacks.

    The short axis, first or last, holds the colours or the frames. Three of them are red, green
    and blue, more threes a stack of colour pictures, any other number a stack of grey ones; of a
    stack the last, which is the newest, is taken.
    """
    if isinstance(values, dict) or np.ndim(values) not in (3, 4):
        raise FitError(f"{_NO_PICTURE.format(shape_of(values))}: {_NO_PICTURES}")
    rows = np.asarray(values)
    if rows.ndim == 3:
        return rows
    if min(rows.shape[1], rows.shape[3]) > _MOST_FRAMES:
        raise FitError(_NO_PICTURE.format(shape_of(values)))
    frames = np.moveaxis(rows, 1, 3) if _frames_first(rows) else rows
    if frames.shape[3] % 3:
        return frames[..., -1]
    return _mix(frames[..., -3], frames[..., -2], frames[..., -1])


def _mix(red: Array, green: Array, blue: Array) -> Array:
    if red.dtype.kind not in "iu":
        return np.asarray((red * _RED + green * _GREEN + blue * _BLUE) / 1000)
    wide: Any = np.uint32 if red.dtype == np.uint8 else np.int64  # the first is enough, and faster
    total = red.astype(wide) * _RED + green.astype(wide) * _GREEN
    return np.asarray((total + blue.astype(wide) * _BLUE + 500) // 1000).astype(red.dtype)


@lru_cache(maxsize=64)
def _shares(old: int, fresh: int) -> tuple[Array, int]:
    """Return how much of each old pixel lies in each new one, in whole units, and the total."""
    common = math.gcd(old, fresh)
    pixel, total = fresh // common, old // common
    low = np.maximum(np.arange(fresh)[:, None] * total, np.arange(old) * pixel)
    high = np.minimum(np.arange(1, fresh + 1)[:, None] * total, np.arange(1, old + 1) * pixel)
    return np.maximum(high - low, 0).astype(np.float64), total


def shrink(grey: Array, size: tuple[int, int]) -> Array:
    """Return area averages; those of whole numbers are exact and rounded, half up."""
    down, rows = _shares(grey.shape[1], size[0])
    across, columns = _shares(grey.shape[2], size[1])
    whole = grey.dtype.kind in "biu"
    small = np.empty((len(grey), *size), dtype=grey.dtype if whole else np.float64)
    for first in range(0, len(grey), _AT_ONCE):
        few = slice(first, first + _AT_ONCE)
        mean = (down @ grey[few].astype(np.float64) @ across.T) / (rows * columns)
        small[few] = np.floor(mean + 0.5) if whole else mean
    return small


def brightest(grey: Array, size: tuple[int, int]) -> Array:
    """Return the brightest pixel of every cell, so that small bright things survive."""
    starts = [np.arange(n) * length // n for n, length in zip(size, grey.shape[1:], strict=True)]
    rows = np.maximum.reduceat(grey, starts[0], axis=1)
    return np.asarray(np.maximum.reduceat(rows, starts[1], axis=2))


def to_levels(values: Array, count: int, span: tuple[float, ...] = ()) -> Array:
    """Return levels 0 to count - 1 of bytes from 0 to 255, floats from 0 to 1, or a given span."""
    if values.dtype.kind == "f" and np.isnan(values).any():
        place = tuple(np.argwhere(np.isnan(values))[0, 1:].tolist())
        raise FitError(f"levels cannot take nan at {place}: a pixel must be a number")
    if span:
        values = (values - span[0]) / (span[1] - span[0])
    elif values.dtype == np.uint8:
        return (values.astype(np.uint16) * count // 256).astype(np.uint8)
    elif values.dtype.kind not in "bf" or values.min() < 0 or values.max() > 1:
        raise FitError(
            "levels works on bytes from 0 to 255 and floats from 0 to 1 and got "
            f"{values.dtype} from {values.min():g} to {values.max():g}: give the values of black "
            "and white, for example levels:9,span=0+255"
        )
    return np.clip(np.floor(values.astype(np.float64) * count), 0, count - 1).astype(np.uint8)


def _paint(picture: Array) -> NDArray[np.uint8]:
    """Return a grey or coloured picture as bytes (height, width, 3).

    Bytes stay as they are, floats from 0 to 1 and truth values fill the range; any other numbers
    run from black, the smallest, to white, the largest.
    """
    values = np.asarray(picture)
    if values.dtype != np.uint8:
        low, high = (0.0, 1.0) if _is_unit(values) else (float(values.min()), float(values.max()))
        shares = (values.astype(np.float64) - low) / ((high - low) or 1.0)
        values = np.floor(shares * 255 + 0.5).astype(np.uint8)
    if values.ndim == 3 and values.shape[2] == 3:
        return values
    grey = values if values.ndim == 2 else values[..., -1]
    return np.repeat(grey[..., None], 3, axis=2)


def _is_unit(values: Array) -> bool:
    if values.dtype.kind == "b":
        return True
    return values.dtype.kind == "f" and bool((values >= 0).all() and (values <= 1).all())


@dataclass(frozen=True)
class Grey:
    """Pictures without their colours; of a stack of pictures the newest, which is the last."""

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        return to_grey(values)

    def draw(self, value: Array) -> NDArray[np.uint8]:
        """Draw the picture as it is."""
        return _paint(value)


@dataclass(frozen=True)
class Crop:
    """A part of pictures, for example `crop:34+194+0+160`."""

    area: tuple[int, ...]
    """Top, bottom, left and right edge in pixels."""

    def __post_init__(self) -> None:
        if len(self.area) != 4:
            raise SpecError(f"crop takes top+bottom+left+right, got {list(self.area)}")
        top, bottom, left, right = self.area
        if not (0 <= top < bottom and 0 <= left < right):
            raise SpecError(f"crop: nothing lies inside {list(self.area)}")

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        if isinstance(values, dict) or np.ndim(values) not in (3, 4):
            raise FitError(
                "crop works on pictures of shape (height, width) or (height, width, 3) and got "
                f"shape {shape_of(values)}: {_NO_PICTURES}"
            )
        if np.ndim(values) == 4 and _frames_first(values):
            raise FitError(
                f"crop works on pictures whose first axis is the height and got shape "
                f"{shape_of(values)}, colours or frames first: make it grey first"
            )
        top, bottom, left, right = self.area
        if bottom > values.shape[1] or right > values.shape[2]:
            raise FitError(
                f"crop: the area {list(self.area)} lies outside pictures of shape "
                f"{shape_of(values)}"
            )
        return values[:, top:bottom, left:right]

    def draw(self, value: Array) -> NDArray[np.uint8]:
        """Draw the picture as it is."""
        return _paint(value)


@dataclass(frozen=True)
class Resize:
    """Smaller grey pictures, for example `resize:18+14`."""

    size: tuple[int, ...]
    """Rows and columns."""
    method: Literal["mean", "max"] = "mean"
    """What stands for many pixels: their mean, or the brightest, which keeps small things."""

    def __post_init__(self) -> None:
        if len(self.size) != 2 or min(self.size) < 1:
            raise SpecError(f"resize takes rows+columns, got {list(self.size)}")

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        grey = _grey_pictures(values, "resize")
        size = self.size[0], self.size[1]
        if size[0] > grey.shape[1] or size[1] > grey.shape[2]:
            raise FitError(f"resize: {size} is larger than pictures of {grey.shape[1:]}")
        return shrink(grey, size) if self.method == "mean" else brightest(grey, size)

    def draw(self, value: Array) -> NDArray[np.uint8]:
        """Draw the small picture, a pixel for each of its pixels."""
        return _paint(value)


@dataclass(frozen=True)
class Levels:
    """Fewer levels of grey, for example `levels:9`; bytes, or floats from 0 to 1."""

    count: int = 9
    """Number of levels, from 0 on."""
    span: tuple[float, ...] = ()
    """Values that count as black and white; none: 0 and 255 of bytes, 0 and 1 of floats."""

    def __post_init__(self) -> None:
        if not 2 <= self.count <= 256:
            raise SpecError(f"levels: count must lie in 2..256, got {self.count}")
        usable = len(self.span) == 2 and 0 < self.span[1] - self.span[0] < math.inf
        if self.span and not usable:
            raise SpecError(f"levels: span takes black+white, as 0+255, got {list(self.span)}")

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        return to_levels(_grey_pictures(values, "levels"), self.count, self.span)

    def draw(self, value: Array) -> NDArray[np.uint8]:
        """Draw the levels from black to white, a pixel for each of the picture's pixels."""
        return _paint((value.astype(np.uint16) * 255 // (self.count - 1)).astype(np.uint8))

    def show(self, value: Array) -> str:
        """Write the picture in digits, row by row; those of many levels by their size."""
        if self.count > 10:
            return f"picture of {value.shape[0]} x {value.shape[1]} ({digest_of(value)})"
        return "/".join("".join(map(str, row)) for row in value.tolist())
