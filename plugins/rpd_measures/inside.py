"""Measures from inside the policy: what it thinks of its own choices, without any outcome."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpd_core.errors import NotOfferedError
from rpd_core.plugin.protocols import Evidence
from rpd_measures.formula import FloatArray, ratio
from rpd_measures.inputs import needed


@dataclass(frozen=True)
class ValueGap:
    """Best minus worst action value by the policy's own account, mean over visits (HIGHLIGHTS)."""

    def __call__(self, evidence: Evidence) -> FloatArray:
        states = needed("value-gap", "states", evidence.states)
        return _mean("value-gap", "action values", states.value_gap, states.visits)


@dataclass(frozen=True)
class Entropy:
    """Minus the entropy of the policy's action probabilities in nats, mean over visits.

    A policy that is certain takes the choice to be critical: 0 is the highest score.
    """

    def __call__(self, evidence: Evidence) -> FloatArray:
        states = needed("entropy", "states", evidence.states)
        # 0.0 - x, because -x makes -0.0 of a certain choice
        return 0.0 - _mean("entropy", "action probabilities", states.entropy, states.visits)


@dataclass(frozen=True)
class DefaultGap:
    """How much the policy prefers its own action to the default's, mean over visits.

    By its own account: the difference of their values, else of their log probabilities, else of
    their log densities.
    """

    def __call__(self, evidence: Evidence) -> FloatArray:
        states = needed("default-gap", "states", evidence.states)
        offer = "action values, probabilities or a log density"
        return _mean("default-gap", offer, states.default_gap, states.visits)


def _mean(measure: str, offer: str, total: FloatArray, visits: np.ndarray) -> FloatArray:
    """Return sums over visits as means; refuse those that the policy did not offer."""
    lacking = int(np.isnan(total).sum())
    if lacking:
        where = "in this suite" if lacking == len(total) else f"in {lacking} of the states"
        raise NotOfferedError(
            f"measure {measure!r} needs {offer}, which the policy does not offer {where}: "
            "use another measure, such as 'effect' or 'differ', or a policy that offers them"
        )
    return ratio(total, visits.astype(np.float64))
