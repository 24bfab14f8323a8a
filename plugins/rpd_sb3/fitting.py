"""The environment's observation made into what a model was trained on, where that is clear.

For each part of an observation the ways to turn it into the model's input are tried from the
plainest to the most elaborate; the first that gives the right shape is taken. If two parts of a
dictionary serve equally well, or none does, the error shows both spaces and the options.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rpd_core.errors import FitError
from rpd_core.plugin.protocols import Facts
from rpd_sb3.encodings import constant_mission, flat_size, is_view
from rpd_sb3.lines import (
    Array,
    Line,
    bounds,
    divided,
    encoded,
    flat,
    multiplied,
    same,
    stacks,
    turned,
)
from rpd_sb3.spaces import show
from rpd_sb3.statistics import Normal, Statistics

Batch = Array | dict[str, Array]


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
    low, high = bounds(part)
    start = Line(
        name, tuple(part.shape), low, high, normal=statistics.of(key) if statistics else None
    ).normalised()
    target = tuple(wanted.shape)
    if wishes.stack in (None, 1):
        yield same(start, part, wanted)
        yield turned(start, target)
        yield flat(start, target)
    for line in stacks(start, part, wanted, wishes.stack):
        yield line if line.shape == target else turned(line, target)
    if is_view(part):
        yield from encoded(start, target, wishes.mission)


def _converted(facts: Facts, line: Line, part: Any, wanted: Any) -> Line:
    """Bring the numbers to the model's scale and type."""
    if not isinstance(wanted, spaces.Box) or line.normal is not None:
        return line
    low, high = bounds(wanted)
    normalised = any(note.startswith("normalised") for note in line.notes)
    bytes_to_unit = (line.low, line.high, low, high) == (0, 255, 0, 1)
    unit_to_bytes = (line.low, line.high, low, high) == (0, 1, 0, 255)
    if not normalised and bytes_to_unit and wanted.dtype.kind == "f":
        return line.then(divided, line.shape, "divided by 255")
    if not normalised and unit_to_bytes and part.dtype.kind == "f":
        return line.then(multiplied, line.shape, "multiplied by 255")
    if part.dtype.kind == "f" and wanted.dtype.kind in "iu" and not normalised:
        raise _mismatch(facts, wanted, "it gives fractions where the model takes whole numbers")
    return line


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
