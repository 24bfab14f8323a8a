"""Misbehaviour in the middle of an episode: one line with step, episode and seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from lines import Line, always, kept, plan, player

from rpd_core.chance import environment_seeds
from rpd_core.errors import EpisodeError, FitError, RpdError
from rpd_core.plugin.protocols import Choice

FIRST = 40
"""Index of the first episode, told apart from its position in the plan."""


def failure(line: Line, policy: Any, default: Any = None, lanes: int = 3) -> str:
    opened = player(line, policy, default or always(0), lanes=lanes)
    with pytest.raises(EpisodeError) as caught:
        opened.play(plan(5, first=FIRST), kept)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def seed_of(episode: int) -> int:
    return int(environment_seeds(plan(5, first=FIRST).identity)[episode - FIRST])


def in_lane(lane: int, step: int, wrong: int, right: int = 0) -> Callable[[Any], Any]:
    """Act rightly but in one lane at one step."""

    def decide(seen: Any) -> Any:
        actions = np.full(len(seen.starts), right)
        if seen.draws.within[lane] == step:
            actions[lane] = wrong
        return actions

    return decide


@pytest.mark.parametrize("wrong", [3, -1, 10**6])
def test_an_action_outside_the_space_names_step_episode_and_seed(wrong: int) -> None:
    assert failure(Line(), in_lane(1, 2, wrong)) == (
        f"the policy chose {wrong}, which is not in Discrete(3) in step 2 of episode 41 "
        f"(environment seed {seed_of(41)})"
    )


def test_bounds_move_with_the_start_of_the_space() -> None:
    line = Line(space=spaces.Discrete(3, start=4))
    assert "the policy chose 3, which" in failure(line, always(3), always(4))
    assert "the policy chose 7, which" in failure(line, always(7), always(4))


def test_a_default_action_outside_the_space_is_named_as_such() -> None:
    message = failure(Line(), always(0), always(5))
    assert message.startswith("the default action gave 5, which is not in Discrete(3) in step 0")


@pytest.mark.parametrize(
    ("actions", "complaint"),
    [
        (np.zeros((3, 1), dtype=int), "actions of shape (3, 1) where (3,) is needed"),
        (np.zeros(2, dtype=int), "actions of shape (2,) where (3,) is needed"),
        (np.array(1), "actions of shape () where (3,) is needed"),
        (np.full(3, 1.0), "actions of type float64 where whole numbers are needed"),
    ],
)
def test_actions_of_the_wrong_form_are_refused(actions: Any, complaint: str) -> None:
    assert f"the policy chose {complaint}" in failure(Line(), lambda seen: actions)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1.5, -2.0])
def test_a_continuous_action_outside_its_bounds_is_refused(wrong: float) -> None:
    line = Line(space=spaces.Box(-1, 1, (2,)))
    actions = np.zeros((3, 2), dtype=np.float32)
    actions[2, 1] = wrong
    message = failure(line, lambda seen: actions, lambda moment: np.zeros((3, 2), np.float32))
    assert "which is not in Box(-1.0, 1.0, (2,), float32) in step 0 of episode 42" in message


def test_a_list_of_actions_is_as_good_as_an_array() -> None:
    opened = player(Line(), lambda seen: Choice([1, 1]), always(0), lanes=2)
    assert opened.play(plan(2), kept).total_return.tolist() == [6.0, 6.0]


def test_rubbish_in_idle_lanes_does_not_matter() -> None:
    def decide(seen: Any) -> Any:
        return np.array([1, 99, 99])

    played = player(Line(), decide, always(0), lanes=3).play(plan(1), kept)
    assert played.total_return.tolist() == [6.0]


def test_an_unknown_kind_of_action_space_is_refused() -> None:
    space = spaces.Tuple((spaces.Discrete(2), spaces.Discrete(2)))
    with pytest.raises(FitError, match=r"actions of Tuple.* are not supported; Discrete, Box, "):
        player(Line(space=space), always(0), always(0))


@pytest.mark.parametrize("reward", [np.nan, np.inf, -np.inf])
def test_a_reward_that_is_no_number_names_step_episode_and_seed(reward: float) -> None:
    line = Line(reward=lambda step: reward if step == 3 else 1.0)
    assert failure(line, always(1), lanes=1) == (
        f"the environment gave the reward {reward} in step 3 of episode 40 "
        f"(environment seed {seed_of(40)})"
    )


def test_huge_rewards_are_no_fault_while_they_are_numbers() -> None:
    line = Line(reward=lambda step: 1.7e308 if step == 0 else 0.0)
    played = player(line, always(1), always(0), lanes=3).play(plan(3), kept)
    assert played.total_return.tolist() == [1.7e308] * 3


def test_an_environment_that_fails_in_a_step_names_the_episode() -> None:
    assert failure(Line(raise_in="step"), always(1)) == (
        "the environment raised RuntimeError: motor stuck in step 2 of episode 40 "
        f"(environment seed {seed_of(40)})"
    )


def test_an_environment_that_fails_in_a_reset_names_the_episode() -> None:
    assert failure(Line(raise_in="reset"), always(1)) == (
        "the environment raised RuntimeError: no power in step 0 of episode 42 "
        f"(environment seed {seed_of(42)})"
    )


def test_an_environment_that_fails_as_a_batch_names_the_episodes() -> None:
    message = failure(Line(raise_in="batch"), always(1))
    assert (
        message == "the environment raised RuntimeError: all broken while playing episodes 40 to 42"
    )


def test_an_error_in_a_policy_keeps_its_traceback() -> None:
    def decide(seen: Any) -> Any:
        raise KeyError("weights")

    with pytest.raises(KeyError):
        player(Line(), decide, always(0)).play(plan(1), kept)


def test_errors_survive_the_trip_from_a_worker() -> None:
    import pickle

    error = EpisodeError("wrong in episode 3")
    back = pickle.loads(pickle.dumps(error))
    assert isinstance(back, RpdError)
    assert (type(back), str(back)) == (EpisodeError, "wrong in episode 3")
