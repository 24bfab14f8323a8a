"""Measures of agreement: episodes in which fate and outcome match, a_ef + a_np, against others.

They are the same in both readings. Simple matching, Hamann, Sokal, Rogers-Tanimoto and M1 rise with
(a_ef + a_np) / (a_nf + a_ep) alone: one ranking in five scales. Euclid and Hamming are one, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpd_measures.formula import Counts, FloatArray, Formula, ratio, unbounded_ratio


@dataclass(frozen=True)
class SimpleMatching(Formula):
    """Simple matching: (a_ef + a_np) / (a_ef + a_ep + a_nf + a_np); 0/0 is 0."""

    def score(self, n: Counts) -> FloatArray:
        return ratio(n.agreeing, n.total)


@dataclass(frozen=True)
class Hamann(Formula):
    """Hamann: (a_ef + a_np - a_nf - a_ep) / (a_ef + a_ep + a_nf + a_np); 0/0 is 0."""

    def score(self, n: Counts) -> FloatArray:
        return ratio(n.agreeing - n.disagreeing, n.total)


@dataclass(frozen=True)
class Sokal(Formula):
    """Sokal: 2 (a_ef + a_np) / (2 (a_ef + a_np) + a_nf + a_ep); 0/0 is 0."""

    def score(self, n: Counts) -> FloatArray:
        return ratio(2 * n.agreeing, 2 * n.agreeing + n.disagreeing)


@dataclass(frozen=True)
class RogersTanimoto(Formula):
    """Rogers-Tanimoto: (a_ef + a_np) / (a_ef + a_np + 2 (a_nf + a_ep)); 0/0 is 0."""

    def score(self, n: Counts) -> FloatArray:
        return ratio(n.agreeing, n.agreeing + 2 * n.disagreeing)


@dataclass(frozen=True)
class M1(Formula):
    """M1: (a_ef + a_np) / (a_nf + a_ep); x/0 ranks above all else, by x; 0/0 is 0."""

    def score(self, n: Counts) -> FloatArray:
        return unbounded_ratio(n.agreeing, n.disagreeing)


@dataclass(frozen=True)
class M2(Formula):
    """M2: a_ef / (a_ef + a_np + 2 (a_nf + a_ep)); 0/0 is 0."""

    def score(self, n: Counts) -> FloatArray:
        return ratio(n.ef, n.agreeing + 2 * n.disagreeing)


@dataclass(frozen=True)
class Hamming(Formula):
    """Hamming: a_ef + a_np."""

    def score(self, n: Counts) -> FloatArray:
        return n.agreeing


@dataclass(frozen=True)
class Euclid(Formula):
    """Euclid: the square root of a_ef + a_np."""

    def score(self, n: Counts) -> FloatArray:
        return np.sqrt(n.agreeing)
