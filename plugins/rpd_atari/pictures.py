"""The pictures of all lanes: the last two frames, joined, shrunk and stacked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpd_atari.pixels import Shrink, to_grey

Array = NDArray[Any]


class Pictures:
    """The pictures that policies see, made of the last two frames of each lane.

    Large arrays are kept and swapped instead of made at every step, which would cost more
    than filling them; arrays that were returned stay as they are until the step after the next.
    """

    def __init__(
        self, lanes: int, screen: tuple[int, int], stack: tuple[int, int, int], colour: bool = False
    ) -> None:
        self.colour = colour
        """Whether frames are joined in colour and then made grey, as SB3 does."""
        self.shrink = Shrink(*screen, stack[1:])
        depth = (3,) if colour else ()
        self.frames = np.zeros((2, lanes, *screen, *depth), dtype=np.uint8)
        """The frame before the last and the last."""
        self.grey = np.zeros((lanes, *screen), dtype=np.uint8)
        """The two joined."""
        self.small = np.zeros((lanes, *stack[1:]), dtype=np.uint8)
        """The joined ones shrunk."""
        self.stack = np.zeros((lanes, *stack), dtype=np.uint8)
        """The last few shrunk ones, the oldest first."""
        self._spare_grey, self._spare_stack = self.grey.copy(), self.stack.copy()

    def develop(self, lanes: NDArray[np.int64]) -> None:
        """Join the frames of some lanes and push the shrunk pictures on their stacks."""
        if len(lanes) == len(self.grey):
            self._develop_all()
            return
        before, grey, small = self.grey[lanes], self.join(self.frames[:, lanes]), self.small[lanes]
        self.shrink.update(small, before, grey)
        self.stack[lanes, :-1] = self.stack[lanes, 1:]
        self.stack[lanes, -1] = self.small[lanes] = small
        self.grey[lanes] = grey

    def _develop_all(self) -> None:
        fresh, stack = self.join(self.frames, self._spare_grey), self._spare_stack
        self.shrink.update(self.small, self.grey, fresh)
        stack[:, :-1] = self.stack[:, 1:]
        stack[:, -1] = self.small
        self.grey, self._spare_grey = fresh, self.grey
        self.stack, self._spare_stack = stack, self.stack

    def join(self, frames: Array, into: Array | None = None) -> Array:
        """Return the brighter of the two frames at every pixel, in grey."""
        if not self.colour:
            return np.asarray(np.maximum(frames[0], frames[1], out=into))
        grey = to_grey(np.maximum(frames[0], frames[1]))
        if into is None:
            return grey
        into[...] = grey
        return into

    def take(self, ale: Any, lane: int, which: int) -> None:
        """Keep the present frame of a lane as the last (1) or the one before it (0)."""
        buffer = self.frames[which, lane]
        ale.getScreenRGB(buffer) if self.colour else ale.getScreenGrayscale(buffer)
