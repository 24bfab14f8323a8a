"""The environment's observation made into the rows that a network takes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray

from rpd_core.errors import FitError
from rpd_core.plugin.protocols import Facts
from rpd_weights.layers import Shape

Array = NDArray[Any]
Layout = Literal["same", "channels first", "flat", "one-hot"]
_VARIANCES = {
    "running_mean": (
        ("running_variance", 1e-8, False, 5.0),  # skrl
        ("running_var", 1e-5, True, 5.0),  # Sample-Factory
    ),
    "_mean": (("_var", 1e-2, False, math.inf),),  # RSL-RL
}
"""By the name of a mean: those of variances, with epsilon, whether it is inside, and the clip."""
_NOT_THE_ACTORS = re.compile("value|return|critic|privileged|teacher")
_PICTURE = 32
"""Bytes with at least so many rows and columns are a picture."""


@dataclass(frozen=True)
class Statistics:
    """Mean and variance of observations, as the network saw them in training."""

    name: str
    mean: torch.Tensor
    variance: torch.Tensor
    epsilon: float
    inside: bool
    """Whether epsilon is added to the variance, else to the deviation."""
    clip: float = 5.0

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        mean, variance = self.mean.to(rows.dtype), self.variance.to(rows.dtype)
        if self.inside:
            scaled = (rows - mean) * (1.0 / torch.sqrt(variance + self.epsilon))
        else:
            scaled = (rows - mean) / (torch.sqrt(variance) + self.epsilon)
        return scaled.clamp(-self.clip, self.clip)


@dataclass(frozen=True)
class Look:
    """One way from an observation to rows."""

    space: Any
    part: str | None
    """Which part of a dict; None: the whole observation."""
    layout: Layout
    stack: int
    divisor: float
    statistics: Statistics | None = None

    @property
    def shape(self) -> Shape:
        """Numbers for one lane."""
        if self.layout == "one-hot":
            return (int(self.space.n),)
        joined = self._joined(np.zeros((1, self.stack, *self.space.shape), np.uint8)).shape[1:]
        if self.layout == "flat":
            return (math.prod(joined),)
        if self.layout == "channels first":
            return joined[-1], *joined[:-1]
        return tuple(joined)

    def __call__(
        self, observations: Any, starts: Array, kept: Array | None, dtype: torch.dtype
    ) -> tuple[torch.Tensor, Array | None]:
        """Return this step's rows, and the frames to keep."""
        rows = np.asarray(observations if self.part is None else observations[self.part])
        if self.layout == "one-hot":
            places = torch.from_numpy(rows.astype(np.int64) - int(self.space.start))
            return torch.nn.functional.one_hot(places, int(self.space.n)).to(dtype), None
        frames = None
        if self.stack > 1:
            frames = self._frames(rows, starts, kept)
            rows = self._joined(frames)
        values = torch.from_numpy(np.ascontiguousarray(rows)).to(dtype)
        if self.divisor != 1.0:
            values = values / self.divisor
        if self.layout == "channels first":
            values = values.movedim(-1, 1).contiguous()
        elif self.layout == "flat":
            values = values.flatten(1)
        return (self.statistics(values) if self.statistics else values), frames

    def _frames(self, rows: Array, starts: Array, kept: Array | None) -> Array:
        """Return (lane, frame, ...): copies of the first one where an episode starts."""
        first = np.repeat(rows[:, None], self.stack, axis=1)
        if kept is None:
            return first
        moved = np.concatenate([kept[:, 1:], rows[:, None]], axis=1)
        return np.where(starts.reshape(-1, *[1] * rows.ndim), first, moved)

    def _joined(self, frames: Array) -> Array:
        """Return frames as channels, or as one long vector."""
        if self.stack == 1:
            return frames[:, 0]
        lanes, _, *sides = frames.shape
        if len(sides) == 3 and sides[2] < sides[0]:  # channels last
            return np.concatenate(list(np.moveaxis(frames, 1, 0)), axis=-1)
        if len(sides) == 2:
            return frames
        return frames.reshape(lanes, -1, *sides[1:])

    def describe(self) -> str:
        """Return what is done, in words."""
        words = {"same": "as it is", "flat": "flattened", "channels first": "channels moved first"}
        said = [words.get(self.layout, self.layout)]
        said += [f"{self.stack} stacked"] if self.stack > 1 else []
        said += [f"divided by {self.divisor:g}"] if self.divisor != 1.0 else []
        if self.statistics is not None:
            said.append(f"normalised by {self.statistics.name}")
            clip = self.statistics.clip
            said += [f"clipped at {clip:g}"] if clip < math.inf else []
        return ", ".join([f"{self.part}: {said[0]}" if self.part else said[0], *said[1:]])


def looks(facts: Facts, key: str | None, stack: int, divide: float | None) -> Iterator[Look]:
    """Yield the ways to look at an observation, the plainest first."""
    for part, space in _parts(facts, key).items():
        if isinstance(space, spaces.Discrete):
            yield Look(space, part, "one-hot", 1, 1.0)
            continue
        plain = Look(space, part, "same", stack, _divisor(space, divide))
        layouts: list[Layout] = ["same", "flat"]
        if len(plain.shape) == 3:
            layouts = ["same", "channels first", "flat"]
        for layout in layouts[: 1 if len(plain.shape) == 1 else None]:
            yield Look(space, part, layout, stack, plain.divisor)


def _divisor(space: Any, divide: float | None) -> float:
    if divide is not None:
        return divide
    picture = sum(side >= _PICTURE for side in space.shape) >= 2
    return 255.0 if picture and np.dtype(space.dtype) == np.uint8 else 1.0


def _parts(facts: Facts, key: str | None) -> dict[str | None, Any]:
    """Return what a network may look at: the observation, or the parts of a dict."""
    inner = getattr(facts.observation_space, "spaces", None)
    if not isinstance(inner, Mapping):
        if key is not None:
            raise FitError(f"key={key} is for observations of several parts; drop it")
        found: dict[str | None, Any] = {None: facts.observation_space}
    elif key is not None and key not in inner:
        raise FitError(f"key={key} is not a part of the observation, which has {', '.join(inner)}")
    else:
        found = {name: part for name, part in inner.items() if key in (None, name)}
    usable = {name: part for name, part in found.items() if _is_numeric(part)}
    if not usable:
        raise FitError(f"observations of {facts.observation_space} are no array of numbers")
    return usable


def _is_numeric(space: Any) -> bool:
    shape, dtype = getattr(space, "shape", None), getattr(space, "dtype", None)
    return shape is not None and dtype is not None and np.dtype(dtype).kind in "iufb"


def statistics_of(
    weights: Mapping[str, torch.Tensor], shape: Shape, used: frozenset[str]
) -> Statistics | None:
    """Return the statistics of observations among the weights; `used` are names of layers."""
    for name, mean in weights.items():
        owner, _, last = name.rpartition(".")
        if last not in _VARIANCES or owner in used or _NOT_THE_ACTORS.search(owner):
            continue
        for variance_name, epsilon, inside, clip in _VARIANCES[last]:
            variance = weights.get(f"{owner}.{variance_name}")
            if variance is None or mean.shape != variance.shape:
                continue
            if mean.shape in (torch.Size(shape), torch.Size((1, *shape))):
                flat = mean.reshape(shape), variance.reshape(shape)
                return Statistics(owner, *flat, epsilon, inside, clip)
    return None
