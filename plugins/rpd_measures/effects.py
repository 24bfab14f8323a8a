"""Effects on the risk of failure: what mutating a state changes, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpd_core.analysis.intervals import (
    agresti_caffo_parts,
    effect,
    effect_interval,
    two_sided_z,
)
from rpd_core.plugin.protocols import Evidence, Scores
from rpd_measures.formula import FloatArray
from rpd_measures.inputs import check_z, number_of_episodes, visiting

LEVEL = 0.95
"""Confidence of the intervals, whatever the bound that ranks."""


@dataclass(frozen=True)
class Effect:
    """Risk if mutated minus risk if kept, by a lower bound.

    Agresti and Caffo's difference (one failure and one pass are added to each arm) minus z standard
    errors. The interval is the 95 % one of the plain difference.
    """

    z: float = 1.0
    """Standard errors between the estimate and the bound that ranks."""

    def __post_init__(self) -> None:
        check_z("effect", self.z)

    def __call__(self, evidence: Evidence) -> Scores:
        difference, error = agresti_caffo_parts(evidence.spectrum)
        interval = effect_interval(evidence.spectrum, LEVEL)
        values = difference - self.z * error
        return Scores(values, interval.low, interval.high, interval.estimate, LEVEL)


@dataclass(frozen=True)
class Impact:
    """Effect times the chance that an episode of the suite visits the state, by a lower bound.

    How much the risk of failure over all episodes changes. Agresti and Caffo's difference times the
    share of episodes that visit, minus z standard errors, which hold the error of both factors.
    """

    z: float = 1.0
    """Standard errors between the estimate and the bound that ranks."""

    def __post_init__(self) -> None:
        check_z("impact", self.z)

    def __call__(self, evidence: Evidence) -> Scores:
        episodes = number_of_episodes("impact", evidence.episodes)
        chance = visiting(evidence.spectrum) / episodes
        difference, error = agresti_caffo_parts(evidence.spectrum)
        middle = difference * chance
        spread = np.hypot(chance * error, difference * _error_of_share(chance, episodes))
        estimate = effect(evidence.spectrum) * chance
        width = two_sided_z(LEVEL) * spread
        low, high = np.minimum(middle - width, estimate), np.maximum(middle + width, estimate)
        return Scores(middle - self.z * spread, low, high, estimate, LEVEL)


def _error_of_share(share: FloatArray, count: int) -> FloatArray:
    """Return the standard error of a share of `count` episodes."""
    variance: FloatArray = np.clip(share * (1 - share), 0.0, None) / count
    return np.sqrt(variance)
