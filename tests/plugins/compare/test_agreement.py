"""Whether two policies choose the same action."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rpd_compare.agreement import agreements, compare_choices
from rpd_core.plugin.protocols import States


def states(choices: Any = None, means: Any = None) -> States:
    """Return states with these counts of choices, or these mean actions over ten visits."""
    count = len(choices if choices is not None else means)
    none = np.zeros((count, 0))
    columns = {name: np.zeros(count) for name in States.__dataclass_fields__}
    columns["choices"] = none if choices is None else np.array(choices)
    columns["action_sum"] = none if means is None else 10 * np.array(means, dtype=np.float64)
    columns["visits"] = np.full(count, 10)
    return States(**columns)


ROWS = np.arange(4)


def test_the_most_frequent_action_decides_and_the_overlap_says_how_far():
    one = states([[9, 1, 0], [6, 4, 0], [0, 10, 0], [0, 0, 10]])
    two = states([[8, 2, 0], [4, 6, 0], [10, 0, 0], [0, 0, 99]])
    found = compare_choices(one, ROWS, two, ROWS)
    assert found.same.tolist() == [True, False, False, True]
    assert found.overlap == pytest.approx([0.9, 0.8, 0.0, 1.0])
    assert found.clear.tolist() == [True, False, True, True]


def test_rows_of_the_two_suites_need_not_be_the_same():
    one, two = states([[1, 0], [0, 1]]), states([[0, 1], [5, 5], [1, 0]])
    found = compare_choices(one, np.array([0, 1]), two, np.array([2, 0]))
    assert found.same.tolist() == [True, True]


def test_vectors_agree_within_a_tenth_of_the_range_of_all_means():
    one = states(means=[[0.0, 0.0], [1.0, 0.0], [0.5, 2.0], [0.5, 1.0]])
    two = states(means=[[0.09, 0.19], [1.0, 0.21], [0.39, 2.0], [0.5, 1.0]])
    assert compare_choices(one, ROWS, two, ROWS).same.tolist() == [True, False, False, True]


def test_agreement_follows_the_order_and_shares_are_rounded_up():
    one = states([[1, 0]] * 4)
    two = states([[1, 0], [0, 1], [1, 0], [1, 0]])
    choices = compare_choices(one, ROWS, two, ROWS)
    found = agreements(choices, np.array([0, 2, 1, 3]), (0.01, 0.5, 0.75, 1.0))
    assert [(point.states, point.same) for point in found] == [(1, 1), (2, 2), (3, 2), (4, 3)]
    assert found[-1].agreement == 0.75
    low, high = 0.3006, 0.9544  # Wilson's interval of 3 in 4
    assert (found[-1].low, found[-1].high) == pytest.approx((low, high), abs=5e-5)
    assert agreements(choices, np.array([], dtype=int), (0.1,)) == ()
