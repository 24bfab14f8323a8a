"""Action spaces: first actions, random ones, and those that do not belong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from lines import Line, always, plan, player

from rpd_core.chance import Draws
from rpd_core.play.actions import action_check, action_difference, first_action, random_actions
from rpd_core.play.deciders import Coin
from rpd_core.play.recorder import play_suite
from rpd_core.plugin.protocols import Facts


def test_random_actions_cover_every_kind_of_space() -> None:
    class Even:
        def uniform(self, columns: int = 1) -> Any:
            return np.tile(np.linspace(0, 1, 100, endpoint=False)[:, None], (1, columns))

    assert set(random_actions(spaces.Discrete(3, start=2), Even()).tolist()) == {2, 3, 4}
    many = random_actions(spaces.MultiDiscrete([2, 5]), Even())
    assert (many.max(axis=0).tolist(), many.min(axis=0).tolist()) == ([1, 4], [0, 0])
    assert random_actions(spaces.MultiBinary(2), Even()).mean() == 0.5
    box = spaces.Box(np.array([-1, 0]), np.array([1, 10]), dtype=np.float32)
    drawn = random_actions(box, Even())
    assert drawn.dtype == np.float32
    assert all(row in box for row in drawn)
    np.testing.assert_allclose(drawn.mean(axis=0), [0, 5], atol=0.1)
    whole = random_actions(spaces.Box(-1, 3, (1,), np.int64), Even())[:, 0]
    assert np.unique(whole, return_counts=True)[1].tolist() == [20] * 5
    assert (whole.min(), whole.max(), whole.dtype) == (-1, 3, np.int64)


@pytest.mark.parametrize(
    ("space", "no_op", "first"),
    [
        (spaces.Discrete(3), None, 0),
        (spaces.Discrete(3), 2, 2),
        (spaces.Discrete(2, start=1), None, 1),
        (spaces.MultiDiscrete([2, 2], start=[1, 1]), None, [1, 1]),
        (spaces.MultiBinary(2), None, [0, 0]),
        (spaces.Box(-1, 1, (2,)), None, [0, 0]),
        (spaces.Box(1, 2, (1,)), None, [1]),
    ],
)
def test_the_first_action_is_legal_and_does_as_little_as_can_be(
    space: Any, no_op: int | None, first: Any
) -> None:
    facts = Facts(None, space, 1, no_op=no_op)
    action = first_action(facts)
    assert action.tolist() == first
    assert action_check(facts)(action[None], np.array([True])) is None


def differing(space: Any, left: Any, right: Any) -> list[bool]:
    found = action_difference(Facts(None, space, len(left)))(np.array(left), np.array(right))
    return list(found.tolist())


@pytest.mark.parametrize(
    ("space", "left", "right", "differ"),
    [
        (spaces.Discrete(3), [0, 1], [0, 2], [False, True]),
        (spaces.MultiDiscrete([300, 3]), [[5, 1], [5, 1]], [[5, 1], [6, 1]], [False, True]),
        (spaces.MultiBinary(2), [[0, 1], [0, 1]], [[0, 1], [1, 1]], [False, True]),
        (spaces.Box(0, 1000, (1,), np.int64), [[5], [5]], [[5], [6]], [False, True]),
    ],
)
def test_whole_actions_differ_if_they_are_not_equal(
    space: Any, left: Any, right: Any, differ: list[bool]
) -> None:
    assert differing(space, left, right) == differ


def test_a_bounded_entry_differs_beyond_one_percent_of_its_range() -> None:
    box = spaces.Box(np.array([0.0, -100.0]), np.array([1.0, 100.0]), dtype=np.float64)
    rows = [[0.5, 0.0], [0.509, 2.0], [0.511, 0.0], [0.5, -2.1]]
    assert differing(box, rows, [[0.5, 0.0]] * 4) == [False, False, True, True]


@pytest.mark.parametrize("high", [np.inf, np.finfo(np.float32).max])
def test_an_entry_without_bounds_differs_by_its_size(high: float) -> None:
    """1 % of the larger of the two, of 1 where both are smaller."""
    box = spaces.Box(-high, high, (1,), np.float32)
    left = [[0.0], [0.009], [0.011], [100.0], [100.0], [-200.0]]
    right = [[0.0], [0.0], [0.0], [99.5], [98.5], [-197.0]]
    assert differing(box, left, right) == [False, False, True, False, True, True]


class Buttons(spaces.Discrete):
    """As environments have that give their actions names."""


class Torques(spaces.Box):
    """As environments have that give their actions units."""


def test_spaces_of_a_stranger_s_class_are_what_they_derive_from() -> None:
    buttons = Facts(None, Buttons(3, start=2), 2)
    torques = Facts(None, Torques(-1, 1, (2,), np.float32), 2)
    both = np.array([True, True])
    assert first_action(buttons).tolist() == 2
    assert first_action(torques).tolist() == [0, 0]
    assert action_check(buttons)(np.array([2, 4]), both) is None
    assert action_check(buttons)(np.array([2, 5]), both) == (
        1,
        "5, which is not in Discrete(3, start=2)",
    )
    assert action_check(torques)(np.zeros((2, 2)), both) is None
    lane, complaint = action_check(torques)(np.array([[0, 0], [2, 0]]), both) or (-1, "")
    assert (lane, complaint[:13]) == (1, "[2, 0], which")
    draws = Draws(np.arange(50, dtype=np.uint64), np.arange(50))
    assert set(random_actions(buttons.action_space, draws).tolist()) == {2, 3, 4}
    assert all(row in torques.action_space for row in random_actions(torques.action_space, draws))


def test_choices_of_a_stranger_s_discrete_space_are_counted() -> None:
    line = Line(space=Buttons(3, start=1))
    suite = play_suite(player(line, always(2), always(1), lanes=2), plan(4), Coin(plan(4), 0.3))
    assert suite.states.choices.shape == (len(suite.states), 3)
    assert suite.states.choices[:, 1].sum() == suite.states.visits.sum() == 24


def test_a_bound_in_single_precision_may_be_reached_in_double() -> None:
    check = action_check(Facts(None, spaces.Box(-0.7, 0.7, (1,), np.float32), 1))
    assert check(np.array([[0.7]]), np.array([True])) is None
    assert check(np.array([[0.7001]]), np.array([True])) is not None
