"""Abstractions of vectors, chained by repeating the flag."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpd_core.errors import FitError, SpecError

Array = NDArray[Any]
Batch = Array | dict[str, Array]


def shape_of(values: Batch) -> str:
    """Give the shape of one row of a batch as people write it, of every part of a dict."""
    if isinstance(values, dict):
        return "{" + ", ".join(f"{key}: {np.shape(values[key])[1:]}" for key in values) + "}"
    return str(np.shape(values)[1:])


def flat(values: Batch) -> Array:
    """Give a batch as one row of numbers per lane; the parts of a dict in the order of keys."""
    if isinstance(values, dict):
        parts = [flat(values[key]) for key in sorted(values, key=_numbers_as_such)]
        return np.concatenate(parts, axis=1)
    return np.asarray(values).reshape(len(values), -1)


def _numbers_as_such(key: str) -> list[tuple[bool, int, str]]:
    """Order the parts of tuples by number: 2 comes before 10."""
    parts = key.split(".")
    return [(False, int(part), "") if part.isdigit() else (True, 0, part) for part in parts]


def finite(rows: Array, who: str) -> Array:
    """Give rows as they are, or say which entry holds what nothing can be learned from."""
    if rows.dtype.kind == "f" and not np.isfinite(rows).all():
        row, entry = np.argwhere(~np.isfinite(rows))[0].tolist()
        raise FitError(f"{who} cannot learn from {rows[row, entry]} in entry {entry}")
    return rows


def vector(values: Batch, who: str) -> Array:
    """Give a batch of vectors, joining single numbers and the parts of a dict; no pictures."""
    parts = list(values.values()) if isinstance(values, dict) else [values]
    if any(np.ndim(part) > 2 for part in parts):
        raise FitError(
            f"{who} works on vectors of shape (n,) and got shape {shape_of(values)}: "
            "make pictures small first, with grey, resize and levels, or use clusters or auto"
        )
    return flat(values)


def listed(numbers: Array) -> str:
    """Give numbers as people write them."""
    return ", ".join(f"{number:g}" for number in np.ravel(numbers).tolist())


@dataclass(frozen=True)
class Identity:
    """The observation itself; the parts of a dict are joined."""

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        return flat(values) if isinstance(values, dict) else np.asarray(values)


@dataclass(frozen=True)
class View:
    """An extra view of the environment instead of the observation, for example `view:screen`."""

    name: str
    """What the environment calls it."""

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.name,)

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        return views[self.name]


@dataclass(frozen=True)
class Select:
    """Some entries of a vector, for example `select:0+2`."""

    entries: tuple[int, ...]
    """Positions to keep, from 0."""

    def __post_init__(self) -> None:
        if not self.entries:
            raise SpecError("select needs at least one entry, for example select:0+2")

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        rows = vector(values, "select")
        wrong = [entry for entry in self.entries if not 0 <= entry < rows.shape[1]]
        if wrong:
            raise FitError(
                f"select cannot take entry {wrong[0]} of vectors of shape ({rows.shape[1]},)"
            )
        return rows[:, list(self.entries)]


@dataclass(frozen=True)
class Scale:
    """Entries multiplied by constants, for example `scale:1+1+0.25+1`."""

    factors: tuple[float, ...]
    """One factor for all entries, or one for each."""

    def __post_init__(self) -> None:
        if not np.isfinite(self.factors).all():
            raise SpecError(f"scale: factors must be numbers, got {listed(np.array(self.factors))}")

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

    def __post_init__(self) -> None:
        if any(abs(digits) > 15 for digits in self.digits):
            raise SpecError(f"round: digits must lie in -15..15, got {list(self.digits)}")

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        rows = vector(values, "round").astype(np.float64)
        if len(self.digits) == 1:
            return np.round(rows, self.digits[0]) + 0.0  # + 0.0 turns -0.0 into 0.0
        if len(self.digits) != rows.shape[1]:
            raise FitError(f"round has {len(self.digits)} digits for vectors of {rows.shape[1]}")
        columns = [np.round(rows[:, i], digits) for i, digits in enumerate(self.digits)]
        return np.stack(columns, axis=1) + 0.0


@dataclass(frozen=True)
class Abs:
    """Absolute values, where an environment is symmetric."""

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        return np.asarray(np.abs(vector(values, "abs")))
