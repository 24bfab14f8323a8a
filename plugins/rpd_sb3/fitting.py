"""The environment's observation made into what a model was trained on, where that is clear.

For each part of an observation the ways to turn it into the model's input are tried from the
plainest to the most elaborate; the first that gives the right shape is taken. If two parts of a
dictionary serve equally well, or none does, the error shows both spaces and the options.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rpd_core.components import Facts
from rpd_core.errors import FitError
from rpd_sb3.encodings import (
    WithMission,
    constant_mission,
    flat_size,
    is_view,
    one_hot,
    one_hot_shape,
)
from rpd_sb3.frames import Stack
from rpd_sb3.spaces import show
from rpd_sb3.statistics import Normal, Statistics

Array = NDArray[Any]
Batch = Array | dict[str, Array]
Step = Callable[[Array], Array]
_ENDLESS = 1e30


@dataclass(frozen=True)
class Wishes:
    """What the user says about the fitting."""

    key: str | None = None
    """Which part of a dictionary the model sees."""
    stack: int | None = None
    """How many observations the model sees at once."""
    mission: str | None = None
    """The mission of a MiniGrid task, for models that read it."""
    statistics: Statistics | None = None


@dataclass(frozen=True)
class Line:
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

    def then(self, step: Step, shape: tuple[int, ...], note: str) -> Line:
        """Add a step."""
        if self.stack is None:
            longer = replace(self, before=(*self.before, step))
        else:
            longer = replace(self, after=(*self.after, step))
        return replace(longer, shape=shape, notes=(*self.notes, note)).normalised()

    def normalised(self) -> Line:
        """Apply the statistics as soon as the shape is theirs."""
        if self.normal is None or self.normal.shape != self.shape:
            return self
        note = f"normalised, clipped at {self.normal.clip:g}"
        clip = self.normal.clip
        unscaled = replace(self, normal=None, low=-clip, high=clip)
        return unscaled.then(self.normal, self.shape, note)

    def stacked(self, stack: Stack, shape: tuple[int, ...]) -> Line:
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


@dataclass(frozen=True)
class Fitting:
    """Turns observations of the environment into the model's."""

    lines: dict[str | None, Line]
    """Part of the model's dictionary (None: the model takes no dictionary) to its way."""
    notes: tuple[str, ...] = field(default=())

    def __call__(
        self, observations: Batch, starts: NDArray[np.bool_], kept: dict[str | None, Any] | None
    ) -> tuple[Batch, dict[str | None, Any]]:
        """Give the model's input and the frames to keep."""
        found: dict[str | None, Array] = {}
        frames: dict[str | None, Any] = {}
        for name, line in self.lines.items():
            values = _part(observations, line.source)
            found[name], frames[name] = line(values, starts, (kept or {}).get(name))
        if None in found:
            return found[None], frames
        return {str(name): values for name, values in found.items()}, frames


def _part(observations: Batch, source: str | None) -> Array:
    if isinstance(observations, dict) and source is not None:
        return observations[source]
    return np.asarray(observations)


def fit(facts: Facts, model_space: Any, wishes: Wishes) -> Fitting:
    """Give the fitting, or say in one line what does not fit and what to try."""
    parts = environment_parts(facts.observation_space)
    if isinstance(model_space, spaces.Dict):
        lines: dict[str | None, Line] = {}
        for name, wanted in model_space.spaces.items():
            if name not in parts:
                raise _mismatch(facts, model_space, f"there is no {name!r}")
            lines[name] = _line(facts, {name: parts[name]}, wanted, wishes, name)
    else:
        lines = {None: _line(facts, parts, model_space, wishes, None)}
    notes = tuple(note for line in lines.values() for note in _described(line))
    return Fitting(lines, notes)


def _described(line: Line) -> Iterator[str]:
    prefix = f"{line.source!r}: " if line.source is not None else ""
    if line.notes or prefix:
        yield prefix + (", ".join(line.notes) or "as it is")


