"""Effects on the risk of failure: what mutating a state changes, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rpd_core.analysis.intervals import agresti_caffo_parts, effect, effect_interval, two_sided_z
from rpd_core.plugin.protocols import Evidence, Scores
from rpd_measures.bounds import LEVEL, check_z, drawn_together
from rpd_measures.formula import FloatArray
from rpd_measures.inputs import number_of_episodes, visiting


@dataclass(frozen=True)
class Effect:
    """Risk if mutated minus risk if kept, by a lower bound.

    Agresti and Caffo's difference (one failure and one pass are added to each arm) minus z standard
    errors. The interval is the 95 % one of the plain difference.
    """

    kind: Literal["plain", "shrunken"] = "plain"
    """By each state's evidence alone, or drawn towards what all states show (empirical Bayes)."""
    z: float = 1.0
    """Standard errors between the estimate and the bound that ranks."""

    def __post_init__(self) -> None:
        check_z("effect", self.z)

    def __call__(self, evidence: Evidence) -> Scores:
        spectrum = evidence.spectrum
        middle, error = agresti_caffo_parts(spectrum)
        if self.kind == "shrunken":
            middle, error = drawn_together(*_as_varied(middle, error, evidence), spectrum)
        interval = effect_interval(spectrum, LEVEL)
        values = middle - self.z * error
        return Scores(values, interval.low, interval.high, interval.estimate, LEVEL)


@dataclass(frozen=True)
class Impact:
    """Effect times the chance that an episode of the suite visits the state, by a lower bound.

    How much the risk of failure over all episodes changes. Agresti and Caffo's difference times the
    share of episodes that visit, minus z standard errors, which hold the error of both factors.
    """

    kind: Literal["plain", "shrunken"] = "plain"
    """By each state's evidence alone, or drawn towards what all states show (empirical Bayes)."""
    z: float = 1.0
    """Standard errors between the estimate and the bound that ranks."""

    def __post_init__(self) -> None:
        check_z("impact", self.z)

    def __call__(self, evidence: Evidence) -> Scores:
        spectrum = evidence.spectrum
        episodes = number_of_episodes("impact", evidence.episodes)
        chance = visiting(spectrum) / episodes
        parts = agresti_caffo_parts(spectrum)
        middle, spread = _product(*parts, chance, episodes)
        estimate, width = effect(spectrum) * chance, two_sided_z(LEVEL) * spread
        low, high = np.minimum(middle - width, estimate), np.maximum(middle + width, estimate)
        if self.kind == "shrunken":
            together = drawn_together(*_as_varied(*parts, evidence), spectrum)
            middle, spread = _product(*together, chance, episodes)
        return Scores(middle - self.z * spread, low, high, estimate, LEVEL)


def _as_varied(
    difference: FloatArray, error: FloatArray, evidence: Evidence
) -> tuple[FloatArray, FloatArray]:
    """Return effects with errors as large as outcomes vary under a soft condition.

    Those of all-or-nothing outcomes are on the safe side for intervals; here they would make all
    states seem alike, so that nothing but their visits would be left to rank them by.
    """
    return difference, error * evidence.outcome_spread


def _product(
    difference: FloatArray, error: FloatArray, chance: FloatArray, episodes: int
) -> tuple[FloatArray, FloatArray]:
    """Return effect times chance of a visit, and its standard error."""
    variance: FloatArray = np.clip(chance * (1 - chance), 0.0, None) / episodes
    return difference * chance, np.hypot(chance * error, difference * np.sqrt(variance))
