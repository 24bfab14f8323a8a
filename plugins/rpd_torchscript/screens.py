"""Preprocessing of Atari screens that some published policies were trained with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
_TOP, _BOTTOM = 35, 195


def baby_a3c(screens: Array) -> Array:
    """Return what baby-a3c sees, (lanes, 1, 80, 80) floats from 0 to 1.

    Rows 35 to 195, mean over the colours, each frame stretched to its own darkest and brightest
    pixel, then made half as large. All in whole numbers, rounded after each step.
    """
    colours = screens[:, _TOP:_BOTTOM].astype(np.int32)
    light = colours[..., 0] + colours[..., 1] + colours[..., 2]
    low = light.min(axis=(1, 2), keepdims=True)
    spread = light.max(axis=(1, 2), keepdims=True) - low
    spread = np.where(spread == 0, 1, spread)  # a frame of one colour becomes black
    stretched = (510 * (light - low) + spread) // (2 * spread)
    across = _halved(stretched)
    small = _halved(across.swapaxes(1, 2)).swapaxes(1, 2)
    return np.asarray(small / np.float32(255.0), dtype=np.float32)[:, None]


def _halved(rows: Array) -> Array:
    """Halve the last axis: four old pixels weigh 1, 3, 3, 1 in a new one, three at the edges."""
    count = rows.shape[-1]
    inner = rows[..., 1 : count - 4 : 2] + rows[..., 4 : count - 1 : 2]
    inner = inner + 3 * (rows[..., 2 : count - 3 : 2] + rows[..., 3 : count - 2 : 2])
    first = 3 * (rows[..., :1] + rows[..., 1:2]) + rows[..., 2:3]
    last = 3 * (rows[..., -1:] + rows[..., -2:-1]) + rows[..., -3:-2]
    return np.concatenate([_rounded(first, 7), _rounded(inner, 8), _rounded(last, 7)], axis=-1)


def _rounded(total: Array, divisor: int) -> Array:
    return (2 * total + divisor) // (2 * divisor)
