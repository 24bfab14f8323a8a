"""Effects on the return, which need no condition."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from rpd_core.analysis.intervals import arm_sizes, two_sided_z
from rpd_core.plugin.protocols import Evidence, Returns, Scores, Spectrum
from rpd_measures.bounds import LEVEL, check_z, drawn_together
from rpd_measures.formula import FloatArray, ratio
from rpd_measures.inputs import needed, visiting


@dataclass(frozen=True)
class EffectReturn:
    """Mean return if kept minus mean return if mutated, by a lower bound; no condition needed.

    As Agresti and Caffo add a failure and a pass, two returns are added to each arm: one a standard
    deviation below and one above the mean of the state. The deviation is that of returns within
    states, over the whole suite, so a state seen once is as uncertain as it should be.
    """

    kind: Literal["plain", "shrunken"] = "plain"
    """By each state's evidence alone, or drawn towards what all states show (empirical Bayes)."""
    z: float = 1.0
    """Standard errors between the estimate and the bound that ranks."""

    def __post_init__(self) -> None:
        check_z("effect-return", self.z)

    def __call__(self, evidence: Evidence) -> Scores:
        returns = needed("effect-return", "returns", evidence.returns)
        spectrum = evidence.spectrum
        deviation = _deviation_within(returns, visiting(spectrum))
        middle, error = _adjusted(returns, spectrum, deviation)
        low, high, estimate = _interval(returns, spectrum, middle, error)
        if self.kind == "shrunken" and deviation > 0:
            unit = deviation  # what little spread is taken for granted is meant for risks
            middle, error = drawn_together(middle / unit, error / unit, spectrum)
            middle, error = middle * unit, error * unit
        return Scores(middle - self.z * error, low, high, estimate, LEVEL)


def _interval(
    returns: Returns, spectrum: Spectrum, middle: FloatArray, error: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return both ends and the plain difference of means; no ends where an arm is empty."""
    mutated, kept = arm_sizes(spectrum)
    known = (mutated > 0) & (kept > 0)
    plain = ratio(returns.kept_sum, kept) - ratio(returns.mutated_sum, mutated)
    estimate, width = np.where(known, plain, 0.0), two_sided_z(LEVEL) * error
    low = np.where(known, np.minimum(middle - width, estimate), np.nan)
    high = np.where(known, np.maximum(middle + width, estimate), np.nan)
    return low, high, estimate


def _adjusted(
    returns: Returns, spectrum: Spectrum, deviation: float
) -> tuple[FloatArray, FloatArray]:
    """Return the difference of means with two returns more in each arm, and its error."""
    mutated, kept = arm_sizes(spectrum)
    centre = ratio(returns.mutated_sum + returns.kept_sum, mutated + kept)
    arm = partial(_arm, centre=centre, deviation=deviation)
    mean_mutated, error_mutated = arm(returns.mutated_sum, returns.mutated_squares, mutated)
    mean_kept, error_kept = arm(returns.kept_sum, returns.kept_squares, kept)
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


def _deviation_within(returns: Returns, size: FloatArray) -> float:
    """Return the standard deviation of returns around the mean of their state."""
    total = returns.mutated_sum + returns.kept_sum
    squares = returns.mutated_squares + returns.kept_squares
    apart = np.clip(squares - ratio(total**2, size), 0.0, None)
    # Sums that do not depend on the order of the states.
    freedom = math.fsum(np.clip(size - 1, 0.0, None).tolist())
    return math.sqrt(math.fsum(apart.tolist()) / freedom) if freedom > 0 else 0.0