def environment_parts(space: Any) -> dict[str | None, Any]:
    """Give the parts that a policy sees, named as in a batch; text is left out there."""
    if isinstance(space, spaces.Tuple):
        space = spaces.Dict({str(place): part for place, part in enumerate(space.spaces)})
    if not isinstance(space, spaces.Dict):
        return {None: space}
    found: dict[str | None, Any] = {}
    for name, part in space.spaces.items():
        inner = environment_parts(part)
        if None in inner:
            if part.shape is not None and not isinstance(part, spaces.Text):
                found[name] = part
        else:
            found |= {f"{name}.{key}": value for key, value in inner.items()}
    return found


def _line(
    facts: Facts, parts: dict[str | None, Any], wanted: Any, wishes: Wishes, key: str | None
) -> Line:
    if wishes.key is not None and key is None:
        if wishes.key not in parts:
            raise _mismatch(facts, wanted, f"key={wishes.key} is no part of it")
        parts = {wishes.key: parts[wishes.key]}
    mission = wishes.mission or constant_mission(facts.observation_space)
    wishes = replace(wishes, mission=mission)
    ranked = [
        (rank, line)
        for name, part in parts.items()
        for rank, line in enumerate(_ways(name, part, wanted, wishes, key))
        if line is not None
    ]
    if not ranked:
        raise _mismatch(facts, wanted, _reason(parts, wanted, wishes))
    best = min(rank for rank, _ in ranked)
    lines = [line for rank, line in ranked if rank == best]
    if len(lines) > 1:
        names = " and ".join(repr(line.source) for line in lines)
        raise _mismatch(facts, wanted, f"{names} would both do, choose with key=")
    if lines[0].normal is not None:
        raise _unfit_statistics(wishes.statistics, lines[0].normal, wanted)
    return _converted(facts, lines[0], parts[lines[0].source], wanted)


def _ways(
    name: str | None, part: Any, wanted: Any, wishes: Wishes, key: str | None
) -> Iterator[Line | None]:
    """Give the lines that lead from one part to the model's input, None where one does not."""
    if type(part) is not type(wanted) and not isinstance(wanted, spaces.Box):
        return
    statistics = wishes.statistics
    low, high = _bounds(part)
    start = Line(
        name, tuple(part.shape), low, high, normal=statistics.of(key) if statistics else None
    ).normalised()
    target = tuple(wanted.shape)
    if wishes.stack in (None, 1):
        yield _same(start, part, wanted)
        yield _turned(start, target)
        yield _flat(start, target)
    for line in _stacks(start, part, wanted, wishes.stack):
        yield line if line.shape == target else _turned(line, target)
    if is_view(part):
        yield from _encoded(start, target, wishes)


def _same(line: Line, part: Any, wanted: Any) -> Line | None:
    if line.shape != wanted.shape:
        return None
    if isinstance(wanted, spaces.Discrete) and part.n != wanted.n:
        return None
    if isinstance(wanted, spaces.MultiDiscrete) and (part.nvec != wanted.nvec).any():
        return None
    return line


def _turned(line: Line, target: tuple[int, ...]) -> Line | None:
    """Move the channels of an image to the front or to the end."""
    if len(line.shape) != 3 or len(target) != 3:
        return None
    height, width, channels = line.shape
    if (channels, height, width) == target:
        return line.then(_channels_first, target, "channels first")
    if (line.shape[1], line.shape[2], line.shape[0]) == target:
        return line.then(_channels_last, target, "channels last")
    return None


def _channels_first(values: Array) -> Array:
    return np.transpose(values, (0, 3, 1, 2))


def _channels_last(values: Array) -> Array:
    return np.transpose(values, (0, 2, 3, 1))


def _flat(line: Line, target: tuple[int, ...]) -> Line | None:
    size = int(np.prod(line.shape))
    if len(line.shape) < 2 or target != (size,):
        return None
    return line.then(_flatten, target, "flattened")


def _flatten(values: Array) -> Array:
    return values.reshape(len(values), -1)


