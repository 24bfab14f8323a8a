"""Intervals drawn with characters."""

from __future__ import annotations

import pytest

from rpd_core.cli.listing import BarScale, bar, scale_for


def test_a_scale_holds_all_intervals_and_zero() -> None:
    assert scale_for([0.2, 0.1], [0.6, 0.5], 7) == BarScale(0.0, 0.6, 7)
    assert scale_for([-0.4], [-0.2]) == BarScale(-0.4, 0.0)


@pytest.mark.parametrize(
    ("ends", "drawn"),
    [
        ((0.2, 0.4, 0.6), "| [-o-]    "),
        ((-0.2, 0.0, 0.2), "o-]        "),
        ((0.0, 0.0, 1.0), "o---------]"),
        ((0.9, 1.0, 1.0), "|        [o"),
    ],
)
def test_an_interval_is_drawn_to_scale(ends: tuple[float, float, float], drawn: str) -> None:
    assert bar(BarScale(0.0, 1.0, 11), *ends, plain=True) == drawn
    assert len(bar(BarScale(0.0, 1.0, 11), *ends)) == 11
