"""How much more a state matters in one suite than in another."""

from __future__ import annotations

import numpy as np
import pytest

from rpd_compare.changes import (
    Change,
    compare_effects,
    difference_chances,
    difference_interval,
)
from rpd_core.analysis.intervals import effect_interval
from rpd_core.plugin.protocols import Spectrum


def spectrum(*rows: tuple[int, int, int, int]) -> Spectrum:
    """Return a spectrum from (mutated failed, of so many, kept failed, of so many)."""
    table = np.array(rows, dtype=np.float64)
    mutated_failed, mutated, kept_failed, kept = table.T
    return Spectrum(mutated_failed, mutated - mutated_failed, kept_failed, kept - kept_failed)


def test_the_distances_of_two_effects_are_squared_and_added():
    first, second = spectrum((30, 100, 10, 100)), spectrum((60, 100, 10, 100))
    found = difference_interval(first, second)
    one, two = effect_interval(first), effect_interval(second)
    assert found.estimate == pytest.approx([0.3])
    down = np.hypot(two.estimate - two.low, one.high - one.estimate)
    assert found.low == pytest.approx(0.3 - down)
    assert found.high == pytest.approx(0.3 + np.hypot(two.high - 0.5, 0.2 - one.low))


def test_exchanging_the_suites_turns_the_sign():
    first = spectrum((30, 100, 10, 90), (3, 12, 5, 20))
    second = spectrum((60, 80, 9, 90), (8, 10, 1, 40))
    there, back = difference_interval(first, second), difference_interval(second, first)
    assert there.low == pytest.approx(-back.high)
    gained, lost = difference_chances(first, second)
    assert [*lost, *gained] == pytest.approx([*np.concatenate(difference_chances(second, first))])


def test_an_empty_arm_says_nothing():
    first, second = spectrum((0, 0, 10, 100)), spectrum((100, 100, 0, 100))
    found = compare_effects(first, second)
    assert (found.interval.low[0], found.interval.high[0]) == (-2.0, 2.0)
    assert found.change(0) is Change.OPEN


def test_what_clearly_changed_is_told_and_nothing_else():
    first = spectrum((10, 200, 10, 200), (150, 200, 10, 200), (50, 200, 40, 200))
    second = spectrum((150, 200, 10, 200), (10, 200, 10, 200), (52, 200, 40, 200))
    found = compare_effects(first, second)
    assert [found.change(row) for row in range(3)] == [Change.GAINED, Change.LOST, Change.OPEN]


def test_few_of_many_equal_states_are_said_to_have_changed():
    generator = np.random.default_rng(5)
    suites = 25
    wrong = 0
    for _ in range(suites):
        pair = []
        for _ in range(2):
            failed, kept = generator.binomial(30, 0.5, 50), generator.binomial(45, 0.2, 50)
            pair.append(Spectrum(failed * 1.0, 30.0 - failed, kept * 1.0, 45.0 - kept))
        found = compare_effects(*pair)
        wrong += bool((found.gained | found.lost).any())
    assert wrong / suites <= 0.08, "5 % of such suites may hold a false one"
