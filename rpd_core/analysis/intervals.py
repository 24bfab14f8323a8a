"""Quantiles of distributions; spectrum -> the effect of each state with an interval.

The effect is the risk of failure if the state is mutated minus the risk if it is kept, where risk =
failed / (failed + passed). Counts may be real numbers: under a soft condition an episode counts
partly as failed and partly as passed.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.errors import ConfigError
from rpd_core.plugin.protocols import Spectrum

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import BoolArray, FloatArray


def _special() -> ModuleType:
    # 0.1 s and 250 modules, which reading a run does without
    return importlib.import_module("scipy.special")


def upper_z(tail: float) -> float:
    """Return the value that a standard normal variable exceeds with probability `tail`."""
    return float(-_special().ndtri(tail))


def two_sided_z(level: float) -> float:
    """Return how many standard errors an interval of this confidence reaches to each side."""
    return upper_z(_outside(level) / 2)


def upper_t(tail: float, degrees: int) -> float:
    """Return the value that a t-distributed variable exceeds with probability `tail`."""
    return float(-_special().stdtrit(degrees, tail))


def t_tail(value: float, degrees: int) -> float:
    """Return the probability of a t-distributed variable above a value."""
    return float(_special().stdtr(degrees, -value))


def two_sided_t(level: float, degrees: int) -> float:
    """Return between minus what and what a t-distributed variable lies with this chance."""
    return upper_t(_outside(level) / 2, degrees)


def upper_tail(z: FloatArray) -> FloatArray:
    """Return the probability of a standard normal variable above z, exact far out, too."""
    return np.asarray(_special().ndtr(-np.asarray(z, dtype=np.float64)))


def _outside(level: float) -> float:
    if not 0 < level < 1:
        raise ConfigError(f"the confidence level must lie in (0, 1), got {level:g}; try 0.95")
    return 1 - level


@dataclass(frozen=True)
class Interval:
    """Effects with intervals, one row per state; all lie in [-1, 1]."""

    estimate: FloatArray
    """Difference of the two risks; 0 where an arm is empty."""
    low: FloatArray
    """Lower end, at most the estimate; -1 where an arm is empty."""
    high: FloatArray
    """Upper end, at least the estimate; 1 where an arm is empty."""


def effect_interval(spectrum: Spectrum, level: float = 0.95) -> Interval:
    """Return Newcombe's intervals for whole counts, Agresti and Caffo's for soft ones.

    The outcome of an episode under a soft condition varies at most as much as if it were all or
    nothing at the same mean, so the intervals for soft counts are on the safe side.
    """
    method = agresti_caffo if has_fractions(spectrum) else newcombe
    return method(spectrum, level)


def has_fractions(spectrum: Spectrum) -> bool:
    """Return whether some episode was neither wholly passed nor wholly failed."""
    return any(bool((cell != np.rint(cell)).any()) for cell in vars(spectrum).values())


def newcombe(spectrum: Spectrum, level: float = 0.95) -> Interval:
    """Return Newcombe's hybrid score intervals: Wilson's interval of each arm, combined."""
    z = two_sided_z(level)
    mutated, kept = arm_sizes(spectrum)
    risk_mutated = _risk(spectrum.mutated_failed, mutated)
    risk_kept = _risk(spectrum.kept_failed, kept)
    low_mutated, high_mutated = wilson(risk_mutated, mutated, z)
    low_kept, high_kept = wilson(risk_kept, kept, z)
    difference = risk_mutated - risk_kept
    down = np.hypot(risk_mutated - low_mutated, high_kept - risk_kept)
    up = np.hypot(high_mutated - risk_mutated, risk_kept - low_kept)
    return _interval(spectrum, difference - down, difference + up)


def agresti_caffo(spectrum: Spectrum, level: float = 0.95) -> Interval:
    """Return Agresti and Caffo's intervals: one failure and one pass are added to each arm.

    An end that would not reach the plain difference, as can happen at low levels, is moved there.
    """
    difference, error = agresti_caffo_parts(spectrum)
    width = two_sided_z(level) * error
    return _interval(spectrum, difference - width, difference + width)


def agresti_caffo_parts(spectrum: Spectrum) -> tuple[FloatArray, FloatArray]:
    """Return the difference of risks with one failure and one pass more in each arm, and its error.

    Both are finite for every state; the standard error is never 0.
    """
    mutated, kept = arm_sizes(spectrum)
    risk_mutated = (spectrum.mutated_failed + 1) / (mutated + 2)
    risk_kept = (spectrum.kept_failed + 1) / (kept + 2)
    variance = risk_mutated * (1 - risk_mutated) / (mutated + 2)
    variance = variance + risk_kept * (1 - risk_kept) / (kept + 2)
    return risk_mutated - risk_kept, np.sqrt(variance)


def arm_sizes(spectrum: Spectrum) -> tuple[FloatArray, FloatArray]:
    """Return the episodes of each state in which it was mutated, and in which it was kept."""
    mutated = spectrum.mutated_failed + spectrum.mutated_passed
    return mutated, spectrum.kept_failed + spectrum.kept_passed


def effect(spectrum: Spectrum) -> FloatArray:
    """Return the difference of risks; 0 where an arm is empty."""
    mutated, kept = arm_sizes(spectrum)
    difference = _risk(spectrum.mutated_failed, mutated) - _risk(spectrum.kept_failed, kept)
    return np.where((mutated > 0) & (kept > 0), difference, 0.0)


def _interval(spectrum: Spectrum, low: FloatArray, high: FloatArray) -> Interval:
    """Return intervals that contain their estimate, the widest where an arm is empty."""
    estimate, empty = effect(spectrum), _empty(spectrum)
    low = np.where(empty, -1.0, np.clip(np.minimum(low, estimate), -1.0, 1.0))
    high = np.where(empty, 1.0, np.clip(np.maximum(high, estimate), -1.0, 1.0))
    return Interval(estimate, low, high)


def _empty(spectrum: Spectrum) -> BoolArray:
    mutated, kept = arm_sizes(spectrum)
    return np.asarray((mutated <= 0) | (kept <= 0))


def _risk(failed: FloatArray, size: FloatArray) -> FloatArray:
    """Return failed / size, and one half for an empty arm."""
    half: FloatArray = np.full(np.shape(size), 0.5)
    return np.asarray(np.divide(failed, size, out=half, where=size > 0))


def wilson(risk: FloatArray, size: FloatArray, z: float) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's score interval of one arm; 0 to 1 for an empty one."""
    middle = (size * risk + z * z / 2) / (size + z * z)
    width = z * np.sqrt(size * risk * (1 - risk) + z * z / 4) / (size + z * z)
    return np.maximum(middle - width, 0.0), np.minimum(middle + width, 1.0)
