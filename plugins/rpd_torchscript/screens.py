"""Preprocessing of Atari screens that some published policies were trained with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
_TOP, _BOTTOM, _SIZE = 35, 195, 80


def baby_a3c(screens: Array) -> Array:
    """Give what baby-a3c sees, (lanes, 1, 80, 80) floats from 0 to 1.

    Rows 35 to 195, mean over the colours, each frame stretched to its own darkest and brightest
    pixel, then made smaller by interpolation.
    """
    grey = screens[:, _TOP:_BOTTOM].astype(np.float64).mean(axis=3)
    low = grey.min(axis=(1, 2), keepdims=True)
    spread = grey.max(axis=(1, 2), keepdims=True) - low
    scale = 255.0 / np.where(spread == 0.0, 255.0, spread)  # a frame of one colour is left alone
    stretched = np.floor((grey - low) * scale + 0.5).astype(np.float32)
    across = np.floor(stretched @ halving(grey.shape[2]).T + 0.5)
    small = np.floor(halving(grey.shape[1]) @ across + 0.5)
    return np.asarray(np.clip(small, 0, 255) / 255.0, dtype=np.float32)[:, None]


def halving(before: int) -> Array:
    """Give the matrix that interpolates down to 80 pixels; old ones weigh by their distance."""
    step = before / _SIZE
    centre = (np.arange(_SIZE)[:, None] + 0.5) * step
    raw = np.clip(1.0 - np.abs(np.arange(before)[None] + 0.5 - centre) / step, 0.0, None)
    return np.asarray(raw / raw.sum(axis=1, keepdims=True), dtype=np.float32)
