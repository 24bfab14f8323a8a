"""The two baselines of the paper (equations 7a and 7b)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rpd_core.analysis.ranking import random_scores
from rpd_core.errors import SpecError
from rpd_core.plugin.protocols import Evidence


@dataclass(frozen=True)
class FreqVis:
    """How many episodes visited the state."""

    def __call__(self, evidence: Evidence) -> NDArray[np.float64]:
        s = evidence.spectrum
        return s.mutated_failed + s.mutated_passed + s.kept_failed + s.kept_passed


@dataclass(frozen=True)
class Random:
    """A uniform score that depends on the state's key and the seed alone."""

    seed: int = 0
    """Which of the random orders."""

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**63:
            raise SpecError(f"random: seed must lie in 0..2**63 - 1, got {self.seed}")

    def __call__(self, evidence: Evidence) -> NDArray[np.float64]:
        return random_scores(evidence.keys, self.seed)
