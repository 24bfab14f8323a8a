"""Effects on the return, which need no condition."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rpd_core.analysis.intervals import arm_sizes, two_sided_z
from rpd_core.plugin.protocols import Evidence, Returns, Scores
from rpd_measures.formula import FloatArray, ratio
from rpd_measures.inputs import check_z, needed

LEVEL = 0.95


@dataclass(frozen=True)
class EffectReturn:
    """Mean return if kept minus mean return if mutated, by a lower bound; no condition needed.

    As Agresti and Caffo add a failure and a pass, two returns are added to each arm: one a standard
    deviation below and one above the mean of the state. The deviation is that of returns within
    states, over the whole suite, so a state seen once is as uncertain as it should be.
    """

    z: float = 1.0
    """Standard errors between the estimate and the bound that ranks."""

    def __post_init__(self) -> None:
        check_z("effect-return", self.z)

    def __call__(self, evidence: Evidence) -> Scores:
        returns = needed("effect-return", "returns", evidence.returns)
        mutated, kept = arm_sizes(evidence.spectrum)
        difference, error = _adjusted(returns, mutated, kept)
        plain = ratio(returns.kept_sum, kept) - ratio(returns.mutated_sum, mutated)
        known = (mutated > 0) & (kept > 0)
        estimate, width = np.where(known, plain, 0.0), two_sided_z(LEVEL) * error
        low = np.where(known, np.minimum(difference - width, estimate), np.nan)
        high = np.where(known, np.maximum(difference + width, estimate), np.nan)
        return Scores(difference - self.z * error, low, high, estimate, LEVEL)


def _adjusted(
    returns: Returns, mutated: FloatArray, kept: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the difference of means with two returns more in each arm, and its error."""
    total = returns.mutated_sum + returns.kept_sum
    squares = returns.mutated_squares + returns.kept_squares
    centre = ratio(total, mutated + kept)
    deviation = _deviation_within(total, squares, mutated + kept)
    mean_mutated, error_mutated = _arm(
        returns.mutated_sum, returns.mutated_squares, mutated, centre, deviation
    )
    mean_kept, error_kept = _arm(returns.kept_sum, returns.kept_squares, kept, centre, deviation)
    return mean_kept - mean_mutated, np.hypot(error_mutated, error_kept)


def _arm(
    total: FloatArray, squares: FloatArray, size: FloatArray, centre: FloatArray, deviation: float
) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard error of one arm with two returns more, around the centre."""
    count = size + 2
    shift = (total - size * centre) / count  # from the centre: squares of large returns cancel
    spread = squares - 2 * centre * total + size * centre**2 + 2 * deviation**2
    variance = np.clip(spread / count - shift**2, 0.0, None)
    return centre + shift, np.sqrt(variance / count)


def _deviation_within(total: FloatArray, squares: FloatArray, size: FloatArray) -> float:
    """Return the standard deviation of returns around the mean of their state."""
    apart = np.clip(squares - ratio(total**2, size), 0.0, None)
    # Sums that do not depend on the order of the states.
    freedom = math.fsum(np.clip(size - 1, 0.0, None).tolist())
    return math.sqrt(math.fsum(apart.tolist()) / freedom) if freedom > 0 else 0.0
