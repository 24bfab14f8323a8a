"""When an episode counts as passed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rpd_core.errors import EvidenceError, SpecError, nearest
from rpd_core.plugin.protocols import Episodes, learned
from rpd_core.plugin.protocols.suite import ENDINGS

FloatArray = NDArray[np.float64]
Op = Literal[">=", ">", "<=", "<"]


def compare(values: NDArray[np.float64] | NDArray[np.int64], op: Op, bound: float) -> FloatArray:
    """Return 1 where the comparison holds, else 0."""
    comparisons = {">=": np.greater_equal, ">": np.greater, "<=": np.less_equal, "<": np.less}
    return np.asarray(comparisons[op](values, bound), dtype=np.float64)


def _check_bound(name: str, bound: float) -> None:
    """Refuse a bound that nothing can be compared with."""
    if math.isnan(bound):
        raise SpecError(f"{name} must be a number, got {bound}")


@dataclass(frozen=True)
class Return:
    """Passed if the return compares so: `return>=200`, `return>0`."""

    op: Literal[">=", ">", "<=", "<"]
    """The comparison."""
    bound: float
    """What the return is compared with."""

    def __post_init__(self) -> None:
        _check_bound("return: bound", self.bound)

    def __call__(self, episodes: Episodes) -> FloatArray:
        return compare(episodes.total_return, self.op, self.bound)


@dataclass(frozen=True)
class SoftReturn:
    """Passed in part where the return lies between two bounds: `soft-return:low=50,high=200`."""

    low: float
    """Returns up to here have failed."""
    high: float
    """Returns from here on have passed; between the two, the weight grows evenly."""

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            if not math.isfinite(getattr(self, name)):
                raise SpecError(
                    f"soft-return: {name} must be a finite number, got {getattr(self, name)}"
                )
        if not self.low < self.high:
            raise SpecError(
                f"soft-return: low must lie below high, got low={self.low:g}, high={self.high:g}"
            )

    def __call__(self, episodes: Episodes) -> FloatArray:
        share = (episodes.total_return - self.low) / (self.high - self.low)
        return np.asarray(np.clip(share, 0.0, 1.0), dtype=np.float64)


@dataclass(frozen=True)
class Length:
    """Passed if the number of steps compares so: `length>=100`."""

    op: Literal[">=", ">", "<=", "<"]
    """The comparison."""
    bound: float
    """What the number of steps is compared with."""

    def __post_init__(self) -> None:
        _check_bound("length: bound", self.bound)

    def __call__(self, episodes: Episodes) -> FloatArray:
        return compare(episodes.length, self.op, self.bound)


@dataclass(frozen=True)
class Auto:
    """The observed return whose pass rate is nearest one half; of two, the smaller cut."""

    cut: float | None = learned(None)
    """The smallest return that passes."""

    def fit(self, episodes: Episodes) -> Auto:
        """Choose the cut."""
        returns, counts = np.unique(episodes.total_return, return_counts=True)
        if len(returns) == 1:
            raise EvidenceError(
                f"all {len(episodes)} episodes have the return {returns[0]:g}; no cut can split "
                "them: try another --mutation-rate or --default-action"
            )
        passing = counts[::-1].cumsum()[::-1]
        # In whole numbers, or rounding would decide between 80 % and 20 %.
        cut = returns[1:][np.argmin(np.abs(2 * passing[1:] - len(episodes)))]
        return Auto(float(cut))

    def show_condition(self) -> str:
        """Return the comparison that was chosen."""
        return "auto" if self.cut is None else f"return>={self.cut!r}".removesuffix(".0")

    def __call__(self, episodes: Episodes) -> FloatArray:
        fitted = self if self.cut is not None else self.fit(episodes)
        assert fitted.cut is not None, "fit chooses a cut"
        return compare(episodes.total_return, ">=", fitted.cut)


@dataclass(frozen=True)
class Ended:
    """Passed if the episode ended so: `ended:terminated`."""

    how: Literal["terminated", "truncated", "step-cap", "not-terminated"]
    """`terminated` (the environment's rules), `truncated` (its time limit), `step-cap` (ours)."""

    def __call__(self, episodes: Episodes) -> FloatArray:
        if self.how == "not-terminated":
            return np.asarray(episodes.ended != ENDINGS.index("terminated"), dtype=np.float64)
        return np.asarray(episodes.ended == ENDINGS.index(self.how), dtype=np.float64)


@dataclass(frozen=True)
class Info:
    """Passed if a number in the final `info` is large enough: `info:is_success`."""

    key: str
    """Which entry of `info`; an episode without it has failed."""
    at_least: float = 1.0
    """Smallest value that passes."""

    def __post_init__(self) -> None:
        _check_bound("info: at_least", self.at_least)

    def __call__(self, episodes: Episodes) -> FloatArray:
        if self.key not in episodes.info:
            known = ", ".join(episodes.info) or "none"
            raise EvidenceError(
                f"no episode's final info has {self.key!r}; stored are: {known}."
                f"{nearest(self.key, episodes.info)}"
            )
        values = episodes.info[self.key]
        return compare(np.where(np.isnan(values), -np.inf, values), ">=", self.at_least)
