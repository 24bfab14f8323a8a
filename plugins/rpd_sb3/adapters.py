"""The steps that turn one observation into another, and the ways they can be put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rpd_sb3.encodings import (
    MISSION_VIEW,
    WithMission,
    WithMissionOfLane,
    flat_size,
    one_hot,
    one_hot_shape,
)
from rpd_sb3.frames import Stack
from rpd_sb3.statistics import Normal

Array = NDArray[Any]
Step = Callable[[Array], Array]
_ENDLESS = 1e30


@dataclass(frozen=True)
class Adapter:
    """The way of one part of the observation to the model."""

    source: str | None
    """Part of a dictionary; None: the whole observation."""
    shape: tuple[int, ...]
    """Shape of what comes out."""
    low: float
    high: float
    before: tuple[Step, ...] = ()
    stack: Stack | None = None
    after: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    normal: Normal | None = None
    """Statistics that are still to be applied."""
    view: str = ""
    """A view of the environment whose bytes are put behind the flattened part first."""

    def then(self, step: Step, shape: tuple[int, ...], note: str) -> Adapter:
        """Add a step."""
        if self.stack is None:
            longer = replace(self, before=(*self.before, step))
        else:
            longer = replace(self, after=(*self.after, step))
        return replace(longer, shape=shape, notes=(*self.notes, note)).normalised()

    def normalised(self) -> Adapter:
        """Apply the statistics as soon as the shape is theirs."""
        if self.normal is None or self.normal.shape != self.shape:
            return self
        note = f"normalised, clipped at {self.normal.clip:g}"
        clip = self.normal.clip
        unscaled = replace(self, normal=None, low=-clip, high=clip)
        return unscaled.then(self.normal, self.shape, note)

    def stacked(self, stack: Stack, shape: tuple[int, ...]) -> Adapter:
        """Add a frame stack."""
        note = f"stack of {stack.count} observations"
        return replace(self, stack=stack, shape=shape, notes=(*self.notes, note)).normalised()

    def __call__(
        self, values: Array, starts: NDArray[np.bool_], kept: Array | None
    ) -> tuple[Array, Array | None]:
        for step in self.before:
            values = step(values)
        if self.stack is not None:
            kept = values = self.stack(values, starts, kept)
        for step in self.after:
            values = step(values)
        return values, kept


def unchanged(adapter: Adapter, part: Any, wanted: Any) -> Adapter | None:
    """Take the part as it is."""
    if adapter.shape != wanted.shape:
        return None
    if isinstance(wanted, spaces.Discrete) and part.n != wanted.n:
        return None
    if isinstance(wanted, spaces.MultiDiscrete) and (part.nvec != wanted.nvec).any():
        return None
    return adapter


def move_channels(adapter: Adapter, target: tuple[int, ...]) -> Adapter | None:
    """Move the channels of an image to the front or to the end."""
    if len(adapter.shape) != 3 or len(target) != 3:
        return None
    height, width, channels = adapter.shape
    if (channels, height, width) == target:
        return adapter.then(_channels_first, target, "channels first")
    if (adapter.shape[1], adapter.shape[2], adapter.shape[0]) == target:
        return adapter.then(_channels_last, target, "channels last")
    return None


def _channels_first(values: Array) -> Array:
    return np.transpose(values, (0, 3, 1, 2))


def _channels_last(values: Array) -> Array:
    return np.transpose(values, (0, 2, 3, 1))


def flatten(adapter: Adapter, target: tuple[int, ...]) -> Adapter | None:
    """Put all numbers of the part in one row."""
    size = int(np.prod(adapter.shape))
    if len(adapter.shape) < 2 or target != (size,):
        return None
    return adapter.then(_flatten, target, "flattened")


def _flatten(values: Array) -> Array:
    return values.reshape(len(values), -1)


def frame_stacks(adapter: Adapter, part: Any, wanted: Any, given: int | None) -> Iterator[Adapter]:
    """Return the frame stacks whose size, and bounds unless the user names a size, are right."""
    target = tuple(wanted.shape)
    if not isinstance(part, spaces.Box) or not adapter.shape:
        return
    if (
        len(target) == len(adapter.shape) + 1
        and target[1:] == adapter.shape
        and given in (None, target[0])
    ):
        yield adapter.stacked(Stack(target[0], 0, new_axis=True), target)
    size = int(np.prod(adapter.shape))
    count, rest = divmod(int(np.prod(target)), size)
    if rest or count < 2 or len(target) != len(adapter.shape) or given not in (None, count):
        return
    if given is None and not _same_bounds(part, wanted):
        return
    for axis in (-1, 0) if len(adapter.shape) == 3 else (-1,):
        shape = list(adapter.shape)
        shape[axis] *= count
        yield adapter.stacked(Stack(count, axis), tuple(shape))


def _same_bounds(part: Any, wanted: Any) -> bool:
    """Return whether the model's bounds are those of the part, several times over.

    Vectors without any bound prove nothing: a model of another environment would pass.
    """
    ours, theirs = (
        [np.unique(np.clip(side.astype(np.float64), -_ENDLESS, _ENDLESS)) for side in sides]
        for sides in ((part.low, part.high), (wanted.low, wanted.high))
    )
    if all((np.abs(side) == _ENDLESS).all() for side in ours):
        return False
    return all(
        a.shape == b.shape and np.allclose(a, b, rtol=1e-4)
        for a, b in zip(ours, theirs, strict=True)
    )


def grid_encodings(
    adapter: Adapter, target: tuple[int, ...], mission: str | None, view: bool
) -> Iterator[Adapter | None]:
    """Return MiniGrid's encodings of a view, the mission known or in a `view` of its own."""
    cells = replace(
        adapter.then(one_hot, one_hot_shape(adapter.shape), "one-hot cells"), low=0, high=255
    )
    yield cells if cells.shape == target else move_channels(cells, target)
    yield flatten(cells, target)
    if mission is not None and target == (flat_size(adapter.shape),):
        yield adapter.then(WithMission(mission), target, "flat with the mission")
    elif view and target == (flat_size(adapter.shape),):
        encode = WithMissionOfLane(int(np.prod(adapter.shape)))
        flat = adapter.then(encode, target, "flat with the mission of each episode")
        yield replace(flat, view=MISSION_VIEW)


def value_bounds(space: Any) -> tuple[float, float]:
    """Return the lowest and the highest number in a space."""
    if isinstance(space, spaces.Box):
        return float(np.min(space.low)), float(np.max(space.high))
    return 0.0, 1.0


def bytes_to_fractions(values: Array) -> Array:
    """Return bytes as fractions."""
    return (values / np.float32(255)).astype(np.float32)


def fractions_to_bytes(values: Array) -> Array:
    """Return fractions as bytes."""
    return np.rint(values * 255.0).astype(np.uint8)
