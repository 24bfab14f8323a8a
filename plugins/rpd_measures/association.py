"""Measures of association: most are 0 where mutation and failure are independent.

Where all episodes had the same fate or the same outcome there is nothing to compare: 0/0 is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpd_measures.formula import Counts, FloatArray, Formula, ratio


@dataclass(frozen=True)
class Ample(Formula):
    """Ample: |a_ef / (a_ef + a_nf) - a_ep / (a_ep + a_np)|; 0/0 is 0; harm and help alike."""

    def score(self, n: Counts) -> FloatArray:
        return np.abs(_difference(n))


@dataclass(frozen=True)
class Ample2(Formula):
    """Ample-II: a_ef / (a_ef + a_nf) - a_ep / (a_ep + a_np); published: difference of risks."""

    def score(self, n: Counts) -> FloatArray:
        return _difference(n)


@dataclass(frozen=True)
class Phi(Formula):
    """Phi, or geometric mean: the correlation of mutation and failure; the same in both readings.

    (a_ef a_np - a_nf a_ep) over the root of the product of the four margins; 0/0 is 0.
    """

    def score(self, n: Counts) -> FloatArray:
        return ratio(n.determinant, _root_of_margins(n))


@dataclass(frozen=True)
class Ochiai2(Formula):
    """Ochiai-II: a_ef a_np over the root of the product of the four margins; 0/0 is 0."""

    def score(self, n: Counts) -> FloatArray:
        return ratio(n.ef * n.np, _root_of_margins(n))


@dataclass(frozen=True)
class ArithmeticMean(Formula):
    """Arithmetic mean: 2 (a_ef a_np - a_nf a_ep) over the sum of both products of margins."""

    def score(self, n: Counts) -> FloatArray:
        return ratio(2 * n.determinant, n.executed * n.skipped + n.failed * n.passed)


@dataclass(frozen=True)
class HarmonicMean(Formula):
    """Harmonic mean: a_ef a_np - a_nf a_ep times the sum of 1 over both products of margins."""

    def score(self, n: Counts) -> FloatArray:
        one, other = n.executed * n.skipped, n.failed * n.passed
        return ratio(n.determinant, one) + ratio(n.determinant, other)


@dataclass(frozen=True)
class Cohen(Formula):
    """Cohen's kappa: agreement of mutation and failure beyond that of chance; 0/0 is 0."""

    def score(self, n: Counts) -> FloatArray:
        return ratio(2 * n.determinant, n.executed * n.passed + n.failed * n.skipped)


@dataclass(frozen=True)
class Scott(Formula):
    """Scott's pi: like Cohen's kappa, with both margins taken as one; 0/0 is 0.

    (4 a_ef a_np - 4 a_nf a_ep - (a_nf - a_ep)^2) over (2 a_ef + a_nf + a_ep) times
    (2 a_np + a_nf + a_ep).
    """

    def score(self, n: Counts) -> FloatArray:
        numerator = 4 * n.determinant - (n.nf - n.ep) ** 2
        return ratio(numerator, (2 * n.ef + n.disagreeing) * (2 * n.np + n.disagreeing))


@dataclass(frozen=True)
class Rogot1(Formula):
    """Rogot-I: mean of a_ef / (2 a_ef + a_nf + a_ep) and a_np / (2 a_np + a_nf + a_ep)."""

    def score(self, n: Counts) -> FloatArray:
        failing = ratio(n.ef, 2 * n.ef + n.disagreeing)
        return (failing + ratio(n.np, 2 * n.np + n.disagreeing)) / 2


def _difference(n: Counts) -> FloatArray:
    return ratio(n.ef, n.failed) - ratio(n.ep, n.passed)


def _root_of_margins(n: Counts) -> FloatArray:
    return np.sqrt(n.executed * n.skipped * n.failed * n.passed)
