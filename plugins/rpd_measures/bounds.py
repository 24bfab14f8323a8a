"""What lower bounds share: how many standard errors, and drawing states together."""

from __future__ import annotations

import math

from rpd_core.analysis.intervals import arm_sizes
from rpd_core.errors import SpecError
from rpd_core.plugin.protocols import Spectrum
from rpd_measures.formula import FloatArray
from rpd_measures.shrinkage import shrunken

LEVEL = 0.95
"""Confidence of the intervals, whatever the bound that ranks."""
ENOUGH = 10
"""Episodes in each arm from which on a state tells something about the others."""


def check_z(measure: str, z: float) -> None:
    """Refuse a number of standard errors that is negative or not finite."""
    if not (math.isfinite(z) and z >= 0):
        raise SpecError(f"{measure}: z must be a finite number, at least 0, got {z:g}; try 1")


def drawn_together(
    middle: FloatArray, error: FloatArray, spectrum: Spectrum
) -> tuple[FloatArray, FloatArray]:
    """Return estimates and errors drawn towards those of the states with enough episodes."""
    mutated, kept = arm_sizes(spectrum)
    return shrunken(middle, error, (mutated >= ENOUGH) & (kept >= ENOUGH))
