"""The environment's observation made into what a model was trained on, where that is clear.

For each part of an observation the ways to turn it into the model's input are tried from the
plainest to the most elaborate; the first that gives the right shape is taken. If two parts of a
dictionary serve equally well, or none does, the error shows both spaces and the options.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rpd_core.errors import FitError
from rpd_core.plugin.protocols import Facts
from rpd_sb3.adapters import (
    Adapter,
    Array,
    bytes_to_fractions,
    flatten,
    fractions_to_bytes,
    frame_stacks,
    grid_encodings,
    move_channels,
    unchanged,
    value_bounds,
)
from rpd_sb3.encodings import MISSION_VIEW, beside, constant_mission, flat_size, is_view
from rpd_sb3.spaces import same_kind, show
from rpd_sb3.statistics import Normal, Statistics

Batch = Array | dict[str, Array]


@dataclass(frozen=True)
class FitOptions:
    """What the user says about the fitting."""

    key: str | None = None
    """Which part of a dictionary the model sees."""
    stack: int | None = None
    """How many observations the model sees at once."""
    mission: str | None = None
    """The mission of a MiniGrid task, for models that read it."""
    statistics: Statistics | None = None
    mission_view: bool = False
    """Whether the environment shows the present mission of every lane."""


@dataclass(frozen=True)
class Fitting:
    """Turns observations of the environment into the model's."""

    adapters: dict[str | None, Adapter]
    """Part of the model's dictionary (None: the model takes no dictionary) to its way."""
    notes: tuple[str, ...] = field(default=())

    @property
    def views(self) -> tuple[str, ...]:
        """Views of the environment that the model sees, too."""
        return tuple(sorted({one.view for one in self.adapters.values() if one.view}))

    def __call__(
        self,
        observations: Batch,
        starts: NDArray[np.bool_],
        kept: dict[str | None, Any] | None,
        views: Mapping[str, Array] = MappingProxyType({}),
    ) -> tuple[Batch, dict[str | None, Any]]:
        """Return the model's input and the frames to keep."""
        found: dict[str | None, Array] = {}
        frames: dict[str | None, Any] = {}
        for name, adapter in self.adapters.items():
            values = _part(observations, adapter.source)
            if adapter.view:
                values = beside(values, views[adapter.view])
            found[name], frames[name] = adapter(values, starts, (kept or {}).get(name))
        if None in found:
            return found[None], frames
        return {str(name): values for name, values in found.items()}, frames


def _part(observations: Batch, source: str | None) -> Array:
    if isinstance(observations, dict) and source is not None:
        return observations[source]
    return np.asarray(observations)


def fit(facts: Facts, model_space: Any, options: FitOptions) -> Fitting:
    """Return the fitting, or say in one line what does not fit and what to try."""
    parts = _environment_parts(facts.observation_space)
    if isinstance(model_space, spaces.Dict):
        adapters: dict[str | None, Adapter] = {}
        for name, wanted in model_space.spaces.items():
            if name not in parts:
                raise _mismatch(facts, model_space, f"there is no {name!r}")
            adapters[name] = _adapter(facts, {name: parts[name]}, wanted, options, name)
    else:
        adapters = {None: _adapter(facts, parts, model_space, options, None)}
    notes = tuple(note for adapter in adapters.values() for note in _described(adapter))
    return Fitting(adapters, notes)


def _described(adapter: Adapter) -> Iterator[str]:
    prefix = f"{adapter.source!r}: " if adapter.source is not None else ""
    if adapter.notes or prefix:
        yield prefix + (", ".join(adapter.notes) or "as it is")


def _environment_parts(space: Any) -> dict[str | None, Any]:
    """Return the parts that a policy sees, named as in a batch; text is left out there."""
    if isinstance(space, spaces.Tuple):
        space = spaces.Dict({str(place): part for place, part in enumerate(space.spaces)})
    if not isinstance(space, spaces.Dict):
        return {None: space}
    found: dict[str | None, Any] = {}
    for name, part in space.spaces.items():
        inner = _environment_parts(part)
        if None in inner:
            if part.shape is not None and not isinstance(part, spaces.Text):
                found[name] = part
        else:
            found |= {f"{name}.{key}": value for key, value in inner.items()}
    return found


