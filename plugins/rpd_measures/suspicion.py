"""Measures made for single faults: they count failures first and passes hardly at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpd_core.errors import SpecError
from rpd_measures.formula import Counts, FloatArray, Formula, ratio, unbounded_ratio


@dataclass(frozen=True)
class DStar(Formula):
    """DStar: a_ef^star / (a_nf + a_ep); x/0 ranks above all else, by x; 0/0 is 0."""

    star: float = 2.0
    """Power of a_ef, from 1 to 10."""

    def __post_init__(self) -> None:
        if not 1 <= self.star <= 10:
            raise SpecError(f"dstar: star must lie in 1..10, got {self.star:g}; try 2")

    def score(self, n: Counts) -> FloatArray:
        return unbounded_ratio(n.ef**self.star, n.disagreeing)


@dataclass(frozen=True)
class Op(Formula):
    """Op (Naish's O): -1 if a_nf is above 0, else a_np; published: -1 once mutated and passed."""

    def score(self, n: Counts) -> FloatArray:
        return np.where(n.nf > 0, -1.0, n.np)


@dataclass(frozen=True)
class Op2(Formula):
    """Op2: a_ef - a_ep / (a_ep + a_np + 1): failures first, passes decide between equals."""

    def score(self, n: Counts) -> FloatArray:
        return n.ef - n.ep / (n.passed + 1)


@dataclass(frozen=True)
class Barinel(Formula):
    """Barinel for one fault: 1 - a_ep / (a_ep + a_ef); 0 if neither occurred."""

    def score(self, n: Counts) -> FloatArray:
        return ratio(n.ef, n.executed)


@dataclass(frozen=True)
class Wong1(Formula):
    """Wong-I: a_ef; failures when mutated in both readings."""

    def score(self, n: Counts) -> FloatArray:
        return n.ef.copy()


@dataclass(frozen=True)
class Wong3(Formula):
    """Wong-III: a_ef - h; h is a_ep up to 2, then grows by a tenth, beyond 10 by a thousandth."""

    def score(self, n: Counts) -> FloatArray:
        few, some = np.minimum(n.ep, 2.0), np.clip(n.ep - 2.0, 0.0, 8.0)
        return n.ef - (few + 0.1 * some + 0.001 * np.maximum(n.ep - 10.0, 0.0))


@dataclass(frozen=True)
class Gp02(Formula):
    """GP02, found by genetic programming: 2 (a_ef + sqrt(a_np)) + sqrt(a_ep)."""

    def score(self, n: Counts) -> FloatArray:
        return 2 * (n.ef + np.sqrt(n.np)) + np.sqrt(n.ep)


@dataclass(frozen=True)
class Gp03(Formula):
    """GP03, found by genetic programming: sqrt(|a_ef^2 - sqrt(a_ep)|)."""

    def score(self, n: Counts) -> FloatArray:
        return np.sqrt(np.abs(n.ef**2 - np.sqrt(n.ep)))


@dataclass(frozen=True)
class Gp13(Formula):
    """GP13, found by genetic programming: a_ef (1 + 1 / (2 a_ep + a_ef)); 0 if a_ef is 0."""

    def score(self, n: Counts) -> FloatArray:
        return n.ef + ratio(n.ef, 2 * n.ep + n.ef)


@dataclass(frozen=True)
class Gp19(Formula):
    """GP19, found by genetic programming: a_ef sqrt(|a_ep - a_ef + a_nf - a_np|)."""

    def score(self, n: Counts) -> FloatArray:
        return n.ef * np.sqrt(np.abs(n.disagreeing - n.agreeing))
