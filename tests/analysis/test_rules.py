"""The decisions that matter as a handful of rules, in worlds whose true rule is known."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from rpd_core.analysis.boxes import Grid, chance_bound, groups_of
from rpd_core.analysis.rules import Bound, RuleSet, purity_bar, rules_over, shortest, without_idle


def grid_world(*sizes: int) -> Any:
    """Return every state whose entries are whole numbers below these sizes."""
    return np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), axis=-1).reshape(
        -1, len(sizes)
    )


def summed_up(values: Any, matters: Any, named: bool = True) -> RuleSet:
    return rules_over(values, matters, ~matters, named)


def bounds(found: RuleSet) -> list[set[tuple[int, float | None, float | None]]]:
    return [{(b.entry, b.low, b.high) for b in rule.bounds} for rule in found.rules]


def test_a_box_over_two_entries_is_found_exactly():
    values = grid_world(10, 10, 3) * [1.0, 0.1, 1.0]
    matters = (values[:, 0] >= 5) & (values[:, 1] >= 0.35)
    found = summed_up(values, matters)
    assert bounds(found) == [{(0, 5.0, None), (1, 0.4, None)}]
    (rule,) = found.rules
    assert (rule.matter, rule.states, rule.purity, rule.undecided) == (90, 90, 1.0, 0)
    assert (found.total, found.covered, found.judged, found.reason) == (90, 90, 300, "")


def test_a_box_with_four_sides_is_found_exactly():
    values = grid_world(12, 12, 4)
    x, y = values[:, 0], values[:, 1]
    found = summed_up(values, (x >= 3) & (x <= 6) & (y >= 2) & (y <= 5))
    assert bounds(found) == [{(0, 3.0, 6.0), (1, 2.0, 5.0)}]


def test_a_limit_that_leaves_out_a_state_or_two_is_not_worth_its_words():
    values = grid_world(100, 5)
    found = summed_up(values, (values[:, 0] >= 50) & (values[:, 0] != 99))
    assert bounds(found) == [{(0, 50.0, None)}]
    assert (found.rules[0].matter, found.rules[0].states) == (245, 250)


@pytest.mark.parametrize("seed", [6, 19, 53])
def test_limits_that_noise_has_moved_are_put_right_at_the_end(seed):
    values = grid_world(12, 12, 6)
    x, y, z = values.T
    draws = np.random.default_rng(seed).random(len(values))
    matters = np.where((x >= 6) & (y >= 6) & (z >= 3), draws < 0.75, draws < 0.12)
    assert bounds(summed_up(values, matters)) == [{(0, 6.0, None), (1, 6.0, None), (2, 3.0, None)}]


def test_two_boxes_are_two_rules_and_the_larger_comes_first():
    values = grid_world(12, 12, 4)
    x, y = values[:, 0], values[:, 1]
    found = summed_up(values, (x >= 8) & (y >= 6) | (x <= 1) & (y <= 4))
    assert bounds(found) == [{(0, 8.0, None), (1, 6.0, None)}, {(0, None, 1.0), (1, None, 4.0)}]
    assert [rule.matter for rule in found.rules] == [96, 40]
    assert found.covered == found.total == 136


def test_a_rule_holds_through_noise_and_says_how_pure_it_is():
    values = grid_world(12, 12, 4)
    draws = np.random.default_rng(3).random(len(values))
    inside = (values[:, 0] >= 7) & (values[:, 1] <= 5)
    matters = np.where(inside, draws < 0.8, draws < 0.04)
    found = summed_up(values, matters)
    assert bounds(found) == [{(0, 7.0, None), (1, None, 5.0)}]
    (rule,) = found.rules
    assert rule.matter == int((matters & inside).sum())
    assert rule.states == int(inside.sum()) == rule.matter + rule.undecided


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.6])
def test_pure_noise_has_no_short_rule(rate):
    values = grid_world(10, 10, 5)
    for seed in range(20):
        matters = np.random.default_rng(seed).random(len(values)) < rate
        found = summed_up(values, matters)
        assert found.rules == ()
        total = int(matters.sum())
        assert found.reason == (
            f"no short rule tells the {total} that matter from the other {500 - total}"
        )


def test_noise_in_uneven_worlds_has_no_short_rule_either():
    values = np.round(np.random.default_rng(0).uniform(0, 10, (500, 4)))
    values[:, 1] = np.round(values[:, 1] / 4, 1)
    for seed in range(60):
        draws = np.random.default_rng(seed).random(500)
        assert summed_up(values, draws < (0.1, 0.3, 0.6)[seed % 3]).rules == ()


def test_rules_that_hold_too_little_are_not_given():
    values = grid_world(20, 20, 5)
    draws = np.random.default_rng(0).random(len(values))
    matters = np.where((values[:, 0] == 0) & (values[:, 1] < 6), True, draws < 0.15)
    found = summed_up(values, matters)
    assert found.rules == ()
    assert found.reason == f"the best rules hold only 30 of the {int(matters.sum())} that matter"


def test_the_order_of_the_states_does_not_matter():
    values = grid_world(9, 9, 5)
    matters = (values[:, 0] >= 6) & (values[:, 1] <= 4) | (values[:, 2] == 2)
    shuffled = np.random.default_rng(1).permutation(len(values))
    first = summed_up(values, matters)
    assert first.rules
    assert first == summed_up(values, matters)
    assert first == summed_up(values[shuffled], matters[shuffled])


@pytest.mark.parametrize(
    ("matters", "reason"),
    [
        (np.zeros(100, dtype=bool), "none is known to matter"),
        (np.arange(100) < 4, "too few matter to be summed up by rules: 4"),
        (np.ones(100, dtype=bool), "all 100 matter"),
    ],
)
def test_where_rules_would_say_nothing_there_are_none(matters, reason):
    found = summed_up(grid_world(10, 10), matters)
    assert (found.rules, found.reason) == ((), reason)


def test_states_of_many_entries_or_without_numbers_have_no_rules():
    matters = np.arange(100) < 50
    wide = np.tile(np.arange(100.0)[:, None], (1, 65))
    assert summed_up(wide, matters).reason == "states of 65 entries have no short rules"
    holes = np.where(np.arange(100) == 3, np.nan, np.arange(100.0))[:, None]
    assert summed_up(holes, matters).reason == "the entries of the states are not all numbers"


def test_states_without_names_are_grouped_with_their_neighbours():
    values = grid_world(8, 8, 2)
    x, y, z = values.T
    matters = (x <= 1) & (y <= 2) & (z == 0) | (x >= 6) & (y == 5) & (z == 1)
    matters |= (x == 4) & (y == 0) & (z == 1)
    found = summed_up(values, matters, named=False)
    assert found.kind == "groups"
    assert bounds(found) == [{(0, None, 1.0), (1, None, 2.0), (2, 0.0, 0.0)}]
    assert (found.covered, found.total) == (6, 9)


def test_neighbours_differ_in_one_entry_by_one_step():
    steps = np.array([[0, 1, 2, 4, 1, 2], [0, 0, 0, 0, 1, 2]])
    assert [rows.tolist() for rows in groups_of(steps)] == [[0, 1, 2, 4], [3], [5]]


@pytest.mark.parametrize(
    ("value", "beyond", "short"),
    [
        (5.0, 4.0, 5.0),
        (0.30000000000000004, 0.2, 0.3),
        (0.5003343, 0.4999, 0.5),
        (-0.00008, 0.0002, 0.0),
        (12.37, 12.39, 12.37),
        (12.371, 12.39, 12.38),
        (-3.2, -3.9, -3.2),
        (-3.2, -4.1, -4.0),
        (1e300, 0.0, 1e300),
    ],
)
def test_a_limit_has_as_few_decimals_as_tell_its_neighbours_apart(value, beyond, short):
    assert shortest(value, beyond) == short


def test_a_rule_must_be_clearly_purer_than_all_states():
    assert [purity_bar(share) for share in (0.02, 0.25, 0.5, 0.9)] == [1 / 3, 0.5, 0.75, 0.95]


def test_the_chance_bound_is_above_the_exact_chance():
    assert np.exp(chance_bound(5, 5, 0.3)) == pytest.approx(0.3**5)
    four_or_five = 0.3**5 + 5 * 0.3**4 * 0.7
    assert four_or_five < np.exp(chance_bound(4, 5, 0.3)) < 4 * four_or_five
    assert chance_bound(1, 5, 0.3) == 0.0  # no more than is expected


def test_an_interval_of_one_value_is_that_value():
    found = summed_up(grid_world(20, 3), grid_world(20, 3)[:, 0] == 19)
    assert found.reason == "too few matter to be summed up by rules: 3"
    wide = grid_world(20, 9)
    found = summed_up(wide, wide[:, 0] == 19)
    assert found.rules[0].bounds == (Bound(0, 19.0, 19.0),)


def test_twenty_thousand_states_take_less_than_a_second():
    generator = np.random.default_rng(0)
    values = generator.normal(size=(20_000, 8))
    matters = (values[:, 3] > 0.5) & (values[:, 5] < 0) | (generator.random(20_000) < 0.02)
    start = time.process_time()
    found = summed_up(values, matters)
    assert time.process_time() - start < 1.0
    assert [[b.entry for b in rule.bounds] for rule in found.rules] == [[3, 5]]


def test_a_grid_keeps_the_order_of_values():
    grid = Grid.of(np.array([[0.5, 2], [-1.0, 2], [0.5, 3]]))
    assert grid.steps.tolist() == [[1, 0, 1], [0, 0, 1]]
    assert grid.inside({0: (1, 1), 1: (0, 0)}).tolist() == [True, False, False]


def test_a_tight_box_ends_at_its_states_and_stays_open_where_it_was():
    grid = Grid.of(np.array([[0, 0], [2, 5], [3, 5], [7, 9], [9, 0]]))
    everyone = np.ones(5, dtype=bool)
    assert grid.tight({0: (1, 3), 1: (1, 2)}, everyone) == {0: (1, 3), 1: (1, 2)}
    assert grid.tight({0: (1, 4), 1: (1, 1)}, everyone) == {0: (1, 4), 1: (1, 1)}
    assert grid.tight({0: (0, 3), 1: (1, 1)}, everyone) == {0: (0, 2), 1: (1, 1)}
    assert grid.tight({0: (0, 4), 1: (1, 2)}, everyone) == {1: (1, 2)}


def test_boxes_that_add_nothing_to_the_others_are_dropped():
    values = grid_world(10, 10)
    matters = values[:, 0] >= 5
    grid, left, right, both = Grid.of(values), {0: (5, 6)}, {0: (7, 9)}, {0: (5, 9), 1: (2, 6)}
    assert without_idle(grid, matters, [both, left, right]) == [left, right]
    assert without_idle(grid, matters, [both]) == [both]
