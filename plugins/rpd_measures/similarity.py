"""Measures of how alike mutation and failure are; the same in both readings.

Jaccard, Dice, Anderberg, Goodman and Kulczynski-I rise with a_ef / (a_nf + a_ep) alone: they make
one ranking in five scales, but that Kulczynski-I still orders the states where a_nf + a_ep is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpd_measures.formula import Counts, FloatArray, Formula, ratio, unbounded_ratio


@dataclass(frozen=True)
class Jaccard(Formula):
    """Jaccard: a_ef / (a_ef + a_nf + a_ep); 0/0 is 0."""

    def score(self, n: Counts) -> FloatArray:
        return ratio(n.ef, n.ef + n.disagreeing)


@dataclass(frozen=True)
class Dice(Formula):
    """Sørensen-Dice: 2 a_ef / (2 a_ef + a_nf + a_ep); 0/0 is 0."""

    def score(self, n: Counts) -> FloatArray:
        return ratio(2 * n.ef, 2 * n.ef + n.disagreeing)


@dataclass(frozen=True)
class Anderberg(Formula):
    """Anderberg: a_ef / (a_ef + 2 (a_nf + a_ep)); 0/0 is 0."""

    def score(self, n: Counts) -> FloatArray:
        return ratio(n.ef, n.ef + 2 * n.disagreeing)


@dataclass(frozen=True)
class Goodman(Formula):
    """Goodman: (2 a_ef - a_nf - a_ep) / (2 a_ef + a_nf + a_ep), from -1 to 1; 0/0 is 0."""

    def score(self, n: Counts) -> FloatArray:
        return ratio(2 * n.ef - n.disagreeing, 2 * n.ef + n.disagreeing)


@dataclass(frozen=True)
class Kulczynski1(Formula):
    """Kulczynski-I: a_ef / (a_nf + a_ep); x/0 ranks above all else, by x; 0/0 is 0."""

    def score(self, n: Counts) -> FloatArray:
        return unbounded_ratio(n.ef, n.disagreeing)


@dataclass(frozen=True)
class Kulczynski2(Formula):
    """Kulczynski-II: mean of a_ef / (a_ef + a_nf) and a_ef / (a_ef + a_ep); 0/0 is 0."""

    def score(self, n: Counts) -> FloatArray:
        return (ratio(n.ef, n.failed) + ratio(n.ef, n.executed)) / 2


@dataclass(frozen=True)
class Overlap(Formula):
    """Overlap: a_ef / min(a_ef, a_nf, a_ep); x/0 ranks above all else, by x; 0/0 is 0."""

    def score(self, n: Counts) -> FloatArray:
        return unbounded_ratio(n.ef, np.minimum(n.ef, np.minimum(n.nf, n.ep)))


@dataclass(frozen=True)
class RussellRao(Formula):
    """Russell-Rao: a_ef / (a_ef + a_ep + a_nf + a_np); 0/0 is 0."""

    def score(self, n: Counts) -> FloatArray:
        return ratio(n.ef, n.total)
