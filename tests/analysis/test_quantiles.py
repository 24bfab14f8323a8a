"""Quantiles and tails against tables that every textbook has."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from rpd_core.analysis.intervals import two_sided_t, two_sided_z, upper_t, upper_tail, upper_z
from rpd_core.errors import ConfigError


@pytest.mark.parametrize(
    ("tail", "degrees", "expected"),
    [
        (0.025, 1, 12.7062),
        (0.025, 2, 4.3027),
        (0.025, 3, 3.1824),
        (0.025, 10, 2.2281),
        (0.05, 1, 6.3138),
        (0.05, 30, 1.6973),
        (0.005, 1, 63.6567),
        (0.005, 20, 2.8453),
        (0.0005, 2, 31.5991),
        (0.025, 1_000_000, 1.9600),
    ],
)
def test_what_a_t_distributed_number_exceeds(tail: float, degrees: int, expected: float) -> None:
    assert upper_t(tail, degrees) == pytest.approx(expected, abs=5e-5)
    assert two_sided_t(1 - 2 * tail, degrees) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("tail", "expected"), [(0.5, 0.0), (0.05, 1.644854), (0.025, 1.959964), (1e-9, 5.997807)]
)
def test_what_a_normal_number_exceeds(tail: float, expected: float) -> None:
    assert upper_z(tail) == pytest.approx(expected, abs=5e-7)
    assert upper_tail(np.array(upper_z(tail))) == pytest.approx(tail, rel=1e-12)


def test_an_interval_of_95_percent_reaches_two_standard_errors() -> None:
    assert two_sided_z(0.95) == pytest.approx(1.959964, abs=5e-7)


def test_the_upper_tail_is_right_far_out() -> None:
    z = np.array([[-40.0, -3, 0, 1], [1.96, 8, 20, 37]])
    np.testing.assert_allclose(upper_tail(z), norm.sf(z), rtol=1e-12)
    assert upper_tail(np.array([])).shape == (0,)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_that_is_no_share_is_refused(level: float) -> None:
    with pytest.raises(ConfigError, match=r"must lie in \(0, 1\)"):
        two_sided_z(level)
    with pytest.raises(ConfigError, match=r"must lie in \(0, 1\)"):
        two_sided_t(level, 5)
