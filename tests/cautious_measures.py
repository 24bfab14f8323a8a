"""A measure with intervals, as a stranger might offer it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpd_core.plugin.protocols import Evidence, Scores


@dataclass(frozen=True)
class Lower:
    """Difference in risk minus one standard error, with an interval of two."""

    def __call__(self, evidence: Evidence) -> Scores:
        s = evidence.spectrum
        mutated, kept = s.mutated_failed + s.mutated_passed + 2, s.kept_failed + s.kept_passed + 2
        one, two = (s.mutated_failed + 1) / mutated, (s.kept_failed + 1) / kept
        error = np.sqrt(one * (1 - one) / mutated + two * (1 - two) / kept)
        high = one - two + error
        high[int(np.argmin(high))] = np.nan
        return Scores(one - two - error, one - two - error, high, one - two, 0.68)
