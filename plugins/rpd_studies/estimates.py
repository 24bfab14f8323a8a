"""Pairs of numbers: differences with intervals, and how two orders agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.intervals import two_sided_t, two_sided_z

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, FloatArray

RESAMPLES = 2000
"""Resampled sets of pairs behind the interval of a correlation."""


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval; the ends are null where nothing can be said."""

    estimate: float
    low: float | None
    high: float | None

    @property
    def text(self) -> str:
        """The number, and its interval where it has one."""
        ends = self.low is not None and self.high is not None
        return f"{self.estimate:.2f}" + (f" ({self.low:.2f} to {self.high:.2f})" if ends else "")


def risk_difference(mutated: FloatArray, unmutated: FloatArray) -> Estimate:
    """Return by how much the share of failures differs, over pairs of outcomes in [0, 1].

    The interval is Agresti and Min's (Statistics in Medicine 24, 2005): half a pair is added to
    each of the four possible pairs of outcomes, so that pairs which never differ leave room, too.
    """
    differences = mutated - unmutated
    size = len(differences) + 2.0
    mean = float(differences.sum()) / size
    variance = (float(np.square(differences).sum()) + 1.0) / size - mean**2
    reach = two_sided_z(0.95) * np.sqrt(variance / size)
    low, high = max(mean - reach, -1.0), min(mean + reach, 1.0)
    return Estimate(float(differences.mean()), float(low), float(high))


def mean_difference(one: FloatArray, other: FloatArray) -> Estimate:
    """Return the mean difference of pairs of numbers, with the interval of a paired t-test."""
    return mean_interval(one - other)


def mean_interval(values: FloatArray) -> Estimate:
    """Return a mean with its interval by Student's t; one number alone has none."""
    count, mean = len(values), float(values.mean())
    if count < 2:
        return Estimate(mean, None, None)
    error = float(values.std(ddof=1)) / np.sqrt(count)
    reach = float(two_sided_t(0.95, count - 1) * error)
    return Estimate(mean, mean - reach, mean + reach)


def spearman(left: Array, right: Array) -> float | None:
    """Return the correlation of the ranks of two columns; equal numbers share their mean rank.

    None where a column does not vary.
    """
    ranks = [_ranks(np.asarray(column)) for column in (left, right)]
    centred = [column - column.mean() for column in ranks]
    scale = np.sqrt(np.prod([np.square(column).sum() for column in centred]))
    return float((centred[0] * centred[1]).sum() / scale) if scale > 0 else None


def _ranks(column: Array) -> FloatArray:
    _, place, count = np.unique(column, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray((last - (count - 1) / 2)[place], dtype=np.float64)


def rank_agreement(left: Array, right: Array, seed: int) -> Estimate | None:
    """Return Spearman's correlation with an interval from resampled pairs; None as `spearman`."""
    whole = spearman(left, right)
    if whole is None:
        return None
    generator = np.random.default_rng([seed, len(left)])
    rows = generator.integers(len(left), size=(RESAMPLES, len(left)))
    drawn = [spearman(left[some], right[some]) for some in rows]
    found = [one for one in drawn if one is not None]
    if len(found) * 2 < RESAMPLES:
        return Estimate(whole, None, None)
    low, high = np.quantile(found, [0.025, 0.975])
    return Estimate(whole, float(low), float(high))
