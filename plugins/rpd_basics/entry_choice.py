"""Which entries of long vectors are informative: they vary, and do not repeat others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rpd_basics.batches import Array, Batch, as_rows, pick_entries, width
from rpd_basics.readable import cells_of, repeats

TUNED = 24
"""Entries that get bins at most; of longer vectors, the most informative."""
JUDGED = 4096
"""Steps that entries are picked on at most, evenly chosen."""
_AT_ONCE = 1024


def informative_entries(values: Batch, most: int = TUNED) -> tuple[int, ...]:
    """Pick the entries that vary and repeat one another least, numbered as `flatten` does.

    Each is ranked by how evenly its mean splits the steps, and loses what it shares with one
    picked before: cells of a grid and rays of a scanner often repeat one another.
    """
    if width(values) <= most:
        return tuple(range(width(values)))
    splits = _Splits.of(values)
    worth = np.sqrt(splits.spread) / splits.steps
    left = worth.copy()
    picked: list[int] = []
    while len(picked) < most and left.max() > 1e-9:
        picked.append(int(left.argmax()))
        left = np.minimum(left, worth * (1 - splits.shared(picked[-1])))
        left[picked] = 0
    return tuple(sorted(picked))


def distinct_entries(values: Batch, entries: tuple[int, ...]) -> tuple[int, ...]:
    """Leave out entries that say the same as one before, such as the other end of a gap."""
    steps = len(as_rows(values)[0])
    chosen = np.arange(min(steps, JUDGED)) * steps // max(min(steps, JUDGED), 1)
    columns = pick_entries(values, entries)[chosen]
    kept: dict[int, Array] = {}
    for entry, column in zip(entries, columns.T, strict=True):
        cells = cells_of(column)
        if len(np.unique(cells)) < 3 or not any(repeats(cells, one) for one in kept.values()):
            kept[entry] = cells
    return tuple(kept)


@dataclass(frozen=True)
class _Splits:
    """Whether each entry lies above its mean at each step, in single bits: samples are large."""

    bits: Array
    """A row of words per entry, a bit per step."""
    steps: int
    """Number of steps."""

    @classmethod
    def of(cls, values: Batch) -> _Splits:
        rows = as_rows(values)
        count = len(rows[0])
        steps = min(count, JUDGED)
        chosen = slice(None) if steps == count else np.arange(steps) * count // steps
        bits = np.zeros((width(values), -(-steps // 64) * 8), dtype=np.uint8)
        start = 0
        for part in rows:
            for first in range(0, part.shape[1], _AT_ONCE):
                few = part[chosen, first : first + _AT_ONCE]
                above = np.packbits(few > few.mean(axis=0, dtype=np.float64), axis=0)
                end = start + few.shape[1]
                bits[start:end, : len(above)] = above.T
                start = end
        return cls(bits.view(np.uint64), steps)

    @cached_property
    def true(self) -> Array:
        """Number of steps at which each entry lies above its mean."""
        return _ones(self.bits)

    @property
    def spread(self) -> Array:
        """Variance of each split times the steps squared, which is a whole number."""
        return np.asarray(self.true * (self.steps - self.true))

    def shared(self, entry: int) -> Array:
        """Return how strongly every split is correlated with that of one entry, from 0 to 1."""
        common = _ones(self.bits & self.bits[entry])
        covariance = np.abs(common * self.steps - self.true * self.true[entry])
        scale = np.sqrt((self.spread * self.spread[entry]).astype(np.float64))
        return np.asarray(covariance / np.where(scale > 0, scale, 1.0))


def _ones(words: Array) -> Array:
    return np.asarray(np.bitwise_count(words).sum(axis=1, dtype=np.int64))
