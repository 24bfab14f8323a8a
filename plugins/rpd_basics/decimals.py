"""Short decimals: numbers that people can read, where the exact one does not matter."""

from __future__ import annotations

import math
from fractions import Fraction

_DIGITS = 17
"""Significant digits that tell any two floats apart."""


def shortest_between(low: float, high: float) -> float:
    """Return the roundest number above `low` and at most `high`, the nearest to their middle."""
    middle = (Fraction(low) + Fraction(high)) / 2
    size = max(abs(low), abs(high))
    top = math.floor(math.log10(size)) + 1 if size else 0
    for power in range(top, top - _DIGITS - 2, -1):
        step = Fraction(10) ** power
        around = (middle // step, -(-middle // step))
        for multiple in sorted(around, key=lambda one: abs(one * step - middle)):
            number = float(f"{multiple}e{power}")
            if low < number <= high:
                return number
    return high


def short(number: float) -> str:
    """Write a number in full and in as few characters as it takes."""
    text = f"{number:.{_DIGITS - 2}g}"
    return text if float(text) == number else repr(number)
