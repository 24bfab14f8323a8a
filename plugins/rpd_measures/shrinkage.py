"""Effects of all states -> each drawn towards the others, the more the less is known of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import BoolArray, FloatArray

_ROUNDS = 40
"""Steps of fitting the spread; each halves the range that is left."""
_LEAST_SPREAD = 0.01
"""Spread of true effects that is taken for granted where there are too few to tell."""


def shrunken(
    estimate: FloatArray, error: FloatArray, fitted_on: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of each state's effect, given what all states show.

    True effects are taken as drawn from one normal distribution, estimates as lying around them
    with their standard errors. The distribution is fitted on the states of `fitted_on` (Paule and
    Mandel's moments). Its spread is at least what chance may hide: with none, all states would be
    alike, and nothing but their visits would be left to tell them apart.
    """
    centre, spread = fit_normal(estimate[fitted_on], error[fitted_on])
    spread = max(spread, hidden_spread(error[fitted_on]), _LEAST_SPREAD)
    precision, known = 1 / np.square(error), 1 / spread**2
    total = precision + known
    return (precision * estimate + known * centre) / total, 1 / np.sqrt(total)


def fit_normal(estimate: FloatArray, error: FloatArray) -> tuple[float, float]:
    """Return centre and spread of the normal distribution that true effects seem to come from.

    The spread is the one at which estimates scatter around the centre as much as it and their
    standard errors imply; 0 if they scatter less than the errors alone would make them.
    """
    if len(estimate) < 2:
        return 0.0, 0.0
    low, high = 0.0, float(np.ptp(estimate)) ** 2
    if _excess(estimate, error, low)[0] <= 0:
        return _excess(estimate, error, low)[1], 0.0
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        if _excess(estimate, error, middle)[0] > 0:
            low = middle
        else:
            high = middle
    return _excess(estimate, error, high)[1], float(np.sqrt(high))


def hidden_spread(error: FloatArray) -> float:
    """Return the spread whose square is one standard error of a fitted variance that is really 0.

    Estimates that scatter by chance alone show a variance of 0, give or take this.
    """
    if len(error) < 2:
        return 0.0
    variance = 1 / float(np.mean(1 / np.square(error)))
    return float(np.sqrt(variance * np.sqrt(2 / (len(error) - 1))))


def _excess(estimate: FloatArray, error: FloatArray, variance: float) -> tuple[float, float]:
    """Return how much more estimates scatter than a spread implies, and their weighted mean."""
    weight = 1 / (np.square(error) + variance)
    centre = float(weight @ estimate / weight.sum())
    return float(weight @ np.square(estimate - centre)) - (len(estimate) - 1), centre