def _stacks(line: Line, part: Any, wanted: Any, given: int | None) -> Iterator[Line]:
    """Give the frame stacks whose size, and bounds unless the user names a size, are right."""
    target = tuple(wanted.shape)
    if not isinstance(part, spaces.Box) or not line.shape:
        return
    if (
        len(target) == len(line.shape) + 1
        and target[1:] == line.shape
        and given in (None, target[0])
    ):
        yield line.stacked(Stack(target[0], 0, new_axis=True), target)
    size = int(np.prod(line.shape))
    count, rest = divmod(int(np.prod(target)), size)
    if rest or count < 2 or len(target) != len(line.shape) or given not in (None, count):
        return
    if given is None and not _same_bounds(part, wanted):
        return
    for axis in (-1, 0) if len(line.shape) == 3 else (-1,):
        shape = list(line.shape)
        shape[axis] *= count
        yield line.stacked(Stack(count, axis), tuple(shape))


def _same_bounds(part: Any, wanted: Any) -> bool:
    """Tell whether the model's bounds are those of the part, several times over.

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


def _encoded(line: Line, target: tuple[int, ...], wishes: Wishes) -> Iterator[Line | None]:
    """Give MiniGrid's encodings of a view."""
    cells = replace(line.then(one_hot, one_hot_shape(line.shape), "one-hot cells"), low=0, high=255)
    yield cells if cells.shape == target else _turned(cells, target)
    yield _flat(cells, target)
    if wishes.mission is not None and target == (flat_size(line.shape),):
        yield line.then(WithMission(wishes.mission), target, "flat with the mission")


def _bounds(space: Any) -> tuple[float, float]:
    if isinstance(space, spaces.Box):
        return float(np.min(space.low)), float(np.max(space.high))
    return 0.0, 1.0


def _converted(facts: Facts, line: Line, part: Any, wanted: Any) -> Line:
    """Bring the numbers to the model's scale and type."""
    if not isinstance(wanted, spaces.Box) or line.normal is not None:
        return line
    low, high = _bounds(wanted)
    normalised = any(note.startswith("normalised") for note in line.notes)
    bytes_to_unit = (line.low, line.high, low, high) == (0, 255, 0, 1)
    unit_to_bytes = (line.low, line.high, low, high) == (0, 1, 0, 255)
    if not normalised and bytes_to_unit and wanted.dtype.kind == "f":
        return line.then(_divided, line.shape, "divided by 255")
    if not normalised and unit_to_bytes and part.dtype.kind == "f":
        return line.then(_multiplied, line.shape, "multiplied by 255")
    if part.dtype.kind == "f" and wanted.dtype.kind in "iu" and not normalised:
        raise _mismatch(facts, wanted, "it gives fractions where the model takes whole numbers")
    return line


def _divided(values: Array) -> Array:
    return (values / np.float32(255)).astype(np.float32)


def _multiplied(values: Array) -> Array:
    return np.rint(values * 255.0).astype(np.uint8)


def _reason(parts: dict[str | None, Any], wanted: Any, wishes: Wishes) -> str:
    for part in parts.values():
        if is_view(part) and tuple(wanted.shape) == (flat_size(part.shape),):
            return (
                "the model reads the mission text, too (FlatObsWrapper), which is not part of the "
                "observations here and may differ between episodes: if it is always the same, say "
                "mission='...'"
            )
    if wishes.stack:
        return f"stack={wishes.stack} does not give that shape"
    for part in parts.values():
        size = int(np.prod(part.shape))
        if len(part.shape) == len(wanted.shape) == 1 and wanted.shape[0] % size == 0:
            count = wanted.shape[0] // size
            return f"if the model was trained on frame stacks, say stack={count}"
    return "nothing unambiguous leads from one to the other"


def _mismatch(facts: Facts, wanted: Any, reason: str) -> FitError:
    where = facts.description or "the environment"
    return FitError(
        f"the model sees {show(wanted)}, but {where} gives {show(facts.observation_space)}: "
        f"{reason}; options: key=PART of a dictionary, stack=N observations, or another "
        "environment or model"
    )


def _unfit_statistics(statistics: Statistics | None, normal: Normal, wanted: Any) -> FitError:
    source = statistics.source if statistics else "the file"
    return FitError(
        f"the statistics in {source} are for observations of shape {normal.shape}, the model sees "
        f"{show(wanted)}: give the right ones as vecnormalize=FILE or say normalize=false"
    )
