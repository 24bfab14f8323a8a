"""How much a policy prefers its action to the default's, in every way of offering it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from lines import Line, always, plan, player

from rpd_core.play.actions import default_gap, gap_unit
from rpd_core.play.deciders import Coin
from rpd_core.play.recorder import play_suite
from rpd_core.plugin.protocols import Choice

THREE = spaces.Discrete(3)
BOX = spaces.Box(-1, 1, (1,), np.float64)
ACTIONS, DEFAULT = np.array([1, 2, 0]), np.array([0, 2, 1])
VALUES = np.array([[1.0, 4.0, 2.0], [0.0, 1.0, 3.0], [1.5, 2.0, 2.0]])
CHANCES = np.array([[0.2, 0.8, 0.0], [0.1, 0.1, 0.8], [0.25, 0.5, 0.25]])


def gap(choice: Choice, space: Any = THREE, default: Any = DEFAULT) -> list[float]:
    found = default_gap(choice, default, space)
    assert found is not None
    return list(found.tolist())


def test_values_come_before_probabilities() -> None:
    both = Choice(ACTIONS, VALUES, CHANCES)
    assert (gap_unit(both, THREE), gap(both)) == ("value", [3.0, 0.0, -0.5])
    odds = Choice(ACTIONS, probabilities=CHANCES)
    assert gap_unit(odds, THREE) == "log odds"
    assert gap(odds) == pytest.approx([np.log(4), 0.0, -np.log(2)], abs=1e-12)


def test_the_first_action_need_not_be_0() -> None:
    choice = Choice(ACTIONS + 5, VALUES)
    assert gap(choice, spaces.Discrete(3, start=5), DEFAULT + 5) == [3.0, 0.0, -0.5]


def test_an_impossible_action_is_worse_by_a_finite_amount() -> None:
    impossible = np.array([[0.0, 1.0, 0.0]] * 3)
    assert gap(Choice(ACTIONS, probabilities=impossible))[0] == pytest.approx(9 * np.log(10))
    values = np.array([[-np.inf, 4.0, 2.5], [1.0, 1.0, -np.inf], [np.nan] * 3])
    assert gap(Choice(ACTIONS, values)) == [1.5, 0.0, 0.0], "the worst that is a number"


def test_a_lane_without_an_episode_may_hold_any_action() -> None:
    assert gap(Choice(ACTIONS, VALUES), default=np.array([0, 99, -7]))[0] == 3.0


def test_other_actions_are_compared_by_their_log_probability() -> None:
    """A Gaussian around 0.5 with deviation 0.1: 0 is five deviations away, so by 12.5."""
    actions, default = np.array([[0.5], [0.4], [-1.0]]), np.array([[0.0], [0.6], [-1.0]])

    def density(given: Any) -> Any:
        return -0.5 * ((given[:, 0] - 0.5) / 0.1) ** 2

    choice = Choice(actions, log_probability=density)
    assert gap_unit(choice, BOX) == "log density"
    assert gap(choice, BOX, default) == pytest.approx([12.5, 0.0, 0.0], abs=1e-9)
    endless = Choice(
        actions, log_probability=lambda given: np.where(given[:, 0] == 0.5, 0.0, -np.inf)
    )
    assert gap(endless, BOX, default) == [1000.0, 0.0, 0.0]


def test_discrete_actions_may_have_a_function_instead_of_a_table() -> None:
    logs = np.log(CHANCES + 1e-30)
    for table in (None, CHANCES[:, :2]):  # one of another size is of no use
        choice = Choice(ACTIONS, None, table, None, lambda given: logs[np.arange(3), given])
        assert gap_unit(choice, THREE) == "log odds"
        assert gap(choice) == pytest.approx([np.log(4), 0.0, -np.log(2)], abs=1e-12)


@pytest.mark.parametrize(
    ("choice", "space"),
    [
        (Choice(ACTIONS), THREE),
        (Choice(ACTIONS, VALUES[:, :2]), THREE),
        (Choice(np.zeros((3, 1)), VALUES), BOX),
    ],
)
def test_a_policy_that_offers_nothing_that_fits_has_no_gap(choice: Choice, space: Any) -> None:
    assert gap_unit(choice, space) == ""
    assert default_gap(choice, DEFAULT, space) is None


def test_gaps_are_added_up_by_state_on_a_grid() -> None:
    def decide(seen: Any) -> Choice:
        return Choice(np.zeros(1, dtype=int), np.array([[1 / 3, 0.0, 0.25]]))

    suite = play_suite(player(Line(), decide, always(2), max_steps=4), plan(1), Coin(plan(1), 0.3))
    on_grid = round((1 / 3 - 0.25) * 2**20) / 2**20
    assert suite.states.default_gap.tolist()[0] == suite.states.visits[0] * on_grid
    silent = player(Line(), always(1), always(2), max_steps=4)
    assert np.isnan(play_suite(silent, plan(1), Coin(plan(1), 0.3)).states.default_gap).all()
