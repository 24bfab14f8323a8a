"""Environments whose chance comes from elsewhere, and those that misbehave around an episode."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from own_worlds import Dice

from rpd_core.chance import Phase, episode_keys
from rpd_core.errors import EpisodeError, FitError, SpecError
from rpd_core.play.loop import Plan, Player
from rpd_core.play.prepare import RandomPlay
from rpd_core.play.recipe import policy_alone
from rpd_core.plugin.protocols import Opening
from rpd_gym.environments import PythonEnvironment
from rpd_gym.repeatability import Safeguards, find_safeguards


def world(name: str, **options) -> PythonEnvironment:
    kwargs = tuple(f"{key}={value}" for key, value in options.items())
    return PythonEnvironment(f"own_worlds:{name}", 30, kwargs)


def returns(environment: PythonEnvironment, lanes: int, episodes: int = 6) -> list[float]:
    player = Player(policy_alone(environment, RandomPlay(), lanes))
    index = np.arange(episodes)
    plan = Plan(index, episode_keys(0, Phase.SUITE, index))
    try:
        played = player.play(plan, lambda keys, position: np.ones(len(keys), dtype=bool))
    finally:
        player.close()
    return played.total_return.tolist()


@pytest.mark.parametrize(
    ("die", "safeguards"),
    [
        ("own", Safeguards()),
        ("space", Safeguards()),
        ("numpy", Safeguards(own_chance=True)),
        ("python", Safeguards(own_chance=True)),
    ],
)
def test_episodes_depend_on_their_seeds_alone_whatever_is_played_beside_them(
    die, safeguards
) -> None:
    assert find_safeguards(lambda: Dice(die), die) == safeguards
    environment = world("Dice", die=die)
    assert returns(environment, 1) == returns(environment, 4) == returns(environment, 4)
    assert len(set(returns(environment, 4))) > 1


def test_global_generators_give_in_lanes_what_they_give_in_one_environment() -> None:
    lanes = world("Dice", die="numpy").open(Opening(2))
    lanes.reset(np.arange(2), np.array([5, 6]))
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    beside = [lanes.step(np.array([1, 1]), np.ones(2, bool)).rewards.tolist() for _ in range(4)]
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    for lane, seed in enumerate((5, 6)):
        alone = Dice("numpy")
        alone.reset(seed=seed)
        assert [alone.step(1)[1] for _ in range(4)] == [rewards[lane] for rewards in beside]


@pytest.mark.parametrize("die", ["numpy", "python"])
def test_global_generators_that_nobody_seeds_are_refused(die: str) -> None:
    with pytest.raises(FitError, match=r"different episodes for one seed.*self\.np_random"):
        find_safeguards(lambda: Dice(die, seeded=False), die)


def test_chance_in_the_constructor_is_refused() -> None:
    with pytest.raises(FitError, match="different episodes for one seed"):
        world("Born").open(Opening(1))


def test_an_environment_that_can_exist_only_once_is_played_in_one_lane() -> None:
    assert returns(world("Single"), 1) == returns(world("Walk"), 1)


def test_made_anew_on_request_it_gets_chance_of_its_own_too() -> None:
    told = replace(world("Dice", die="numpy"), rebuild=True)
    assert returns(told, 4) == returns(world("Dice", die="numpy"), 1)


def test_an_environment_that_ends_the_program_fails_in_its_episode() -> None:
    with pytest.raises(EpisodeError, match=r"raised SystemExit: 0 in step 1 of episode \d+ \(env"):
        returns(world("Quitter"), 2)


def test_an_environment_that_cannot_be_closed_is_played_all_the_same() -> None:
    assert world("Stubborn").task().max_steps == 30
    assert len(returns(world("Stubborn"), 2)) == 6


def test_a_space_that_is_missing_is_said() -> None:
    with pytest.raises(SpecError, match=r"Unfinished has no observation_space before its first"):
        world("Unfinished").task()


def test_parts_of_an_observation_with_one_name_are_refused() -> None:
    with pytest.raises(FitError, match=r"share a name \('a\.b', 'a\.b'\): rename one"):
        world("Twins").open(Opening(1))
