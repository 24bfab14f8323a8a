"""Cuts that people can read: as fine as the data can tell, and not finer than a few digits."""

from __future__ import annotations

import math

import numpy as np

from rpd_basics.batches import Array
from rpd_basics.decimals import shortest_between

_FINEST = 300
"""Steps that the usual range of an entry is divided into, at least; at most ten times as many."""
_DIGITS = 1000
"""Steps that the size of a number is divided into: three digits."""
_FEWEST = 20
"""Steps of the usual range that are told apart, however many digits that takes."""
_USUAL = (0.01, 0.99)
"""Quantiles between which the usual range of an entry lies: single outliers do not count."""
_UP = 0.1
"""From which part of a decade on the next power of ten is taken: from 0.8 on it is 1."""
_NOISE = 8
"""Last places of a float that computing may have changed."""


def resolution(column: Array) -> float:
    """Return the power of ten below which differences in an entry are not told apart.

    It is a part of the range that the entry usually has. Where that is small beside the numbers
    themselves, as that of cosines near 1, numbers of three digits are preferred. It is infinite
    where only the last places of floats differ, which tell nothing.
    """
    wide = column.astype(np.float64)
    low, high = (float(end) for end in np.quantile(wide, _USUAL))
    if low == high:
        low, high = float(wide.min()), float(wide.max())
    span, size = high - low, max(abs(low), abs(high))
    noise = _NOISE * size * float(np.finfo(column.dtype).eps) if column.dtype.kind == "f" else 0.0
    if span <= noise:
        return math.inf
    finest = max(span / _FINEST, min(size / _DIGITS, span / _FEWEST))
    if not 0 < finest < math.inf:
        return 0.0
    return float(f"1e{math.floor(math.log10(finest) + _UP)}")


def cells_of(column: Array) -> Array:
    """Return an entry with all that is not told apart made equal, in the same order."""
    step = resolution(column)
    wide = column.astype(np.float64)
    if step == 0.0:
        return wide
    with np.errstate(over="ignore"):
        cells = np.rint(wide / step)
    return cells if np.isfinite(cells).all() else wide


def repeats(cells: Array, other: Array) -> bool:
    """Return whether one entry always is where another is, up or down."""
    order = np.argsort(other, kind="stable")
    steps, others = np.diff(cells[order]), np.diff(other[order])
    if ((others == 0) & (steps != 0)).any() or ((others != 0) & (steps == 0)).any():
        return False
    return bool((steps >= 0).all() or (steps <= 0).all())


def cut_between(low: float, high: float) -> float:
    """Return a short number well between two, so that noise in either does not cross it."""
    inner = 0.75 * low + 0.25 * high, 0.25 * low + 0.75 * high
    return shortest_between(*inner) if inner[0] < inner[1] else shortest_between(low, high)


def spaced(cuts: Array, step: float) -> Array:
    """Return ascending cuts without those that follow another too closely."""
    kept: list[float] = []
    if math.isinf(step):
        return np.array(kept)
    for cut in cuts.tolist():
        if not kept or cut - kept[-1] >= step:
            kept.append(cut)
    return np.array(kept)
