"""The batched loop: who decides where, and what each part is shown."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import worlds
from gymnasium import spaces
from lines import Cell, Does, Gives, Line, always, by_step, kept, mutated, pattern, plan, player

from rpd_basics.default_actions import Constant, OtherPolicy, Random, Repeat
from rpd_core.chance import Phase, canonical, environment_seeds, state_keys
from rpd_core.errors import FitError
from rpd_core.play.chunks import Evaluation, EvaluationChunk, perform_evaluations
from rpd_core.play.deciders import Coin, TopStates
from rpd_core.play.loop import Player, Step
from rpd_core.play.recipe import Recipe
from rpd_core.play.recorder import play_suite, recorder_for
from rpd_core.plugin.protocols import Choice
from rpd_core.plugin.protocols.suite import ENDINGS

WANDERS = by_step([1, 1, 2, 2, 0, 1, 2])
"""Visits the same few cells again and again."""


def actions_of(line: Line) -> list[Any]:
    return [action for _, action in line.log]


# ------------------------------------------------------------------------- fates


def test_a_revisited_state_keeps_its_fate() -> None:
    fates: dict[tuple[int, int], set[bool]] = {}
    visits: dict[tuple[int, int], int] = {}

    def record(step: Step) -> None:
        for position, key, decides in zip(step.position, step.keys, step.kept, strict=True):
            place = int(position), int(key)
            fates.setdefault(place, set()).add(bool(decides))
            visits[place] = visits.get(place, 0) + 1

    episodes = plan(60)
    opened = player(Line(), WANDERS, Repeat(), lanes=8, max_steps=20)
    opened.play(episodes, Coin(episodes, 0.4), record)
    assert max(visits.values()) > 5
    assert all(len(seen) == 1 for seen in fates.values())
    assert {True, False} == set().union(*fates.values())


def test_the_coin_mutates_at_its_rate_and_anew_in_every_episode() -> None:
    episodes = plan(200_000)
    keys = np.full(200_000, 12345, dtype=np.uint64)
    for rate in (0.05, 0.4, 0.9):
        fate = Coin(episodes, rate)(keys, np.arange(200_000))
        assert abs(1 - fate.mean() - rate) < 5 * np.sqrt(rate * (1 - rate) / 200_000)
    lower, higher = (Coin(episodes, rate)(keys, np.arange(200_000)) for rate in (0.2, 0.3))
    assert (lower | ~higher).all(), "a state mutated at a low rate is mutated at a higher one"


def test_the_policy_is_asked_in_mutated_states_too() -> None:
    policy = Does(always(1))
    player(Line(), policy, always(0)).play(plan(1), mutated)
    assert len(policy.seen) == 6


# ------------------------------------------------------------------------- repeat


@pytest.mark.parametrize(
    ("fates", "executed"),
    [
        ("DKDDKD", [0, 2, 2, 2, 2, 2]),
        ("KDKDKD", [1, 1, 1, 1, 2, 2]),
        ("DDDDDD", [0, 0, 0, 0, 0, 0]),
        ("KKDDDK", [1, 2, 2, 2, 2, 1]),
    ],
)
def test_repeat_repeats_the_last_executed_action(fates: str, executed: list[int]) -> None:
    line = Line()
    player(line, by_step([1, 2, 1, 1, 2, 1]), Repeat()).play(plan(1), pattern(fates))
    assert actions_of(line) == executed


def test_repeat_starts_with_the_no_op_then_the_first_action_or_what_it_is_told() -> None:
    told = [(Line(no_op=2), Repeat(), 2), (Line(), Repeat(), 0), (Line(), Repeat("1"), 1)]
    told.append((Line(space=spaces.Discrete(3, start=5)), Repeat(), 5))
    for line, default, first in told:
        player(line, always(int(line.space.start)), default).play(plan(1), mutated)
        assert actions_of(line) == [first] * 6


def test_repeat_forgets_the_episode_before() -> None:
    line = Line()
    played = player(line, always(1), Repeat(), lanes=1, max_steps=3).play(
        plan(2), pattern("DKKDKD")
    )
    assert actions_of(line) == [0, 1, 1, 0, 1, 1]
    assert played.total_return.tolist() == [2.0, 2.0]


def test_repeat_of_a_continuous_action_starts_with_zeros() -> None:
    line = Line(space=spaces.Box(-1, 1, (2,)))
    chosen = np.array([[0.5, -0.25]], dtype=np.float32)
    player(line, lambda seen: chosen, Repeat(), max_steps=4).play(plan(1), pattern("DKDK"))
    assert actions_of(line) == [[0, 0], [0.5, -0.25], [0.5, -0.25], [0.5, -0.25]]


# ------------------------------------------------------------------------- random, other policies


def test_a_random_default_is_fixed_per_state_and_episode() -> None:
    line = Line()
    player(line, WANDERS, Random(), lanes=16, max_steps=12).play(plan(300), mutated)
    chosen: dict[tuple[int, int], list[int]] = {}
    cells = dict.fromkeys({seed for seed, _ in line.log}, 0)
    for seed, action in line.log:
        chosen.setdefault((seed, cells[seed]), []).append(action)
        cells[seed] += {1: 1, 2: -1}.get(action, 0)
    assert max(map(len, chosen.values())) == 12, "some episodes stay in one cell for good"
    assert all(len(set(actions)) == 1 for actions in chosen.values())
    counts = np.bincount([actions[0] for actions in chosen.values()], minlength=3)
    expected = len(chosen) / 3
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected)
    start = {chosen[seed, 0][0] for seed in cells}
    assert start == {0, 1, 2}, "and it differs between episodes"


def counting(seen: Any) -> Choice:
    """Remember, per lane, how many steps ago the episode started."""
    count = np.zeros(len(seen.starts), dtype=int) if seen.memory is None else seen.memory + 1
    count = np.where(seen.starts, 0, count)
    return Choice(count % 3, memory=count)


def test_memory_advances_in_every_lane_and_is_forgotten_at_starts() -> None:
    line = Line(truncate_at=5)
    policy = Does(counting)
    player(line, policy, always(0), lanes=3, max_steps=9).play(plan(6), pattern("KD"))
    for seen in policy.seen:
        running = counting(seen).memory
        np.testing.assert_array_equal(running, seen.draws.within)


def test_a_policy_as_default_has_a_memory_of_its_own() -> None:
    line = Line()
    backwards = Does(
        lambda seen: Choice((counting(seen).memory + 1) % 3, memory=counting(seen).memory)
    )
    player(line, counting, OtherPolicy(backwards), max_steps=6).play(plan(2), pattern("KKDDKD"))
    assert actions_of(line) == [0, 1, 0, 1, 1, 0] * 2


def test_a_second_play_starts_afresh() -> None:
    opened = player(Line(), counting, OtherPolicy(Does(counting)), lanes=2)
    first = opened.play(plan(5), mutated).total_return
    np.testing.assert_array_equal(opened.play(plan(5), mutated).total_return, first)


# ------------------------------------------------------------------------- what a policy sees


def test_a_policy_sees_starts_previous_actions_and_rewards() -> None:
    policy = Does(by_step([1, 2, 1]))
    player(Line(truncate_at=3), policy, always(2), lanes=1).play(plan(2), pattern("KDK"))
    starts = [bool(seen.starts[0]) for seen in policy.seen]
    assert starts == [True, False, False] * 2
    previous = [int(seen.previous[0]) for seen in policy.seen if not seen.starts[0]]
    assert previous == [1, 2, 1, 2]
    assert [float(seen.rewards[0]) for seen in policy.seen] == [0, 1, 2] * 2
    assert [float(seen.observations[0, 0]) for seen in policy.seen] == [0, 1, 0] * 2


def test_a_sampled_policy_draws_anew_at_a_revisit_and_the_same_in_a_replay() -> None:
    def stays(seen: Any) -> Any:
        drawn.append(seen.draws.uniform()[:, 0].copy())
        return np.zeros(len(seen.starts), dtype=int)

    drawn: list[Any] = []
    player(Line(), stays, always(0), lanes=1).play(plan(3), kept)
    first = np.array(drawn)[:, 0]
    assert len(np.unique(first)) == 18, "every step of every episode has a draw of its own"
    drawn.clear()
    player(Line(), stays, always(0), lanes=3).play(plan(3), mutated)
    np.testing.assert_array_equal(np.array(drawn).T.ravel(), first)


# ------------------------------------------------------------------------- lanes


def test_idle_lanes_are_left_alone() -> None:
    line = Line()
    played = player(line, always(1), always(0), lanes=10, max_steps=4).play(plan(3), kept)
    assert len(line.log) == 12
    assert {seed for seed, _ in line.log} == set(environment_seeds(plan(3).identity).tolist())
    assert played.total_return.tolist() == [4.0, 4.0, 4.0]


def sampled(seen: Any) -> Choice:
    return Choice((seen.draws.uniform()[:, 0] < 0.8).astype(int))


@dataclasses.dataclass(frozen=True)
class Sampled:
    def load(self, facts: Any) -> Any:
        return sampled


@pytest.mark.parametrize("lanes", [1, 3, 50, 64])
def test_the_number_of_lanes_changes_nothing(lanes: int) -> None:
    def suite(count: int) -> Any:
        recipe = Recipe(
            worlds.Corridor(), Sampled(), worlds.Itself(), Random(), count, worlds.MAX_STEPS
        )
        return play_suite(Player(recipe), plan(50), Coin(plan(50), 0.3))

    one, other = suite(7), suite(lanes)
    for table in ("episodes", "visits", "states"):
        for name, column in vars(getattr(one, table)).items():
            np.testing.assert_equal(vars(getattr(other, table))[name], column)


def test_episodes_stand_in_the_order_of_the_plan() -> None:
    line = Line(truncate_at=4)
    played = player(line, sampled, always(0), lanes=3).play(plan(8, first=5), kept)
    assert played.index.tolist() == list(range(5, 13))
    np.testing.assert_array_equal(played.seed, environment_seeds(plan(8, first=5).identity))


# ------------------------------------------------------------------------- endings and totals


@pytest.mark.parametrize(
    ("terminate", "truncate", "cap", "ending", "length"),
    [
        (3, 9, 9, "terminated", 3),
        (9, 3, 9, "truncated", 3),
        (9, 9, 3, "step-cap", 3),
        (3, 3, 9, "terminated", 3),
        (3, 9, 3, "terminated", 3),
        (9, 3, 3, "truncated", 3),
        (1, 9, 9, "terminated", 1),
    ],
)
def test_an_ending_is_told_by_its_cause(
    terminate: int, truncate: int, cap: int, ending: str, length: int
) -> None:
    line = Line(terminate_at=terminate, truncate_at=truncate)
    played = player(line, always(2), always(0), max_steps=cap).play(plan(2), kept)
    assert [ENDINGS[code] for code in played.ended] == [ending] * 2
    assert played.length.tolist() == [length] * 2
    assert played.total_return.tolist() == [2.0 * length] * 2


def test_steps_of_the_policy_are_counted() -> None:
    played = player(Line(), always(1), always(0)).play(plan(2), pattern("KDDKKKDDDDDK"))
    assert played.policy_steps.tolist() == [4, 1]
    assert played.overrides.tolist() == [4, 1]


def test_overrides_are_steps_of_the_policy_at_which_it_differs_from_the_default() -> None:
    """It differs at the first, third and fourth step, and decides at all but the third."""
    policy, fates = by_step([1, 0, 2, 2, 0, 0]), "KKDKKK"
    played = player(Line(), policy, always(0)).play(plan(2), pattern(fates))
    assert played.policy_steps.tolist() == [5, 5]
    assert played.overrides.tolist() == [2, 2]


def test_numbers_override_beyond_the_tolerance_of_their_space() -> None:
    """The range is 2, so up to 0.02 is the same; the visit counts the mutated step, too."""
    line = Line(space=spaces.Box(-1, 1, (1,), np.float64))
    policy = by_step([[0.0], [0.01], [-0.02], [0.021], [0.5], [-1.0]])
    opened = player(line, policy, lambda seen: np.zeros((1, 1)))
    recorder, episodes, keep = recorder_for(opened), plan(1), pattern("KKKKDK")
    played = opened.play(episodes, keep, recorder)
    assert (played.policy_steps.tolist(), played.overrides.tolist()) == ([5], [2])
    visits = recorder.suite(played, episodes, keep).visits
    assert (visits.count.sum(), visits.differed.sum(), visits.overrides.sum()) == (6, 5, 3)


def test_numbers_of_the_final_info_are_kept() -> None:
    played = player(Line(truncate_at=4), always(1), always(0)).play(plan(2), kept)
    assert set(played.info) == {"steps", "ok"}
    assert played.info["steps"].tolist() == [4.0, 4.0]
    assert played.info["ok"].tolist() == [1.0, 1.0]


# ------------------------------------------------------------------------- pruned policies


def test_the_top_of_a_ranking_is_kept_with_a_cutoff_per_episode() -> None:
    ranked = np.array([30, 10, 20], dtype=np.uint64)
    keys = np.array([10, 20, 30, 40], dtype=np.uint64)
    for cutoff, expected in [(0, "0000"), (1, "0010"), (2, "1010"), (3, "1110")]:
        for unranked, last in [(False, "0"), (True, "1")]:
            keep = TopStates((ranked,), np.array([[0, 9], [0, cutoff]]), unranked)
            found = keep(keys, np.ones(4, dtype=int))
            assert "".join(str(int(flag)) for flag in found) == expected[:3] + last


def test_many_pruned_policies_share_one_batch() -> None:
    line = Line()
    cells = state_keys(canonical(np.arange(4.0)[:, None]))
    recipe = Recipe(line, Does(always(1)), Cell(), Gives(always(0)), 5, 4)
    points = ((0, 0), (0, 1), (0, 2), (0, 4))
    asked = Evaluation(recipe, 0, Phase.TEST, 0, (cells,), points, False, 3)
    played = perform_evaluations([EvaluationChunk(asked, 0, 11)]).chunks[0].episodes
    # With the first k cells kept, the walker gets k cells far and stays there.
    assert played.total_return.reshape(4, 3).tolist() == [[0] * 3, [1] * 3, [2] * 3, [4] * 3]
    seeds = played.seed.reshape(4, 3)
    assert (seeds == seeds[0]).all(), "every pruned policy plays the same episodes"
    part = perform_evaluations([EvaluationChunk(asked, 4, 8)]).chunks[0].episodes
    np.testing.assert_array_equal(part.total_return, played.total_return[4:9])


# ------------------------------------------------------------------------- views


@dataclasses.dataclass(frozen=True)
class Looks:
    needs: Any = ("screen",)

    def __call__(self, values: Any, views: Any) -> Any:
        return views["screen"]


def test_a_view_that_is_not_on_offer_is_refused() -> None:
    recipe = Recipe(Line(), Does(always(0)), Looks(), Constant("0"), 2, 5)
    with pytest.raises(FitError, match=r"abstraction needs the view 'screen', which Line does not"):
        Player(recipe)


def test_an_episode_that_is_broken_off_begins_as_the_whole_one_does() -> None:
    whole, cut = [], []
    for steps, limits in ((whole, None), (cut, np.array([2, 9, 1]))):
        world = Line()
        both = dataclasses.replace(plan(3), limits=limits)
        ended = player(world, by_step([1, 0, 2]), always(0), lanes=2, max_steps=5).play(both, kept)
        steps += [world.log, ended.length.tolist()]
    assert whole[1] == [5, 5, 5]
    assert cut[1] == [2, 5, 1]
    for seed in {seed for seed, _ in whole[0]}:
        acted = [action for one, action in cut[0] if one == seed]
        assert acted == [action for one, action in whole[0] if one == seed][: len(acted)]