def _adapter(
    facts: Facts, parts: dict[str | None, Any], wanted: Any, options: FitOptions, key: str | None
) -> Adapter:
    if options.key is not None and key is None:
        if options.key not in parts:
            raise _mismatch(facts, wanted, f"key={options.key} is not a part of it")
        parts = {options.key: parts[options.key]}
    mission = options.mission or constant_mission(facts.observation_space)
    options = replace(options, mission=mission, mission_view=MISSION_VIEW in facts.views)
    ranked = [
        (rank, adapter)
        for name, part in parts.items()
        for rank, adapter in enumerate(_candidates(name, part, wanted, options, key))
        if adapter is not None
    ]
    if not ranked:
        raise _mismatch(facts, wanted, _reason(parts, wanted, options))
    best = min(rank for rank, _ in ranked)
    adapters = [adapter for rank, adapter in ranked if rank == best]
    if len(adapters) > 1:
        names = " and ".join(repr(adapter.source) for adapter in adapters)
        raise _mismatch(facts, wanted, f"{names} would both do, choose with key=")
    if adapters[0].normal is not None:
        raise _unfit_statistics(options.statistics, adapters[0].normal, wanted)
    return _rescaled(facts, adapters[0], parts[adapters[0].source], wanted)


def _candidates(
    name: str | None, part: Any, wanted: Any, options: FitOptions, key: str | None
) -> Iterator[Adapter | None]:
    """Return the adapters that lead from one part to the model's input, None where one does not."""
    if not same_kind(part, wanted) and not isinstance(wanted, spaces.Box):
        return
    statistics = options.statistics
    low, high = value_bounds(part)
    start = Adapter(
        name, tuple(part.shape), low, high, normal=statistics.of(key) if statistics else None
    ).normalised()
    target = tuple(wanted.shape)
    if options.stack in (None, 1):
        yield unchanged(start, part, wanted)
        yield move_channels(start, target)
        yield flatten(start, target)
    for adapter in frame_stacks(start, part, wanted, options.stack):
        yield adapter if adapter.shape == target else move_channels(adapter, target)
    if is_view(part):
        yield from grid_encodings(start, target, options.mission, options.mission_view)


def _rescaled(facts: Facts, adapter: Adapter, part: Any, wanted: Any) -> Adapter:
    """Bring the numbers to the model's scale and type."""
    if not isinstance(wanted, spaces.Box) or adapter.normal is not None:
        return adapter
    low, high = value_bounds(wanted)
    normalised = any(note.startswith("normalised") for note in adapter.notes)
    bytes_to_unit = (adapter.low, adapter.high, low, high) == (0, 255, 0, 1)
    unit_to_bytes = (adapter.low, adapter.high, low, high) == (0, 1, 0, 255)
    if not normalised and bytes_to_unit and wanted.dtype.kind == "f":
        return adapter.then(bytes_to_fractions, adapter.shape, "divided by 255")
    if not normalised and unit_to_bytes and part.dtype.kind == "f":
        return adapter.then(fractions_to_bytes, adapter.shape, "multiplied by 255")
    if part.dtype.kind == "f" and wanted.dtype.kind in "iu" and not normalised:
        raise _mismatch(facts, wanted, "it gives fractions where the model takes whole numbers")
    return adapter


def _reason(parts: dict[str | None, Any], wanted: Any, options: FitOptions) -> str:
    for part in parts.values():
        if is_view(part) and tuple(wanted.shape) == (flat_size(part.shape),):
            return (
                "the model reads the mission text, too (FlatObsWrapper), which is not part of the "
                "observations here and may differ between episodes: if it is always the same, set "
                "mission='...'"
            )
    if options.stack:
        return f"stack={options.stack} does not give that shape"
    for part in parts.values():
        size = int(np.prod(part.shape))
        if len(part.shape) == len(wanted.shape) == 1 and wanted.shape[0] % size == 0:
            count = wanted.shape[0] // size
            return f"if the model was trained on frame stacks, set stack={count}"
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
        f"{show(wanted)}: give the right ones as vecnormalize=FILE or normalize=false"
    )
