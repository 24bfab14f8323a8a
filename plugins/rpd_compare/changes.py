"""Two spectra of the same states -> how much more each state matters in the second suite.

The difference of two effects has an interval made of the two effects' own: their distances to the
estimates are squared and added (Zou and Donner, Statistics in Medicine 27, 2008). Its p-values are
those at which the interval ends at 0, or Agresti and Caffo's where these are larger: exact
rejection rates of the two fail in different places, as they do for single effects.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.intervals import Interval, agresti_caffo_parts, effect_interval, upper_tail
from rpd_core.analysis.verdicts import benjamini_hochberg
from rpd_core.plugin.protocols import Spectrum

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import BoolArray, FloatArray

_FARTHEST = 7.5
"""Standard errors beyond which p-values, below 1e-13, are not told apart."""
_STEP = 0.1
"""Distance between the levels that are tried, in standard errors; p-values are rounded up."""


class Change(StrEnum):
    """What is said of a state's effect in the second suite against the first."""

    GAINED = "gained"
    """The effect is larger: the decision matters more."""
    LOST = "lost"
    """It is smaller."""
    OPEN = "open"
    """Neither can be told from chance."""


@dataclass(frozen=True)
class Differences:
    """One row per state of both suites."""

    interval: Interval
    """Effect in the second suite minus effect in the first; within -2 to 2."""
    gained: BoolArray
    """Whether it surely is larger."""
    lost: BoolArray
    """Whether it surely is smaller."""

    def change(self, row: int) -> Change:
        """Return what is said of a state."""
        if self.gained[row]:
            return Change.GAINED
        return Change.LOST if self.lost[row] else Change.OPEN


def compare_effects(first: Spectrum, second: Spectrum, level: float = 0.05) -> Differences:
    """Compare the effects of the same states; the share of false changes is expected below `level`.

    A state whose effect is the same can be taken for one that gained or for one that lost, so the
    two share the level, as with verdicts.
    """
    gained, lost = difference_chances(first, second)
    return Differences(
        difference_interval(first, second),
        benjamini_hochberg(gained, level / 2),
        benjamini_hochberg(lost, level / 2),
    )


def difference_interval(first: Spectrum, second: Spectrum, level: float = 0.95) -> Interval:
    """Return the second effect minus the first; the widest interval where an arm is empty."""
    one, two = effect_interval(first, level), effect_interval(second, level)
    estimate = two.estimate - one.estimate
    down = np.hypot(two.estimate - two.low, one.high - one.estimate)
    up = np.hypot(two.high - two.estimate, one.estimate - one.low)
    empty = _empty(first) | _empty(second)
    low = np.where(empty, -2.0, np.maximum(estimate - down, -2.0))
    high = np.where(empty, 2.0, np.minimum(estimate + up, 2.0))
    return Interval(np.where(empty, 0.0, estimate), low, high)


def difference_chances(first: Spectrum, second: Spectrum) -> tuple[FloatArray, FloatArray]:
    """Return the p-values of "did not gain" and of "did not lose"; 1 where an arm is empty."""
    above, below = np.zeros(len(first)), np.zeros(len(first))
    for z in np.arange(_STEP, _FARTHEST, _STEP):
        level = float(1 - 2 * upper_tail(np.asarray(z)))
        found = difference_interval(first, second, level)
        above[found.low > 0] = z  # ends move apart as levels rise, so the last one counts
        below[found.high < 0] = z
    (start, start_error), (end, end_error) = agresti_caffo_parts(first), agresti_caffo_parts(second)
    distance = (end - start) / np.hypot(start_error, end_error)
    empty = _empty(first) | _empty(second)
    gained = np.where(above > 0, upper_tail(np.minimum(above, distance)), 1.0)
    lost = np.where(below > 0, upper_tail(np.minimum(below, -distance)), 1.0)
    return np.where(empty, 1.0, gained), np.where(empty, 1.0, lost)


def _empty(spectrum: Spectrum) -> BoolArray:
    mutated = spectrum.mutated_failed + spectrum.mutated_passed
    kept = spectrum.kept_failed + spectrum.kept_passed
    return np.asarray((mutated <= 0) | (kept <= 0))
