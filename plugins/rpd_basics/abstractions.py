"""Abstractions of vectors, chained by repeating the flag."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from rpd_basics.batches import Array, Batch, as_vectors, flatten
from rpd_core.errors import FitError, SpecError
from rpd_core.plugin.protocols import Entry


def join_numbers(numbers: Array) -> str:
    """Write numbers as people do."""
    return ", ".join(f"{number:g}" for number in np.ravel(numbers).tolist())


@dataclass(frozen=True)
class Identity:
    """The observation itself; the parts of a dict are joined."""

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        return flatten(values) if isinstance(values, dict) else np.asarray(values)

    def name_entries(self, before: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return the entries as they are."""
        return before


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


def _wrong_number(who: str, what: str, given: tuple[float, ...], rows: Array) -> str:
    """Describe how many parameters there are and how many there must be."""
    width = rows.shape[1]
    return f"{who} has {len(given)} {what} for vectors of {width}: give 1 or {width}"


@dataclass(frozen=True)
class Select:
    """Some entries of a vector, for example `select:0+2`."""

    entries: tuple[int, ...]
    """Positions to keep, from 0."""

    def __post_init__(self) -> None:
        if not self.entries:
            raise SpecError("select needs at least one entry, for example select:0+2")

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        rows = as_vectors(values, "select")
        wrong = [entry for entry in self.entries if not 0 <= entry < rows.shape[1]]
        if wrong:
            raise FitError(
                f"select cannot take entry {wrong[0]} of vectors of shape ({rows.shape[1]},): "
                f"entries go from 0 to {rows.shape[1] - 1}"
            )
        return rows[:, list(self.entries)]

    def name_entries(self, before: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return those that are kept."""
        return tuple(before[entry] for entry in self.entries) if before else ()


@dataclass(frozen=True)
class Scale:
    """Entries multiplied by constants, for example `scale:1+1+0.25+1`."""

    factors: tuple[float, ...]
    """One factor for all entries, or one for each."""

    def __post_init__(self) -> None:
        if not np.isfinite(self.factors).all():
            raise SpecError(
                f"scale: factors must be numbers, got {join_numbers(np.array(self.factors))}"
            )

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        rows = as_vectors(values, "scale")
        if len(self.factors) not in (1, rows.shape[1]):
            raise FitError(_wrong_number("scale", "factors", self.factors, rows))
        with np.errstate(invalid="ignore"):  # nothing times infinity
            scaled = rows.astype(np.float64) * np.array(self.factors)
        return np.asarray(np.where(np.equal(self.factors, 0), 0.0, scaled))

    def name_entries(self, before: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return the entries with their factors in front; numbers of bins are not scaled."""
        if any(entry.edges for entry in before) or len(self.factors) not in (1, len(before)):
            return ()
        factors = self.factors * len(before) if len(self.factors) == 1 else self.factors
        return tuple(
            entry if factor == 1 else replace(entry, name=f"{factor:g} * {entry.name}")
            for entry, factor in zip(before, factors, strict=True)
        )


@dataclass(frozen=True)
class Round:
    """Entries rounded, for example `round:1` or `round:0+1+2+1`."""

    digits: tuple[int, ...] = (1,)
    """Decimal places: one number for all entries, or one for each."""

    def __post_init__(self) -> None:
        if any(abs(digits) > 15 for digits in self.digits):
            raise SpecError(f"round: digits must lie in -15..15, got {list(self.digits)}")

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        rows = as_vectors(values, "round").astype(np.float64)
        if len(self.digits) == 1:
            return np.round(rows, self.digits[0]) + 0.0  # + 0.0 turns -0.0 into 0.0
        if len(self.digits) != rows.shape[1]:
            raise FitError(_wrong_number("round", "digits", self.digits, rows))
        columns = [np.round(rows[:, i], digits) for i, digits in enumerate(self.digits)]
        return np.stack(columns, axis=1) + 0.0

    def name_entries(self, before: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return the entries as they are; numbers of bins are not rounded."""
        return () if any(entry.edges for entry in before) else before


@dataclass(frozen=True)
class Abs:
    """Absolute values, where an environment is symmetric."""

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        rows = as_vectors(values, "abs")
        wide = rows.astype(np.int64) if rows.dtype.kind == "i" else rows  # 128 does not fit int8
        return np.asarray(np.abs(wide))

    def name_entries(self, before: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return the entries with bars around them; numbers of bins stay as they are."""
        return tuple(
            entry if entry.edges else replace(entry, name=f"|{entry.name}|") for entry in before
        )
