"""Abstractions of vectors, chained by repeating the flag."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpd_core.errors import FitError

Array = NDArray[Any]
Batch = Array | dict[str, Array]


def flat(values: Batch) -> Array:
    """Give a batch as one row of numbers per lane; the parts of a dict in the order of keys."""
    if isinstance(values, dict):
        return np.concatenate([flat(values[key]) for key in sorted(values)], axis=1)
    return np.asarray(values).reshape(len(values), -1)


def vector(values: Batch, who: str) -> Array:
    """Give a batch of vectors, or say that it is something else."""
    if isinstance(values, dict):
        shapes = {name: part.shape[1:] for name, part in values.items()}
        raise FitError(f"{who} works on vectors, got {shapes}")
    if values.ndim != 2:
        raise FitError(f"{who} works on vectors, got the shape {values.shape[1:]}")
    return values


def listed(numbers: Array) -> str:
    """Give numbers as people write them."""
    return ", ".join(f"{number:g}" for number in np.ravel(numbers).tolist())


@dataclass(frozen=True)
class Identity:
    """The observation itself; the parts of a dict are joined."""

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        return flat(values) if isinstance(values, dict) else np.asarray(values)


@dataclass(frozen=True)
class Select:
    """Some entries of a vector, for example `select:0+2`."""

    entries: tuple[int, ...]
    """Positions to keep, from 0."""

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        rows = vector(values, "select")
        if max(self.entries) >= rows.shape[1]:
            raise FitError(
                f"select cannot take entry {max(self.entries)} of vectors of {rows.shape[1]}"
            )
        return rows[:, list(self.entries)]


@dataclass(frozen=True)
class Scale:
    """Entries multiplied by constants, for example `scale:1+1+0.25+1`."""

    factors: tuple[float, ...]
    """One factor for all entries, or one for each."""

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        rows = vector(values, "scale")
        if len(self.factors) not in (1, rows.shape[1]):
            raise FitError(f"scale has {len(self.factors)} factors for vectors of {rows.shape[1]}")
        return np.asarray(rows.astype(np.float64) * np.array(self.factors))


@dataclass(frozen=True)
class Round:
    """Entries rounded, for example `round:1` or `round:0+1+2+1`."""

    digits: tuple[int, ...] = (1,)
    """Decimal places: one number for all entries, or one for each."""

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        if len(self.digits) == 1:
            return np.round(np.asarray(flat(values), dtype=np.float64), self.digits[0]) + 0.0
        rows = vector(values, "round").astype(np.float64)
        if len(self.digits) != rows.shape[1]:
            raise FitError(f"round has {len(self.digits)} digits for vectors of {rows.shape[1]}")
        columns = [np.round(rows[:, i], digits) for i, digits in enumerate(self.digits)]
        return np.stack(columns, axis=1) + 0.0


@dataclass(frozen=True)
class Abs:
    """Absolute values, where an environment is symmetric."""

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        return np.abs(flat(values))
