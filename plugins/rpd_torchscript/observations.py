"""Which arrays of a step a module looks at, and how they become the tensors that it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray

from rpd_core.errors import FitError
from rpd_core.plugin.protocols import Facts
from rpd_torchscript.screens import baby_a3c
from rpd_torchscript.signature import Signature

Array = NDArray[Any]
Layout = Literal["auto", "same", "first", "last", "flat", "one-hot"]
_PIXELS = 32  # from this height and width on, bytes are taken for pixels


@dataclass(frozen=True)
class Fit:
    """One way to make a tensor of an observation."""

    layout: Layout = "same"
    """Axes as they are, channels moved to the front or to the end, or one flat row."""
    floats: bool = False
    """Whether whole numbers become floats."""
    divisor: float = 1.0
    count: int = 0
    """Number of values of a whole-number observation, for `one-hot`."""

    def __call__(self, rows: Array) -> torch.Tensor:
        values = torch.from_numpy(np.ascontiguousarray(rows))
        if self.layout == "one-hot":
            return torch.nn.functional.one_hot(values.long(), self.count).float()
        if values.dtype == torch.float64 or self.floats:
            values = values.float()
        if self.divisor != 1.0:
            values = values / self.divisor
        if self.layout == "first":
            return values.movedim(-1, 1).contiguous()
        if self.layout == "last":
            return values.movedim(1, -1).contiguous()
        return values.reshape(len(values), -1) if self.layout == "flat" else values

    def describe(self) -> str:
        """Return what is done, in words."""
        words = {
            "same": "as it is",
            "first": "channels moved to the front",
            "last": "channels moved to the end",
            "flat": "flattened",
            "one-hot": f"one-hot of {self.count}",
            "auto": "",
        }[self.layout]
        typed = ", as floats" if self.floats and self.layout != "one-hot" else ""
        return words + typed + (f", divided by {self.divisor:g}" if self.divisor != 1.0 else "")


def fits(space: Any, shape: tuple[int, ...], layout: Layout, divide: float | None) -> Iterator[Fit]:
    """Return the ways worth trying, the least intrusive first; `shape` is that of one row."""
    whole = np.dtype(space.dtype).kind in "iub"
    layouts = _layouts(shape) if layout == "auto" else [layout]
    for chosen in layouts:
        if divide is not None:
            yield Fit(chosen, True, divide)
            continue
        yield Fit(chosen)
        if whole:
            yield Fit(chosen, True)
    if whole and not shape and layout in ("auto", "one-hot") and hasattr(space, "n"):
        yield Fit("one-hot", True, count=int(space.n))


def _layouts(shape: tuple[int, ...]) -> list[Layout]:
    if len(shape) == 3:
        moved: Layout = "first" if shape[2] <= shape[0] else "last"
        return ["same", moved, "flat"]
    return ["same", "flat"] if len(shape) > 1 else ["same"]


def ambiguous_pixels(space: Any, fit: Fit, divide: float | None) -> bool:
    """Check whether bytes of a real picture became floats without anybody saying how."""
    shape = sorted(getattr(space, "shape", None) or ())
    picture = len(shape) >= 2 and shape[-2] >= _PIXELS
    return fit.floats and picture and divide is None and np.dtype(space.dtype) == np.uint8


def part_names(facts: Facts) -> dict[str, Any]:
    """Return the numeric parts of a dict observation and their spaces; empty for arrays."""
    parts = getattr(facts.observation_space, "spaces", None)
    if not isinstance(parts, Mapping):
        return {}
    return {
        str(n): p
        for n, p in parts.items()
        if getattr(p, "dtype", None) is not None
        and getattr(p, "shape", None) is not None
        and np.dtype(p.dtype).kind in "iufb"
    }


def _main_part(parts: Mapping[str, Any], argument: str, facts: Facts) -> str:
    """Choose the part of a dict observation for a module that takes one tensor."""
    if argument in parts:
        return argument
    if "image" in parts:
        return "image"
    if len(parts) == 1:
        return next(iter(parts))
    raise FitError(
        f"{facts.description or 'the environment'} gives {', '.join(parts)}; the module takes one "
        f"tensor, {argument!r}: name its argument after the part it wants"
    )


@dataclass(frozen=True)
class Stack:
    """Keeps the last frames of each lane, the oldest first."""

    count: int

    def __call__(self, rows: Array, starts: Array, memory: Array | None) -> Array:
        """Return the frames (lane, frame, ...); copies of the first one where an episode starts."""
        first = np.repeat(rows[:, None], self.count, axis=1)
        if memory is None:
            return first
        shifted = np.concatenate([memory[:, 1:], rows[:, None]], axis=1)
        return np.where(starts.reshape(-1, *[1] * rows.ndim), first, shifted)

    @staticmethod
    def joined(frames: Array) -> Array:
        """Return the frames as channels: (lane, channels, height, width), or one long vector."""
        if frames.ndim == 4:
            return frames
        if frames.ndim == 3:
            return frames.reshape(len(frames), -1)
        if frames.shape[-1] <= frames.shape[2]:  # channels last: put them last in the stack, too
            return np.concatenate(list(np.moveaxis(frames, 1, 0)), axis=-1)
        return frames.reshape(len(frames), -1, *frames.shape[3:])


@dataclass(frozen=True)
class Source:
    """One array that the module looks at."""

    space: Any
    part: str | None = None
    """Which part of a dict observation; None: the whole observation."""
    screen: bool = False
    """Look at the view `screen` through the preprocessing instead."""
    stack: Stack | None = None

    def rows(self, observations: Any, views: Mapping[str, Array]) -> Array:
        """Return this step's rows, before stacking."""
        if self.screen:
            return baby_a3c(views["screen"])
        return np.asarray(observations if self.part is None else observations[self.part])

    def __call__(
        self, observations: Any, views: Mapping[str, Array], starts: Array, memory: Array | None
    ) -> tuple[Array, Array | None]:
        """Return this step's rows and the frames to remember."""
        rows = self.rows(observations, views)
        if self.stack is None:
            return rows, None
        frames = self.stack(rows, starts, memory)
        return self.stack.joined(frames), frames

    def blank(self, lanes: int) -> Array:
        """Return rows of zeros, as the module will see them."""
        rows = np.zeros((lanes, *self.space.shape), dtype=self.space.dtype)
        if self.stack is None:
            return rows
        return self.stack.joined(self.stack(rows, np.ones(lanes, dtype=bool), None))


def find_sources(
    facts: Facts, signature: Signature, preprocess: str, stack: int
) -> tuple[Source, ...]:
    """Choose what each observation argument of the module gets."""
    keep = Stack(stack) if stack > 1 else None
    if preprocess == "baby-a3c":
        if "screen" not in facts.views:
            raise FitError(
                f"preprocess=baby-a3c needs the view 'screen', which "
                f"{facts.description or 'the environment'} does not offer: use an Atari environment"
            )
        return (Source(spaces.Box(0.0, 1.0, (1, 80, 80), np.float32), screen=True, stack=keep),)
    parts = part_names(facts)
    if not parts:
        space = facts.observation_space
        if getattr(space, "shape", None) is None or getattr(space, "dtype", None) is None:
            raise FitError(f"observations of {space} are no array of numbers: wrap the environment")
        return (Source(space, stack=keep),)
    first = signature.observations[0]
    if first.is_dict:
        return tuple(Source(space, name, stack=keep) for name, space in parts.items())
    if len(signature.observations) > 1:
        names = [argument.name for argument in signature.observations]
    else:
        names = [_main_part(parts, first.name, facts)]
    return tuple(Source(parts[name], name, stack=keep) for name in names)
