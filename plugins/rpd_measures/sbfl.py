"""The four measures of the paper (equations 2a to 2d), in both readings of the 2x2 table.

With MF, MP, KF, KP the episodes that visited a state by fate (Mutated, Kept) and outcome (Failed,
Passed), the formulas' a_ef and a_np are MF and KP in both readings. The published reading takes
a_ep = KF and a_nf = MP, the mutation-as-fault reading a_ep = MP and a_nf = KF. A quotient whose
denominator is 0 counts as 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rpd_core.plugin.protocols import Evidence, Spectrum

FloatArray = NDArray[np.float64]
Reading = Literal["published", "mutation"]


def ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Divide, with 0 where the denominator is 0."""
    result: FloatArray = np.divide(
        numerator, denominator, out=np.zeros_like(numerator), where=denominator != 0
    )
    return result


def roles(s: Spectrum, reading: Reading) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return a_ef, a_ep, a_nf, a_np in the chosen reading."""
    if reading == "published":
        return s.mutated_failed, s.kept_failed, s.mutated_passed, s.kept_passed
    return s.mutated_failed, s.mutated_passed, s.kept_failed, s.kept_passed


@dataclass(frozen=True)
class Tarantula:
    """Tarantula (paper eq. 2b); published: risk(mutated) / (risk(mutated) + risk(kept))."""

    reading: Literal["published", "mutation"] = "published"
    """How the table of fate and outcome is read: as published, or mutation as fault."""

    def __call__(self, evidence: Evidence) -> FloatArray:
        ef, ep, nf, np_ = roles(evidence.spectrum, self.reading)
        first, second = ratio(ef, ef + nf), ratio(ep, ep + np_)
        return ratio(first, first + second)


@dataclass(frozen=True)
class Ochiai:
    """Ochiai (paper eq. 2a), the same in both readings; 0 if never mutated in a failure."""

    reading: Literal["published", "mutation"] = "published"
    """Accepted by all four; makes no difference here."""

    def __call__(self, evidence: Evidence) -> FloatArray:
        ef, ep, nf, _ = roles(evidence.spectrum, self.reading)
        return ratio(ef, np.sqrt((ef + nf) * (ef + ep)))


@dataclass(frozen=True)
class Zoltar:
    """Zoltar as printed (paper eq. 2c), the same in both readings; 0 if a_ef is 0."""

    reading: Literal["published", "mutation"] = "published"
    """Accepted by all four; makes no difference here."""

    def __call__(self, evidence: Evidence) -> FloatArray:
        ef, ep, nf, _ = roles(evidence.spectrum, self.reading)
        return ratio(ef, ef + nf + ep + ratio(10000.0 * nf * ep, ef))


@dataclass(frozen=True)
class Wong2:
    """Wong-II (paper eq. 2d): a_ef - a_ep; published: failures when mutated minus when kept."""

    reading: Literal["published", "mutation"] = "published"
    """How the table of fate and outcome is read: as published, or mutation as fault."""

    def __call__(self, evidence: Evidence) -> FloatArray:
        ef, ep, _, _ = roles(evidence.spectrum, self.reading)
        return ef - ep
