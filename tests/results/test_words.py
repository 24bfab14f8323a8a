"""Numbers rounded, and actions in the environment's words."""

from __future__ import annotations

import numpy as np
import pytest

from rpd_core.results.words import chosen, few, most_often, part_of, percent, reached_words, spread

NAMES = ("left", "right", "wait")


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([0, 7, 0], "right"),
        ([1, 999, 0], "right"),
        ([30, 70, 0], "right (70%), left (30%)"),
        ([20, 50, 30], "right (50%), wait (30%), left (20%)"),
        ([1, 500, 499], "right (50%), wait (50%), left (<1%)"),
        ([5, 5, 0], "left (50%), right (50%)"),
        ([0, 0, 0], "nothing"),
    ],
)
def test_choices_are_named_with_shares_where_there_are_several(
    counts: list[int], words: str
) -> None:
    assert chosen(np.array(counts), NAMES) == words


def test_where_there_is_little_room_two_actions_are_named() -> None:
    assert most_often("right (50%), wait (30%), left (20%)") == "right (50%), wait (30%), ..."
    assert most_often("right (50%), wait (50%)") == "right (50%), wait (50%)"
    assert most_often("(0.5, 1, 2±0.1)") == "(0.5, 1, 2±0.1)"


def test_actions_without_a_name_are_numbers() -> None:
    assert chosen(np.array([0, 0, 4]), ("left",)) == "2"


def test_vectors_are_told_by_mean_and_spread() -> None:
    actions = np.array([[1.0, -2.0], [3.0, -2.0]])
    sums, squares = actions.sum(axis=0), (actions**2).sum(axis=0)
    assert spread(sums, squares, 2) == "(2±1, -2)"
    assert spread(np.array([-0.0]), np.array([0.0]), 3) == "0"


def test_a_little_is_not_nothing_and_nothing_has_no_sign() -> None:
    assert [percent(one) for one in (0.0, -0.0, 0.004, 0.006, 0.0449, 1.0, None)] == [
        "0%", "0%", "<1%", "1%", "4%", "100%", "-",
    ]  # fmt: skip
    assert [reached_words(one) for one in (0.0, 0.004, 0.0074)] == ["never", "<1%", "1%"]


def test_a_small_part_has_a_digit_more() -> None:
    shares = (0.0, 0.0001, 0.0063, 0.0994, 0.0996, 0.31, None)
    assert [part_of(one) for one in shares] == [
        "0%", "<1%", "0.6%", "9.9%", "10%", "31%", "-",
    ]  # fmt: skip


def test_a_return_has_three_digits_and_never_an_exponent_where_it_is_large() -> None:
    values = (-0.0, 0.2306, 57.83, 183.4, 999.6, -999.7, 12345.6)
    assert [few(one) for one in values] == [
        "0", "0.231", "57.8", "183", "1000", "-1000", "12346",
    ]  # fmt: skip
