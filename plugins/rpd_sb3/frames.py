"""Frame stacks: the last few observations of an episode, kept between steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Stack:
    """Keeps `count` observations, the newest last.

    Along an existing axis an episode starts with zeros, as the vector environments of
    stable-baselines3 do; along a new one with copies of the first observation, as Gymnasium does.
    """

    count: int
    axis: int
    """Axis of one observation, counted without the lanes; -1 is the last."""
    new_axis: bool = False

    def __call__(self, values: Array, starts: NDArray[np.bool_], kept: Array | None) -> Array:
        """Return the stacks of all lanes; what is returned is to be kept for the next step."""
        if self.new_axis:
            values = values[:, None]
        axis = 1 if self.new_axis or self.axis == 0 else values.ndim - 1
        blank = self._blank(values, axis)
        if kept is None:
            return blank
        size = values.shape[axis]
        older = np.take(kept, range(size, kept.shape[axis]), axis=axis)
        moved = np.concatenate([older, values], axis=axis)
        return np.where(starts.reshape(-1, *[1] * (moved.ndim - 1)), blank, moved)

    def _blank(self, values: Array, axis: int) -> Array:
        """Return the stack at the first step of an episode."""
        filler = values if self.new_axis else np.zeros_like(values)
        return np.concatenate([filler] * (self.count - 1) + [values], axis=axis)
