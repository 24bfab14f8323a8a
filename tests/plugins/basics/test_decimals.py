"""Short decimals between two numbers."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpd_basics.decimals import short, shortest_between


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0187, 0.0243, 0.02),
        (-0.1, 0.1, 0.0),
        (0.0, 1.0, 1.0),
        (0.1, 0.9, 0.5),
        (-0.04, -0.03, -0.03),
        (123456.0, 123499.0, 123480.0),
        (995.0, 1204.0, 1000.0),
        (1e-300, 3e-300, 2e-300),
        (1.0, math.nextafter(1.0, 2.0), math.nextafter(1.0, 2.0)),
        (-1e308, 1.7e308, 0.0),
    ],
)
def test_the_roundest_number_is_found(low: float, high: float, expected: float) -> None:
    assert shortest_between(low, high) == expected


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_it_always_parts_the_two(one: float, other: float) -> None:
    low, high = sorted((one, other))
    if low < high:
        assert low < shortest_between(low, high) <= high


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_written_in_full(number: float) -> None:
    assert float(short(number)) == number


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.02, "0.02"), (-3.0, "-3"), (1e-5, "1e-05"), (0.1 + 0.2, "0.30000000000000004")],
)
def test_and_in_few_characters(number: float, text: str) -> None:
    assert short(number) == text
