"""Suite + weights -> spectrum: per state, episodes by fate and outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rpd_core.plugin.protocols import Spectrum
from rpd_core.plugin.records import Suite

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray


def count_spectrum(suite: Suite, weights: FloatArray) -> Spectrum:
    """Count, for every state, the episodes that visited it (each once, however often)."""
    state = suite.state_of_visit()
    passed = weights[suite.episode_of_visit()]
    mutated = suite.visits.mutated.astype(np.float64)
    count = len(suite.states)

    def add(weight: FloatArray) -> FloatArray:
        return np.bincount(state, weights=weight, minlength=count).astype(np.float64, copy=False)

    return Spectrum(
        mutated_failed=add(mutated * (1 - passed)),
        mutated_passed=add(mutated * passed),
        kept_failed=add((1 - mutated) * (1 - passed)),
        kept_passed=add((1 - mutated) * passed),
    )
