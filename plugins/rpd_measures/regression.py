"""All states at once: a regression of the outcome on centred coins, with scipy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from rpd_core.errors import SpecError
from rpd_core.plugin.protocols import Evidence, Suite
from rpd_measures.formula import FloatArray
from rpd_measures.inputs import needed


@dataclass(frozen=True)
class Regression:
    """What mutating the state adds to the outcome, other states' coins taken into account.

    Least squares of the outcome on one column per state: mutated (1 or 0) minus the mutation rate
    in episodes that visit the state, 0 in the others. Coins are independent of one another and of
    everything before them, so each coefficient is the state's effect; the damping pulls states with
    little evidence towards 0.
    """

    needs: ClassVar[tuple[str, ...]] = ("suite",)

    outcome: Literal["failure", "return"] = "failure"
    """Failure under the condition, or the loss of return in its standard deviations."""
    damping: float = 10.0
    """How strongly coefficients are pulled towards 0; 0: not at all."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.damping) and self.damping >= 0):
            raise SpecError(
                f"regression: damping must be finite and at least 0, got {self.damping:g}; try 10"
            )

    def __call__(self, evidence: Evidence) -> FloatArray:
        suite = needed("regression", "suite", evidence.suite)
        weights = needed("regression", "weights", evidence.weights)
        outcome = 1 - weights if self.outcome == "failure" else _loss(suite.episodes.total_return)
        found = _coefficients(suite, outcome - outcome.mean(), self.damping)
        return found[suite.states.key.searchsorted(evidence.keys)]


def _loss(returns: FloatArray) -> FloatArray:
    """Return minus the returns, in standard deviations."""
    deviation = float(returns.std())
    return -returns / deviation if deviation > 0 else np.zeros_like(returns)


def _coefficients(suite: Suite, outcome: FloatArray, damping: float) -> FloatArray:
    # Here, because scipy takes long to import, and specs are read with the class at hand.
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import lsqr

    visits = suite.visits
    coins = visits.mutated - visits.mutation_rate
    places = (suite.episode_of_visit(), suite.state_of_visit())
    shape = (len(suite.episodes), len(suite.states))
    matrix = csr_array((coins, places), shape=shape)
    solution = lsqr(matrix, outcome, damp=damping, atol=1e-10, btol=1e-10, iter_lim=1000)
    return np.asarray(solution[0], dtype=np.float64)
