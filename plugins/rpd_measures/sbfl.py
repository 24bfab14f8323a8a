"""The four measures of the paper (equations 2a to 2d); a quotient by 0 counts as 0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpd_measures.formula import Counts, FloatArray, Formula, ratio


@dataclass(frozen=True)
class Tarantula(Formula):
    """Tarantula (paper eq. 2b); published: risk(mutated) / (risk(mutated) + risk(kept))."""

    def score(self, n: Counts) -> FloatArray:
        first, second = ratio(n.ef, n.failed), ratio(n.ep, n.passed)
        return ratio(first, first + second)


@dataclass(frozen=True)
class Ochiai(Formula):
    """Ochiai (paper eq. 2a), the same in both readings; 0 if never mutated in a failure."""

    def score(self, n: Counts) -> FloatArray:
        return ratio(n.ef, np.sqrt(n.failed * n.executed))


@dataclass(frozen=True)
class Zoltar(Formula):
    """Zoltar as printed (paper eq. 2c), the same in both readings; 0 if a_ef is 0."""

    def score(self, n: Counts) -> FloatArray:
        return ratio(n.ef, n.ef + n.nf + n.ep + ratio(10000.0 * n.nf * n.ep, n.ef))


@dataclass(frozen=True)
class Wong2(Formula):
    """Wong-II (paper eq. 2d): a_ef - a_ep; published: failures when mutated minus when kept."""

    def score(self, n: Counts) -> FloatArray:
        return n.ef - n.ep
