"""Bins whose edges are learned from episodes of the original policy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rpd_basics.batches import Array, Batch, as_vectors, check_finite
from rpd_basics.entry_names import bin_rules, check_names, names_in
from rpd_basics.readable import cells_of, cut_between, resolution, spaced
from rpd_core.errors import FitError, SpecError
from rpd_core.plugin.protocols import Bound, Entry, FitSample, learned

Edges = tuple[tuple[float, ...], ...]
"""Inner edges of the bins of every entry, ascending."""


def quantile_edges(column: Array, count: int) -> tuple[float, ...]:
    """Return edges that put about as many values into each bin; few values get a bin each.

    They lie between values that can be told apart, on short numbers.
    """
    values = np.sort(column)
    cells = cells_of(values)
    starts = np.flatnonzero(cells[1:] != cells[:-1]) + 1
    if len(starts) >= count:
        wanted = np.arange(1, count) * len(values) / count
        above = np.searchsorted(starts, wanted).clip(1, len(starts) - 1)
        nearer = wanted - starts[above - 1] < starts[above] - wanted
        starts = starts[np.unique(np.where(nearer, above - 1, above))]
    return tuple(cut_between(float(values[at - 1]), float(values[at])) for at in starts.tolist())


def uniform_edges(column: Array, count: int) -> tuple[float, ...]:
    """Return edges of equally wide bins between the smallest and the largest value."""
    low, high = float(column.min()), float(column.max())
    if high <= low:
        return ()
    inner = np.unique(np.linspace(low, high, count + 1)[1:-1])
    return tuple(spaced(inner, resolution(column)).tolist())


def digitise(rows: Array, edges: Edges) -> Array:
    """Return the number of the bin that each entry lies in; an edge belongs to the bin above it."""
    binned = np.empty((len(rows), len(edges)), dtype=np.int16)
    for number, inner in enumerate(edges):
        column = rows[:, number].astype(np.float64)
        binned[:, number] = np.searchsorted(np.array(inner), column, side="right")
    return binned


def box_of(
    value: Sequence[int], edges: Edges, names: Sequence[str], entries: Sequence[int]
) -> tuple[Bound, ...]:
    """Return between which edges each of some entries of an observation lies."""
    found = []
    for name, entry, place, inner in zip(names, entries, value, edges, strict=True):
        ends = (-math.inf, *inner, math.inf)
        if inner:
            found.append(Bound(name, (entry,), ends[place], ends[place + 1]))
    return tuple(found)


def binned(before: Sequence[Entry], edges: Edges) -> tuple[Entry, ...]:
    """Return entries whose values are numbers of bins; none if they were that before."""
    if any(entry.edges for entry in before):
        return ()
    pairs = zip(before, edges, strict=True)
    return tuple(replace(entry, edges=inner, digits=None) for entry, inner in pairs)


@dataclass(frozen=True)
class Bins:
    """Entries of a vector in bins, for example `bins:8` or `bins:4+8,kind=uniform`.

    There are fewer where bins would be narrower than the data can tell or a person can read.
    """

    count: tuple[int, ...] = (8,)
    """Bins: one number for all entries, or one for each."""
    kind: Literal["quantile", "uniform"] = "quantile"
    """Equally full bins, or equally wide ones."""
    edges: tuple[tuple[float, ...], ...] = learned(())
    """Inner edges of every entry; learned from episodes of the original policy."""
    names: tuple[str, ...] = learned(())
    """What the entries are called, if they have names; learned."""

    def __post_init__(self) -> None:
        wrong = [count for count in self.count if not 1 <= count <= 30_000]
        if wrong or not self.count:
            raise SpecError(f"bins: count must lie in 1..30000, got {list(self.count)}")
        check_names("bins", self.names, len(self.edges))

    def fit(self, sample: FitSample) -> Bins:
        """Learn the edges."""
        rows = as_vectors(sample.values, "bins")
        check_finite(rows, "bins")
        size = rows.shape[1]
        if len(self.count) not in (1, size):
            raise FitError(f"bins has {len(self.count)} counts for vectors of shape ({size},)")
        counts = self.count * size if len(self.count) == 1 else self.count
        learn = quantile_edges if self.kind == "quantile" else uniform_edges
        edges = tuple(learn(rows[:, number], count) for number, count in enumerate(counts))
        return replace(self, edges=edges, names=names_in(sample, size))

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        rows = as_vectors(values, "bins")
        if len(self.edges) != rows.shape[1]:
            what = f"is fitted to shape ({len(self.edges)},)" if self.edges else "is not fitted"
            raise FitError(f"bins {what} and got vectors of shape ({rows.shape[1]},)")
        return digitise(rows, self.edges)

    def show(self, value: Array) -> str:
        """Describe between which edges each entry lies."""
        return bin_rules(value.tolist(), self.edges, self._named)

    def bounds(self, value: Array) -> tuple[Bound, ...]:
        """Return the bins in numbers."""
        return box_of(value.tolist(), self.edges, self._named, range(len(self.edges)))

    @property
    def _named(self) -> Sequence[str]:
        return self.names or [f"x{number}" for number in range(len(self.edges))]

    def name_entries(self, before: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return the entries with their edges."""
        return binned(before, self.edges) if len(before) == len(self.edges) else ()
