"""Clusters of observations: the nearest of some centres learned from the original policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rpd_basics.abstractions import join_numbers
from rpd_basics.batches import Array, Batch, check_finite, flatten, rows_of, width
from rpd_core.errors import FitError, SpecError
from rpd_core.plugin.protocols import FitSample, learned

_ROWS = 10_000
"""Steps that centres are learned from at most."""
_NUMBERS = 2**24
"""Numbers that centres are learned from at most: fewer steps of large observations."""
_ROUNDS = 30


def _k_means(rows: Array, count: int, seed: int) -> Array:
    """Find centres by Lloyd's method from spread-out starts; the same for the same seed."""
    generator = np.random.default_rng(seed)
    centres = _spread_out(rows, count, generator)
    labels = np.full(len(rows), -1)
    for _ in range(_ROUNDS):
        nearest = _distances(rows, centres).argmin(axis=1)
        if (nearest == labels).all():
            break
        labels = nearest
        sizes = np.bincount(labels, minlength=len(centres))
        sums = np.zeros_like(centres)
        np.add.at(sums, labels, rows)
        centres = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)
    return centres


def _spread_out(rows: Array, count: int, generator: np.random.Generator) -> Array:
    """Draw rows one after the other, each with a chance that grows with its distance squared."""
    chosen = [rows[generator.integers(len(rows))]]
    gaps = _distances(rows, chosen[0][None])[:, 0]
    while len(chosen) < count and gaps.sum() > 0:
        chosen.append(rows[generator.choice(len(rows), p=gaps / gaps.sum())])
        gaps = np.minimum(gaps, _distances(rows, chosen[-1][None])[:, 0])
    return np.stack(chosen)


def _distances(rows: Array, centres: Array) -> Array:
    crossed = rows @ centres.T
    squares = (rows**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2 * crossed
    return np.asarray(np.maximum(squares, 0))


@dataclass(frozen=True)
class Clusters:
    """The nearest of some centres, for example `clusters:50`; entries count in deviations."""

    count: int = 64
    """Number of centres."""
    centres: tuple[tuple[float, ...], ...] = learned(())
    """One row of numbers each, from `means` on in units of `scales`; learned."""
    means: tuple[float, ...] = learned(())
    """Mean of every entry; learned."""
    scales: tuple[float, ...] = learned(())
    """Standard deviation of every entry; learned."""

    def __post_init__(self) -> None:
        if not 2 <= self.count <= 30_000:
            raise SpecError(f"clusters: count must lie in 2..30000, got {self.count}")

    def fit(self, sample: FitSample) -> Clusters:
        """Learn means, scales and centres."""
        check_finite(sample.values, "clusters")
        values, steps = sample.values, len(sample.episodes)
        most = min(_ROWS, max(_NUMBERS // max(width(values), 1), self.count))
        if steps > most:
            generator = np.random.default_rng(sample.seed)
            values = rows_of(values, np.sort(generator.choice(steps, most, replace=False)))
        rows = flatten(values).astype(np.float64)
        means, deviations = rows.mean(axis=0), rows.std(axis=0)
        noise = 1e-9 * np.abs(rows).max(axis=0)  # what a constant deviates by in floating point
        scales = np.where(deviations > noise, deviations, 1.0)
        centres = _k_means((rows - means) / scales, self.count, sample.seed)
        return replace(
            self,
            centres=tuple(map(tuple, centres.tolist())),
            means=tuple(means.tolist()),
            scales=tuple(scales.tolist()),
        )

    @cached_property
    def _learned(self) -> tuple[Array, Array, Array]:
        return np.array(self.means), np.array(self.scales), np.array(self.centres)

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        rows = flatten(values)
        if rows.shape[1] != len(self.scales):
            what = f"fitted to {len(self.scales)} numbers" if self.scales else "not fitted"
            raise FitError(f"clusters is {what} and got {rows.shape[1]} numbers per row")
        means, scales, centres = self._learned
        rows = (rows.astype(np.float64) - means) / scales
        # not by a matrix product, whose last bits depend on the size of the batch
        gaps = np.stack([((rows - centre) ** 2).sum(axis=1) for centre in centres], axis=1)
        nearest: Array = gaps.argmin(axis=1).astype(np.int16)
        return nearest[:, None]

    def show(self, value: Array) -> str:
        """Return the centre's number and, where it is short, the centre."""
        number = int(value[0])
        if len(self.scales) > 8:
            return f"cluster {number}"
        means, scales, centres = self._learned
        return f"cluster {number} around {join_numbers(centres[number] * scales + means)}"
