"""Action spaces: first actions, random ones, and those that do not belong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from rpd_core.play.actions import action_check, first_action, random_actions
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


def test_a_bound_in_single_precision_may_be_reached_in_double() -> None:
    check = action_check(Facts(None, spaces.Box(-0.7, 0.7, (1,), np.float32), 1))
    assert check(np.array([[0.7]]), np.array([True])) is None
    assert check(np.array([[0.7001]]), np.array([True])) is not None
