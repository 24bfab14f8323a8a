"""From what the environment shows to the stack of small grey frames that the networks take.

Steps that the environment has already taken are left out: a stack is only reordered, single small
frames are only stacked, raw screens are pooled, turned grey, made smaller and stacked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray

from rpd_atari_zoo.families import Family
from rpd_core.errors import FitError
from rpd_core.plugin.protocols import Facts

Array = NDArray[Any]
_GREY = np.array([0.299, 0.587, 0.114], dtype=np.float32)
_LARGEST_SIDE = 512
Source = Literal["stack", "stack-first", "frame", "screen", "pair"]


@dataclass(frozen=True)
class Picture:
    """The picture that a network takes."""

    height: int = 84
    width: int = 84
    frames: int = 4
    last: bool = True
    """Whether the frames are the last axis."""


def picture_of(shape: list[int] | None) -> Picture:
    """Read the placeholder's shape; the zoo's usual one where it says nothing."""
    sizes = (shape or [])[-3:]
    if len(sizes) < 3 or min(sizes) < 1:
        return Picture()
    if max(sizes) > _LARGEST_SIDE:
        raise FitError(
            f"the placeholder takes pictures of {' x '.join(map(str, sizes))}, larger than any "
            "screen: the file is damaged"
        )
    if sizes[0] < sizes[2]:
        return Picture(sizes[1], sizes[2], sizes[0], last=False)
    return Picture(sizes[0], sizes[1], sizes[2])


@dataclass(frozen=True)
class Framing:
    """Makes the network's input from observations, or from the view `screen`."""

    source: Source
    """What the observations are; see `fit_frames`."""
    picture: Picture
    family: Family
    view: bool = False
    """Whether to look at the view `screen` instead of the observation."""

    @property
    def needs(self) -> tuple[str, ...]:
        return ("screen",) if self.view else ()

    def __call__(
        self, observations: Any, views: Mapping[str, Array], starts: Array, memory: Any
    ) -> tuple[Array, Any]:
        """Return the input in the network's axis order (0 to 255) and what to remember."""
        seen = views["screen"] if self.view else np.asarray(observations)
        if self.source == "stack":
            stack = np.moveaxis(seen, -1, 1)
        elif self.source == "stack-first":
            stack = seen
        else:
            stack = memory = self._push(self._small(seen), starts, memory)
        return (np.moveaxis(stack, 1, -1) if self.picture.last else stack), memory

    def _small(self, seen: Array) -> Array:
        """Return one small grey frame per lane."""
        if self.source == "frame":
            return seen.reshape(len(seen), self.picture.height, self.picture.width)
        if self.source == "pair":
            seen = seen.max(axis=1)
        grey = seen.astype(np.float32)
        if grey.ndim == 4:
            grey = (grey * _GREY).sum(axis=3) if grey.shape[3] == 3 else grey[..., 0]
        matrices = _shrink_matrices(grey.shape[1], grey.shape[2], self.picture, self.family)
        # torch computes with one thread here, NumPy's products would use all cores
        left, middle, right = map(torch.from_numpy, (matrices[0], grey, matrices[1]))
        small: Array = (left @ middle @ right).numpy()
        return small if self.family.resize == "corners" else np.rint(small)

    def _push(self, frame: Array, starts: Array, memory: Any) -> Array:
        """Add the newest frame at the end; begin anew where an episode starts."""
        count = self.picture.frames
        first = np.repeat(frame[:, None], count, axis=1)
        if self.family.zeros_first:
            first[:, :-1] = 0
        if memory is None:
            return first
        shifted = np.concatenate([memory[:, 1:], frame[:, None]], axis=1)
        return np.where(starts[:, None, None, None], first, shifted)

    def describe(self) -> str:
        """Return in words what is done to the observation."""
        size = f"{self.picture.height}x{self.picture.width}"
        return {
            "stack": "stack of frames, as it is",
            "stack-first": "stack of frames, as it is",
            "frame": f"single frames of {size}, the last {self.picture.frames} stacked",
            "screen": f"screen made grey, {size} ({self.family.resize}), "
            f"the last {self.picture.frames} stacked",
            "pair": f"larger of two screens made grey, {size} ({self.family.resize}), "
            f"the last {self.picture.frames} stacked",
        }[self.source]


def fit_frames(facts: Facts, picture: Picture, family: Family) -> Framing:
    """Compare what the environment shows with what the network takes."""
    space = facts.observation_space
    shape = space.shape if isinstance(space, spaces.Box) else ()
    source = source_of(shape, picture)
    if source is not None:
        return Framing(source, picture, family)
    if "screen" in facts.views:
        return Framing("screen", picture, family, view=True)
    size = f"{picture.height}x{picture.width}"
    raise FitError(
        f"the network takes {picture.frames} grey frames of {size}; "
        f"{facts.description or 'the environment'} gives {facts.observation_space} and no view "
        "'screen': use an Atari environment"
    )


def source_of(shape: tuple[int, ...], picture: Picture) -> Source | None:
    """Return what observations of a shape are to a network; None: nothing that fits."""
    small = (picture.height, picture.width)
    known: dict[tuple[int, ...], Source] = {
        (*small, picture.frames): "stack",
        (picture.frames, *small): "stack-first",
        small: "frame",
        (*small, 1): "frame",
        (1, *small): "frame",
    }
    if shape in known:
        return known[shape]
    if len(shape) == 4 and shape[0] == 2 and shape[3] in (1, 3):
        return "pair"
    picture_like = len(shape) == 2 or (len(shape) == 3 and shape[2] in (1, 3))
    if picture_like and shape[0] >= picture.height and shape[1] >= picture.width:
        return "screen"
    return None


@lru_cache(maxsize=8)
def _shrink_matrices(
    height: int, width: int, picture: Picture, family: Family
) -> tuple[Array, Array]:
    """Return the two matrices that make a frame smaller the way the family was trained."""
    weights = {"area": area_weights, "corners": corner_weights, "triangle": triangle_weights}
    make = weights[family.resize]
    return make(height, picture.height), np.ascontiguousarray(make(width, picture.width).T)


def area_weights(before: int, after: int) -> Array:
    """Return the share of each old pixel in each new one: the mean over the area it covers."""
    step = before / after
    edges = np.arange(after)[:, None] * step
    old = np.arange(before)[None]
    overlap = np.minimum(edges + step, old + 1) - np.maximum(edges, old)
    return np.asarray(np.clip(overlap, 0.0, None) / step, dtype=np.float32)


def corner_weights(before: int, after: int) -> Array:
    """Interpolate between the two nearest old pixels, corners on corners."""
    place = np.arange(after)[:, None] * (before - 1) / (after - 1)
    return np.clip(1.0 - np.abs(place - np.arange(before)[None]), 0.0, None).astype(np.float32)


def triangle_weights(before: int, after: int) -> Array:
    """Weigh old pixels by their distance, out to two new pixels' width in total."""
    step = max(before / after, 1.0)
    centre = (np.arange(after)[:, None] + 0.5) * before / after
    raw = np.clip(1.0 - np.abs(np.arange(before)[None] + 0.5 - centre) / step, 0.0, None)
    return np.asarray(raw / raw.sum(axis=1, keepdims=True), dtype=np.float32)
