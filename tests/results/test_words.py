"""Actions in the environment's words."""

from __future__ import annotations

import numpy as np
import pytest

from rpd_core.results.words import chosen, most_often, spread

NAMES = ("left", "right", "wait")


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([0, 7, 0], "right"),
        ([1, 999, 0], "right"),
        ([30, 70, 0], "right 70%, left 30%"),
        ([20, 50, 30], "right 50%, wait 30%, left 20%"),
        ([1, 500, 499], "right 50%, wait 50%, left <1%"),
        ([5, 5, 0], "left 50%, right 50%"),
        ([0, 0, 0], "nothing"),
    ],
)
def test_choices_are_named_with_shares_where_there_are_several(
    counts: list[int], words: str
) -> None:
    assert chosen(np.array(counts), NAMES) == words


def test_where_there_is_little_room_two_actions_are_named() -> None:
    assert most_often("right 50%, wait 30%, left 20%") == "right 50%, wait 30%, ..."
    assert most_often("right 50%, wait 50%") == "right 50%, wait 50%"
    assert most_often("(0.5, 1, 2±0.1)") == "(0.5, 1, 2±0.1)"


def test_actions_without_a_name_are_numbers() -> None:
    assert chosen(np.array([0, 0, 4]), ("left",)) == "2"


def test_vectors_are_told_by_mean_and_spread() -> None:
    actions = np.array([[1.0, -2.0], [3.0, -2.0]])
    sums, squares = actions.sum(axis=0), (actions**2).sum(axis=0)
    assert spread(sums, squares, 2) == "(2±1, -2)"
    assert spread(np.array([-0.0]), np.array([0.0]), 3) == "0"
