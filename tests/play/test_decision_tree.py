"""Decision trees: grown where that pays most, nested, walked in batches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from rpd_core.play.decision_tree import (
    DecisionTree,
    PlaysTree,
    actions_in,
    flat_rows,
    grow_tree,
)
from rpd_core.plugin.protocols import Facts, Moment

ROWS = np.random.default_rng(0).uniform(size=(400, 3))
DISCRETE = Facts(spaces.Box(0, 1, (3,)), spaces.Discrete(3), 4)


def acts(tree: DecisionTree, leaves: int, rows: Any, facts: Facts = DISCRETE) -> list[Any]:
    """Return what a tree does for some observations."""
    act = PlaysTree(tree, leaves).open(facts)
    seen: Any = Moment(rows, {}, rows, rows, rows, rows, rows)
    found: list[Any] = np.asarray(act(seen)).tolist()
    return found


def test_a_tree_asks_first_what_tells_most_and_its_first_splits_are_a_smaller_tree() -> None:
    actions = np.where(ROWS[:, 1] < 0.5, 0, np.where(ROWS[:, 2] < 0.8, 1, 2))
    tree = grow_tree(ROWS, actions, 256)
    assert tree.leaves == 3, "nothing is gained by more"
    assert tree.entries[:1] == (1,)
    assert tree.cuts[0] == pytest.approx(0.5, abs=0.01)
    assert acts(tree, 3, ROWS) == actions.tolist()
    corners = np.array([[0, 0.1, 0.9], [0, 0.9, 0.1], [0, 0.9, 0.9]])
    assert acts(tree, 2, corners) == [0, 1, 1]
    assert acts(tree, 1, corners) == [0, 0, 0]


def test_real_actions_are_predicted_by_their_mean_in_each_leaf() -> None:
    facts = replace(DISCRETE, action_space=spaces.Box(-1, 1, (2,), np.float32))
    actions = np.where(ROWS[:, :1] < 0.5, [[-0.5, 0.25]], [[0.75, 0.25]]).astype(np.float32)
    tree = grow_tree(ROWS, actions, 8)
    assert tree.leaves == 2
    assert acts(tree, 2, ROWS, facts) == actions.tolist()
    mean = acts(tree, 1, ROWS[:1], facts)[0]
    assert mean == pytest.approx(actions.mean(axis=0), abs=1e-6)


def test_entries_without_numbers_are_below_nothing_and_learned_from() -> None:
    rows = ROWS.copy()
    rows[::7, 1] = np.nan
    actions = np.where(rows[:, 1] < 0.5, 0, 1)
    tree = grow_tree(rows, actions, 4)
    assert tree.leaves == 2
    assert acts(tree, 2, rows) == actions.tolist()


def test_leaves_hold_a_few_steps_at_least() -> None:
    actions = np.zeros(400, dtype=np.int64)
    actions[ROWS[:, 0].argsort()[:4]] = 1
    tree = grow_tree(ROWS, actions, 2)
    assert sum(acts(tree, 2, ROWS)) in (0, 5)


def test_parts_of_a_dict_are_joined_in_the_order_of_their_names() -> None:
    batch = {"b": np.array([[1, 2]]), "a": np.array([3]), "c": np.ones((1, 2, 2))}
    assert flat_rows(batch).tolist() == [[3, 1, 2, 1, 1, 1, 1]]
    assert flat_rows(np.zeros((5, 2, 3))).shape == (5, 6)


@pytest.mark.parametrize(
    ("space", "numbers", "wanted"),
    [
        (spaces.Discrete(3), [[1.9]], [2]),
        (spaces.MultiDiscrete([3, 3]), [[0.2, 1.7]], [[0, 2]]),
        (spaces.Box(-1, 1, (2,), np.float32), [[0.25, 1.5]], [[0.25, 1.0]]),
    ],
)
def test_numbers_become_actions_of_the_space(space: Any, numbers: Any, wanted: Any) -> None:
    actions = actions_in(space, np.array(numbers))
    assert actions.tolist() == wanted
    assert actions.dtype == space.dtype


@pytest.mark.parametrize(
    "changed",
    [{"below": (0, 0, 0)}, {"below": (2, 0, 0)}, {"cuts": (0.5,)}, {"entries": (-1, 0, 0)}],
)
def test_what_is_no_tree_is_refused(changed: dict[str, Any]) -> None:
    tree = grow_tree(ROWS, (ROWS[:, 0] < 0.5).astype(np.int64), 2)
    with pytest.raises(ValueError, match="not a tree"):
        replace(tree, **changed)
