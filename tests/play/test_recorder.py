"""Suites: what is recorded of mutant episodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from chunks import EPISODES, chunk
from lines import Line, always, by_step, pattern, plan, player

from rpd_core.chance import canonical, state_keys
from rpd_core.play.deciders import Coin
from rpd_core.play.recorder import Recorder, entropy, grouped, play_suite, value_gap
from rpd_core.plugin.protocols import Choice, Suite


@pytest.fixture(scope="module")
def whole() -> Suite:
    return chunk(0, EPISODES - 1)


def recorded() -> Suite:
    """One episode: right, right, left, left, stay, right; fates by step; default stays."""
    line = Line()
    opened = player(line, by_step([1, 1, 2, 2, 0, 1]), always(0), max_steps=6)
    recorder, episodes = Recorder(line.space), plan(1, first=9)
    keep = pattern("KKKDDK")
    played = opened.play(episodes, keep, recorder)
    return recorder.suite(played, episodes, keep)


def test_visits_hold_what_happened() -> None:
    suite = recorded()
    # Cells: 0 -1-> 1 -1-> 2 -2-> 1, mutated 1, mutated 1, kept 1 -1-> 2.
    keys = state_keys(canonical(np.array([[0.0], [1.0], [2.0]])))
    rows = [suite.visits.key.tolist().index(key) for key in keys.tolist()]
    visits = suite.visits
    assert visits.episode.tolist() == [9, 9, 9]
    assert visits.first_step[rows].tolist() == [0, 1, 2]
    assert visits.count[rows].tolist() == [1, 4, 1]
    assert visits.return_before[rows].tolist() == [0.0, 1.0, 2.0]
    # The default action is 0; the policy chose 1 in cell 0, 1, 2, 0, 1 in cell 1, 2 in cell 2.
    assert visits.differed[rows].tolist() == [1, 3, 1]
    assert visits.differed_first[rows].tolist() == [True, True, True]
    assert visits.overrides[rows].tolist() == [1, 3, 1], "whoever decided"
    assert visits.mutation_rate.tolist() == [0.0] * 3, "where no coin is thrown, 0 or 1"
    assert visits.mutated.tolist() == [False] * 3, "the fate at the first visit counts"


def test_states_hold_counts_and_choices() -> None:
    suite = recorded()
    order = np.argsort(suite.states.value[:, 0])
    states = suite.states
    assert states.value[order, 0].tolist() == [0.0, 1.0, 2.0]
    assert states.visits[order].tolist() == [1, 4, 1]
    assert states.choices[order].tolist() == [[0, 1, 0], [1, 2, 1], [0, 0, 1]]
    assert states.default_choices[order].tolist() == [[1, 0, 0], [4, 0, 0], [1, 0, 0]]
    assert states.action_sum.shape == (3, 0), "discrete actions are counted, not added up"
    assert states.first_episode.tolist() == [9, 9, 9]
    assert states.first_step[order].tolist() == [0, 1, 2]
    assert np.isnan(states.value_gap).all()
    assert np.isnan(states.entropy).all()


def test_tables_are_ordered(whole: Suite) -> None:
    assert (np.diff(whole.states.key.astype(object)) > 0).all()
    pairs = list(zip(whole.visits.episode.tolist(), whole.visits.key.tolist(), strict=True))
    assert pairs == sorted(set(pairs))


def test_the_smallest_episode_and_step_of_a_state_are_kept(whole: Suite) -> None:
    for row, key in enumerate(whole.states.key):
        mine = whole.visits.key == key
        first = min(zip(whole.visits.episode[mine], whole.visits.first_step[mine], strict=True))
        assert (whole.states.first_episode[row], whole.states.first_step[row]) == first
        assert whole.states.visits[row] == whole.visits.count[mine].sum()
        assert whole.states.choices[row].sum() == whole.states.visits[row]


def test_value_gap_and_entropy_by_hand() -> None:
    gaps = value_gap(np.array([[1.0, 4.0, 2.0], [-np.inf, 1.0, 3.0], [np.nan, 2.0, 2.0]]))
    assert gaps.tolist() == [3.0, 2.0, 0.0]
    assert value_gap(np.full((1, 2), -np.inf)).tolist() == [0.0]
    found = entropy(np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.25, 0.25, 0.5]]))
    assert found == pytest.approx([np.log(2), 0.0, 1.5 * np.log(2)], abs=1e-15)


def test_sums_of_value_gap_and_entropy_follow_the_policy() -> None:
    line = Line()

    def decide(seen: Any) -> Choice:
        return Choice(
            np.zeros(1, dtype=int), np.array([[1.0, 3.5, 2.0]]), np.array([[0.5, 0.5, 0.0]])
        )

    suite = play_suite(player(line, decide, always(0), max_steps=4), plan(1), Coin(plan(1), 0.3))
    assert suite.states.value_gap.tolist() == [10.0]
    assert suite.states.entropy == pytest.approx([4 * np.log(2)], abs=1e-5)


@pytest.mark.parametrize("largest", [5, 2**40, 2**62])
def test_rows_of_a_group_come_together_in_their_order(largest: int) -> None:
    group = np.array([3, 1, 3, largest, 1, 3])
    order, ordered = grouped(group)
    assert order.tolist() == [1, 4, 0, 2, 5, 3]
    assert ordered.tolist() == [1, 1, 3, 3, 3, largest]
