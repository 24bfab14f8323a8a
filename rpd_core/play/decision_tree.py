"""Plain decision trees: grown from steps with NumPy alone, walked in batches, played as policies.

A tree is grown best split first, so its first splits alone are a smaller tree. scikit-learn would
take a tenth of a short run to be imported.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from rpd_core.plugin.protocols import Choice, DefaultActor, Facts, Policy
from rpd_core.plugin.protocols.arrays import Array, Batch, FloatArray, IntArray
from rpd_core.plugin.wording import order_of_parts

_BINS = 1024  # numbers of an entry that a cut can lie between, at most
_SMALLEST = 5  # steps in every leaf, at least
_NEVER = 2**31  # turn of a node that is not split


def flat_rows(batch: Batch) -> Array:
    """Return a batch as one row of numbers per lane, parts of a dict in the order of names."""
    if not isinstance(batch, dict):
        return np.asarray(batch).reshape(len(batch), -1)
    parts = [np.asarray(batch[name]) for name in sorted(batch, key=order_of_parts)]
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)


def actions_in(space: Any, numbers: FloatArray) -> Array:
    """Return rows of numbers as actions of a space: rounded where it has whole ones, and inside."""
    rows = numbers.reshape(len(numbers), *space.shape)
    if np.issubdtype(space.dtype, np.integer):
        rows = np.rint(rows)
    rows = rows.astype(space.dtype)
    return np.clip(rows, space.low, space.high) if isinstance(space, Box) else rows


@dataclass(frozen=True)
class DecisionTree:
    """A tree that says what to do; its nodes stand in the order in which they were made."""

    entries: tuple[int, ...]
    """Entry of an observation that each node asks about."""
    cuts: tuple[float, ...]
    """Entries below the cut go on to node `below`, all others to the one after it."""
    below: tuple[int, ...]
    """0 in leaves, as the entry and the cut are."""
    turns: tuple[int, ...]
    """When each node was split, from 0; leaves never."""
    actions: tuple[tuple[float, ...], ...]
    """What each node does where it is a leaf."""

    def __post_init__(self) -> None:
        columns = (self.entries, self.cuts, self.below, self.turns, self.actions)
        nodes = range(len(self.entries))
        rows = zip(nodes, self.entries, self.below, self.turns, strict=False)
        if {len(column) for column in columns} != {len(nodes)} or not all(
            turn == _NEVER or (node < below < len(nodes) - 1 and entry >= 0)
            for node, entry, below, turn in rows
        ):
            raise ValueError("what was learned is not a tree")

    @property
    def leaves(self) -> int:
        return (len(self.entries) + 1) // 2


@dataclass(frozen=True)
class PlaysTree:
    """Does what a decision tree says: as a policy, or as a default action."""

    tree: DecisionTree
    leaves: int
    """Of the tree that its first splits are."""

    def load(self, facts: Facts) -> Policy:
        act = self._actor(facts)
        return lambda seen: Choice(act(seen.observations))

    def open(self, facts: Facts) -> DefaultActor:
        act = self._actor(facts)
        return lambda moment: act(moment.observations)

    def _actor(self, facts: Facts) -> Callable[[Batch], Array]:
        tree = self.tree
        entries, below = np.array(tree.entries), np.array(tree.below)
        cuts, split = np.array(tree.cuts), np.array(tree.turns) < self.leaves - 1
        actions = actions_in(facts.action_space, np.array(tree.actions))

        def act(observations: Batch) -> Array:
            rows = flat_rows(observations)
            each, node = np.arange(len(rows)), np.zeros(len(rows), dtype=np.int64)
            while (moving := split[node]).any():
                other = ~(rows[each, entries[node]] < cuts[node])  # NaN is below nothing
                node = np.where(moving, below[node] + other, node)
            return np.asarray(actions[node])

        return act


# --------------------------------------------------------------------------------- growing


def grow_tree(rows: Array, actions: Array, leaves: int) -> DecisionTree:
    """Return a tree that predicts actions from rows of numbers, grown where that pays most."""
    # Whole actions are told apart, and real ones are predicted by their mean. The split that leaves
    # the least variance comes first; for whole actions that is what the Gini index says.
    growth = _Growth(rows, actions)
    growth.grow(leaves)
    return growth.tree()


class _Growth:
    """A tree while it grows."""

    def __init__(self, rows: Array, actions: Array) -> None:
        done = actions.reshape(len(actions), -1)
        self.whole = done.dtype.kind != "f"
        if self.whole:
            self.units, which = np.unique(done, axis=0, return_inverse=True)
            self.wanted = np.eye(len(self.units))[which.reshape(-1)]
        else:
            spread = done.std(axis=0, dtype=np.float64)
            self.units = np.where(spread > 0, spread, 1.0)
            self.wanted = done / self.units
        """What is to be alike in a leaf: which of the whole actions it is, or a real one."""
        self.edges = [_edges(column) for column in rows.T]
        columns = zip(self.edges, rows.T, strict=True)
        bins = [np.searchsorted(edges, column, side="right") for edges, column in columns]
        self.bins = np.stack(bins, axis=1)
        self.members: list[IntArray] = [np.arange(len(rows))]  # steps in each node
        self.nodes = [(0, 0.0, 0, _NEVER)]
        self.waiting: list[tuple[float, int, int, int]] = []
        """What the best split of each leaf gains, negative; the node, the entry and the edge."""

    def grow(self, leaves: int) -> None:
        """Split until there are so many leaves, or nothing is gained."""
        self._wait(0)
        for turn in range(leaves - 1):
            if not self.waiting:
                return
            _, node, entry, edge = heapq.heappop(self.waiting)
            below, here = len(self.nodes), self.members[node]
            self.nodes[node] = entry, float(self.edges[entry][edge]), below, turn
            side = self.bins[here, entry] <= edge
            self.members += [here[side], here[~side]]
            self.nodes += [(0, 0.0, 0, _NEVER)] * 2
            self._wait(below)
            self._wait(below + 1)

    def _wait(self, node: int) -> None:
        here = self.members[node]
        gain, entry, edge = _best_split(self.bins[here], self.wanted[here])
        if gain > 1e-9 * len(here):  # less is rounding
            heapq.heappush(self.waiting, (-gain, node, entry, edge))

    def tree(self) -> DecisionTree:
        entries, cuts, below, turns = zip(*self.nodes, strict=True)
        usual = np.stack([self.wanted[here].mean(axis=0) for here in self.members])
        actions = self.units[usual.argmax(axis=1)] if self.whole else usual * self.units
        does = tuple(tuple(map(float, action)) for action in actions.tolist())
        return DecisionTree(entries, cuts, below, turns, does)


def _edges(column: Array) -> FloatArray:
    ordered = np.sort(column[np.isfinite(column)].astype(np.float64))
    known = np.unique(ordered)
    if len(known) > _BINS:
        known = np.unique(ordered[np.linspace(0, len(ordered) - 1, _BINS).astype(np.int64)])
    return np.asarray((known[:-1] + known[1:]) / 2)


def _best_split(bins: IntArray, wanted: FloatArray) -> tuple[float, int, int]:
    """Return which split leaves the least variance: what it gains, its entry and its edge."""
    count, entries = bins.shape
    width = int(bins.max(initial=0)) + 1
    if count < 2 * _SMALLEST or width < 2:
        return 0.0, 0, 0
    cells = (bins + np.arange(entries) * width).reshape(-1)

    def below(weights: FloatArray | None) -> FloatArray:
        sums = np.bincount(cells, weights, entries * width).reshape(entries, width)
        return np.asarray(np.cumsum(sums, axis=1)[:, :-1])

    left = below(None)
    right = count - left
    gains = np.zeros(left.shape)
    for column in wanted.T:
        total, part = column.sum(), below(np.repeat(column, entries))
        gains += part**2 / np.maximum(left, 1) + (total - part) ** 2 / np.maximum(right, 1)
        gains -= total**2 / count
    gains[(left < _SMALLEST) | (right < _SMALLEST)] = 0.0
    entry, edge = divmod(int(gains.argmax()), width - 1)
    return float(gains[entry, edge]), entry, edge
