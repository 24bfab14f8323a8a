"""Growing a decision tree that predicts a policy's actions."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from rpd_basics.batches import Array
from rpd_basics.decimals import shortest_between
from rpd_basics.readable import cells_of
from rpd_basics.tree_nodes import DEEPEST, Leaf, Split, Tree

SMALLEST_LEAF = 10
"""Steps of the sample in every leaf, at least."""
_LEAST = 1e-6
"""What a split must gain: in float actions, rounding alone would be split otherwise."""


@dataclass(frozen=True)
class Actions:
    """What a tree is to predict, one row per step and one column per part of an action."""

    columns: Array
    """Numbers of classes, or continuous values in units of their deviation."""
    continuous: bool

    @classmethod
    def of(cls, actions: Array) -> Actions:
        """Take discrete actions for classes, and floats for quantities."""
        rows = actions.reshape(len(actions), -1)
        if rows.dtype.kind != "f":
            columns = [np.unique(column, return_inverse=True)[1] for column in rows.T]
            return cls(np.stack(columns, axis=1), continuous=False)
        wide = rows.astype(np.float64)
        spread = wide.std(axis=0)
        varied = spread > 1e-9 * np.abs(wide).max(axis=0)  # a constant deviates by rounding alone
        if not varied.any():
            return cls(np.zeros((len(rows), 1), dtype=np.int64), continuous=False)
        return cls((wide - wide.mean(axis=0))[:, varied] / spread[varied], continuous=True)


def ranks_of(rows: Array) -> Array:
    """Return each number's rank in its column: a tree needs no more, and ranks are exact.

    scikit-learn works with 32-bit floats, in which large or close numbers are one. Numbers that a
    reader would not tell apart have one rank, so that no cut falls between them.
    """
    columns = [np.unique(cells_of(column), return_inverse=True)[1] for column in rows.T]
    return np.stack(columns, axis=1).astype(np.float32)


def grow(rows: Array, actions: Actions, leaves: int) -> Tree:
    """Grow a tree of some leaves, always splitting where that makes actions the most alike."""
    ranks = ranks_of(rows)
    if leaves < 2 or len(rows) < 2 * SMALLEST_LEAF:
        return Leaf()
    learner = _learner(actions.continuous)(
        max_leaf_nodes=leaves, max_depth=DEEPEST // 2, min_samples_leaf=SMALLEST_LEAF,
        min_impurity_decrease=_LEAST, random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings(action="ignore"):  # it warns of many actions in few steps
        learner.fit(ranks, actions.columns)
    return _readable(learner.tree_, 0, rows, ranks)


def _learner(continuous: bool) -> Any:
    # half a second to import, and only fitting needs it
    from sklearn import tree

    return tree.DecisionTreeRegressor if continuous else tree.DecisionTreeClassifier


def _readable(grown: Any, node: int, rows: Array, ranks: Array) -> Tree:
    """Return a tree over ranks as one over numbers, cut at short ones."""
    below, other = int(grown.children_left[node]), int(grown.children_right[node])
    if below < 0:
        return Leaf()
    entry = int(grown.feature[node])
    lower = ranks[:, entry] <= grown.threshold[node]
    cut = cut_near(rows[:, entry], lower)
    return Split(
        entry,
        cut,
        _readable(grown, below, rows[lower], ranks[lower]),
        _readable(grown, other, rows[~lower], ranks[~lower]),
    )


def cut_near(column: Array, lower: Array, near: float = 0.0) -> float:
    """Return the shortest number that parts an entry as some steps are parted, or nearly so.

    It may cross the share `near` of the steps on the smaller side.
    """
    below, above = np.sort(column[lower]), np.sort(column[~lower])
    room = int(near * min(len(below), len(above)))
    low, high = float(below[-1 - room]), float(above[room])
    return shortest_between(low, high) if low < high else high
