"""Quantiles and tails of the standard normal and of Student's t distribution."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.errors import ConfigError

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray


def _special() -> ModuleType:
    # 0.1 s and 250 modules, which reading a run does without
    return importlib.import_module("scipy.special")


def upper_z(tail: float) -> float:
    """Return the value that a standard normal variable exceeds with probability `tail`."""
    return float(-_special().ndtri(tail))


def two_sided_z(level: float) -> float:
    """Return how many standard errors an interval of this confidence reaches to each side."""
    return upper_z(_outside(level) / 2)


def upper_t(tail: float, degrees: int) -> float:
    """Return the value that a t-distributed variable exceeds with probability `tail`."""
    return float(-_special().stdtrit(degrees, tail))


def two_sided_t(level: float, degrees: int) -> float:
    """Return between minus what and what a t-distributed variable lies with this chance."""
    return upper_t(_outside(level) / 2, degrees)


def upper_tail(z: FloatArray) -> FloatArray:
    """Return the probability of a standard normal variable above z, exact far out, too."""
    return np.asarray(_special().ndtr(-np.asarray(z, dtype=np.float64)))


def _outside(level: float) -> float:
    if not 0 < level < 1:
        raise ConfigError(f"the confidence level must lie in (0, 1), got {level:g}; try 0.95")
    return 1 - level
