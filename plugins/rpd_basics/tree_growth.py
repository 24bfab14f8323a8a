"""Growing a decision tree that predicts a policy's actions, and choosing how many leaves it has."""

from __future__ import annotations

import heapq
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rpd_basics.batches import Array
from rpd_basics.decimals import shortest_between
from rpd_basics.readable import cells_of
from rpd_basics.tree_nodes import DEEPEST, LEAF, Nodes
from rpd_core.errors import ComponentError

SMALLEST_LEAF = 10
"""Steps of the sample in every leaf, at least."""
LADDER = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
"""Numbers of leaves that are tried."""


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

    @cached_property
    def kinds(self) -> Array:
        """The number of each step's whole action among those that occur."""
        return np.unique(self.columns, axis=0, return_inverse=True)[1].reshape(-1)

    def scores(self, predicted: Array, rows: Array) -> Array:
        """Return how well each of some steps is predicted: share right, or 1 - squared error."""
        if self.continuous:
            return np.asarray(1 - ((predicted - self.columns[rows]) ** 2).mean(axis=1))
        return np.asarray((predicted == self.columns[rows]).mean(axis=1))

    def purities(self, leaf: Array, count: int) -> Array:
        """Return for each leaf the share of its commonest action, or of variance explained."""
        sizes = np.maximum(np.bincount(leaf, minlength=count), 1)
        if self.continuous:
            means = _means(self.columns, leaf, sizes)
            spread = _means((self.columns - means[leaf]) ** 2, leaf, sizes)
            return np.asarray(np.clip(1 - spread.mean(axis=1), 0, 1))
        table = np.zeros((count, int(self.kinds.max()) + 1))
        np.add.at(table, (leaf, self.kinds), 1)
        return np.asarray(table.max(axis=1) / sizes)


def _means(columns: Array, leaf: Array, sizes: Array) -> Array:
    sums = [np.bincount(leaf, column, len(sizes)) for column in columns.T]
    return np.asarray(np.stack(sums, axis=1) / sizes[:, None])


def ranks_of(rows: Array) -> Array:
    """Return each number's rank in its column: a tree needs no more, and ranks are exact.

    scikit-learn works with 32-bit floats, in which large or close numbers are one. Numbers that a
    reader would not tell apart have one rank, so that no cut falls between them.
    """
    columns = [np.unique(cells_of(column), return_inverse=True)[1] for column in rows.T]
    return np.stack(columns, axis=1).astype(np.float32)


@dataclass(frozen=True)
class Grown:
    """A large tree over ranks, of which the first splits alone are a smaller one."""

    entries: Array
    cuts: Array
    """Ranks up to this go below."""
    below: Array
    others: Array
    turns: Array
    """When each node was split, from 0; leaves never."""
    predicted: Array
    """What each node predicts, one column per part of an action."""

    @property
    def leaves(self) -> int:
        return int((self.entries == LEAF).sum())

    def splits(self, leaves: int) -> Array:
        """Return which nodes are split in the tree of some leaves."""
        return np.asarray(self.turns < leaves - 1)

    def nodes_of(self, ranks: Array, leaves: int) -> Array:
        """Return where each row ends in the tree of some leaves."""
        each, node = np.arange(len(ranks)), np.zeros(len(ranks), dtype=np.int64)
        splits = self.splits(leaves)
        while (moving := splits[node]).any():
            below = ranks[each, self.entries[node]] <= self.cuts[node]
            node = np.where(moving, np.where(below, self.below[node], self.others[node]), node)
        return node


def grow(ranks: Array, actions: Actions, rows: Array, leaves: int) -> Grown:
    """Grow a tree on some rows, always splitting where that makes actions the most alike."""
    if leaves < 2 or len(rows) < 2 * SMALLEST_LEAF:
        return _stump(actions, rows)
    learner = _learner(actions.continuous)(
        max_leaf_nodes=leaves, max_depth=DEEPEST, min_samples_leaf=SMALLEST_LEAF, random_state=0
    )
    with warnings.catch_warnings(action="ignore"):  # it warns of many actions in few steps
        learner.fit(ranks[rows], actions.columns[rows])
    tree = learner.tree_
    entries = np.where(tree.children_left < 0, LEAF, tree.feature)
    return Grown(
        entries, tree.threshold, tree.children_left, tree.children_right, _turns(tree),
        _predictions(learner, actions),
    )  # fmt: skip


def _learner(continuous: bool) -> Any:
    try:
        # half a second to import, and only fitting needs it
        from sklearn import tree
    except ImportError as error:
        raise ComponentError(
            "tree needs scikit-learn to learn a tree: pip install scikit-learn"
        ) from error
    return tree.DecisionTreeRegressor if continuous else tree.DecisionTreeClassifier


def _stump(actions: Actions, rows: Array) -> Grown:
    """Return a tree that asks nothing."""
    columns = actions.columns[rows]
    if actions.continuous:
        predicted = columns.mean(axis=0)
    else:
        predicted = np.array([np.bincount(column).argmax() for column in columns.T])
    nothing = np.zeros(1, dtype=np.int64)
    never = np.array([np.inf])
    return Grown(nothing + LEAF, np.zeros(1), nothing, nothing, never, predicted[None])


def _turns(tree: Any) -> Array:
    """Return when each node is split if the split that gains the most always comes first."""
    weight = tree.weighted_n_node_samples * tree.impurity
    turns = np.full(tree.node_count, np.inf)
    waiting: list[tuple[float, int]] = []

    def wait(node: int) -> None:
        below, other = int(tree.children_left[node]), int(tree.children_right[node])
        if below >= 0:
            heapq.heappush(waiting, (float(weight[below] + weight[other] - weight[node]), node))

    wait(0)
    for turn in range(tree.node_count):
        if not waiting:
            break
        _, node = heapq.heappop(waiting)
        turns[node] = turn
        wait(int(tree.children_left[node]))
        wait(int(tree.children_right[node]))
    return turns


def _predictions(learner: Any, actions: Actions) -> Array:
    values = learner.tree_.value
    if actions.continuous:
        return np.asarray(values[:, :, 0])
    known = learner.classes_ if values.shape[1] > 1 else [learner.classes_]
    columns = [classes[values[:, part].argmax(axis=1)] for part, classes in enumerate(known)]
    return np.stack(columns, axis=1)


def stored_nodes(grown: Grown, leaves: int, rows: Array, ranks: Array) -> Nodes:
    """Return the tree of some leaves over numbers, cut at short ones that part the same steps."""
    entries: list[int] = []
    cuts: list[float] = []
    others: list[int] = []
    splits = grown.splits(leaves)
    todo = [(0, LEAF, np.arange(len(rows)))]
    while todo:
        node, parent, here = todo.pop()
        if parent != LEAF:
            others[parent] = len(entries)
        others.append(0)
        if not splits[node]:
            entries.append(LEAF)
            cuts.append(0.0)
            continue
        entry = int(grown.entries[node])
        below = ranks[here, entry] <= grown.cuts[node]
        column = rows[here, entry]
        cuts.append(shortest_between(float(column[below].max()), float(column[~below].min())))
        todo.append((int(grown.others[node]), len(entries), here[~below]))
        todo.append((int(grown.below[node]), LEAF, here[below]))
        entries.append(entry)
    return Nodes(tuple(entries), tuple(cuts), tuple(others))
