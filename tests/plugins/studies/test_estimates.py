"""Differences between pairs, and how two orders agree."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rpd_studies.estimates import (
    mean_difference,
    rank_agreement,
    risk_difference,
    spearman,
)


def test_the_interval_of_paired_outcomes_by_hand() -> None:
    """Ten pairs: three fail only mutated, one only unmutated; half a pair is added to each kind."""
    mutated = np.array([1, 1, 1, 0, 1, 1, 0, 0, 0, 0.0])
    unmutated = np.array([0, 0, 0, 1, 1, 1, 0, 0, 0, 0.0])
    found = risk_difference(mutated, unmutated)
    more, fewer, size = 3.5, 1.5, 12
    middle = (more - fewer) / size
    error = math.sqrt(more + fewer - (more - fewer) ** 2 / size) / size
    assert found.estimate == pytest.approx(0.2)
    assert found.low == pytest.approx(middle - 1.959964 * error, abs=1e-6)
    assert found.high == pytest.approx(middle + 1.959964 * error, abs=1e-6)


def test_pairs_that_never_differ_leave_room_for_a_difference() -> None:
    found = risk_difference(np.zeros(8), np.zeros(8))
    assert found.estimate == 0
    assert found.low is not None
    assert found.high is not None
    assert -0.3 < found.low < 0 < found.high < 0.3


def test_intervals_of_paired_outcomes_hold_the_truth() -> None:
    generator, held = np.random.default_rng(3), 0
    for _ in range(2000):
        both = generator.random(40)
        unmutated, mutated = both < 0.2, (both < 0.1) | (generator.random(40) < 0.3)
        truth = (0.1 + 0.9 * 0.3) - 0.2
        found = risk_difference(mutated.astype(float), unmutated.astype(float))
        assert found.low is not None
        assert found.high is not None
        held += found.low <= truth <= found.high
    assert 0.93 <= held / 2000 <= 0.98


def test_the_rank_correlation_is_that_of_scipy_with_ties_too() -> None:
    generator = np.random.default_rng(4)
    for size in (3, 10, 57):
        left, right = generator.integers(0, 6, size=(2, size)).astype(float)
        left[0], right[0] = -1, 9  # so that no column is constant
        assert spearman(left, right) == pytest.approx(stats.spearmanr(left, right).statistic)


def test_a_column_that_does_not_vary_has_no_rank_correlation() -> None:
    assert spearman(np.ones(5), np.arange(5)) is None
    assert rank_agreement(np.ones(5), np.arange(5), 0) is None


def test_the_interval_of_a_rank_correlation_holds_it_and_comes_back() -> None:
    generator = np.random.default_rng(5)
    left = generator.normal(size=60)
    right = left + generator.normal(size=60)
    found = rank_agreement(left, right, seed=7)
    assert found == rank_agreement(left, right, seed=7)
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.estimate < found.high
    assert found.high - found.low < 0.5
    assert found.estimate == pytest.approx(stats.spearmanr(left, right).statistic)


def test_the_interval_of_paired_numbers_is_that_of_a_paired_t_test() -> None:
    one, other = np.array([0.3, 0.5, 0.2, 0.6]), np.array([0.4, 0.9, 0.2, 0.7])
    wanted = stats.ttest_rel(one, other).confidence_interval(0.95)
    found = mean_difference(one, other)
    assert found.estimate == pytest.approx(-0.15)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high))


def test_one_pair_has_a_difference_without_an_interval() -> None:
    found = mean_difference(np.array([0.5]), np.array([0.25]))
    assert (found.estimate, found.low, found.high) == (0.25, None, None)
