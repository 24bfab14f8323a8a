"""Baselines that look at no outcome: the two of the paper (equations 7a, 7b) and `differ`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rpd_core.analysis.ranking import random_scores
from rpd_core.errors import SpecError
from rpd_core.plugin.protocols import Evidence
from rpd_measures.inputs import needed, visiting


@dataclass(frozen=True)
class FreqVis:
    """How many episodes visited the state."""

    def __call__(self, evidence: Evidence) -> NDArray[np.float64]:
        return visiting(evidence.spectrum)


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


@dataclass(frozen=True)
class Differ:
    """How often the default action differs from what the policy chose; no outcome is looked at."""

    count: Literal["share", "first", "visits", "episodes"] = "share"
    """Share of visits, share of episodes by their first visit, or the number of either."""

    def __call__(self, evidence: Evidence) -> NDArray[np.float64]:
        if self.count in ("visits", "share"):
            share = needed("differ", "differed", evidence.differed)
        else:
            share = needed("differ", "differed_first", evidence.differed_first)
        if self.count == "visits":
            return share * needed("differ", "states", evidence.states).visits
        return share * visiting(evidence.spectrum) if self.count == "episodes" else share.copy()
