"""What the formulas of fault localisation share: four counts in two readings, safe division.

With MF, MP, KF, KP the episodes that visited a state by fate (Mutated, Kept) and outcome (Failed,
Passed), the formulas' a_ef and a_np are MF and KP in both readings. The published reading takes
a_ep = KF and a_nf = MP, the mutation-as-fault reading a_ep = MP and a_nf = KF.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rpd_core.plugin.protocols import Evidence, Spectrum

FloatArray = NDArray[np.float64]
Reading = Literal["published", "mutation"]

BEYOND = 2.0**200
"""What x / 0 is a multiple of: larger than every quotient of counts between 2**-60 and 2**60."""


def ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Divide, with 0 where the denominator is 0."""
    zeros: FloatArray = np.zeros(np.shape(numerator))
    return np.divide(numerator, denominator, out=zeros, where=denominator != 0)


def unbounded_ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Divide; x / 0 is x * BEYOND, above all that is finite and in the order of x; 0 / 0 is 0."""
    return np.where(denominator == 0, numerator * BEYOND, ratio(numerator, denominator))


@dataclass(frozen=True)
class Counts:
    """The counts of a formula, one entry per state, under the names of the literature."""

    ef: FloatArray
    """Failed and executed."""
    ep: FloatArray
    """Passed and executed."""
    nf: FloatArray
    """Failed and not executed."""
    np: FloatArray
    """Passed and not executed."""

    @property
    def failed(self) -> FloatArray:
        """a_ef + a_nf; as published, the episodes in which the state was mutated."""
        return self.ef + self.nf

    @property
    def passed(self) -> FloatArray:
        """a_ep + a_np; as published, the episodes in which the state was kept."""
        return self.ep + self.np

    @property
    def executed(self) -> FloatArray:
        """a_ef + a_ep; as published, the episodes that failed."""
        return self.ef + self.ep

    @property
    def skipped(self) -> FloatArray:
        """a_nf + a_np; as published, the episodes that passed."""
        return self.nf + self.np

    @property
    def agreeing(self) -> FloatArray:
        """a_ef + a_np, the same in both readings."""
        return self.ef + self.np

    @property
    def disagreeing(self) -> FloatArray:
        """a_nf + a_ep, the same in both readings."""
        return self.nf + self.ep

    @property
    def total(self) -> FloatArray:
        """All episodes that visited the state."""
        return self.ef + self.ep + self.nf + self.np

    @property
    def determinant(self) -> FloatArray:
        """a_ef a_np - a_nf a_ep, 0 where mutation and failure are independent."""
        return self.ef * self.np - self.nf * self.ep


def counts(s: Spectrum, reading: Reading) -> Counts:
    """Return a_ef, a_ep, a_nf, a_np in the chosen reading."""
    if reading == "published":
        return Counts(s.mutated_failed, s.kept_failed, s.mutated_passed, s.kept_passed)
    return Counts(s.mutated_failed, s.mutated_passed, s.kept_failed, s.kept_passed)


@dataclass(frozen=True)
class Formula(ABC):
    """A measure that is a formula of the four counts."""

    reading: Literal["published", "mutation"] = "published"
    """How the table of fate and outcome is read: as published, or mutation as fault."""

    def __call__(self, evidence: Evidence) -> FloatArray:
        return self.score(counts(evidence.spectrum, self.reading))

    @abstractmethod
    def score(self, n: Counts) -> FloatArray:
        """Score every state."""
