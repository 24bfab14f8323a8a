"""Decision trees as rows of numbers: checked, and walked with NumPy alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rpd_basics.batches import Array
from rpd_core.errors import SpecError

MOST_LEAVES = 10_000
"""Leaves that a tree may have; also what 16-bit numbers of leaves have room for."""
DEEPEST = 64
"""Questions on the way to a leaf, at most; every step of an episode asks as many."""
LEAF = -1
"""Stands in `entries` where there is no question."""

Box = dict[int, tuple[float, float]]
"""What holds in a leaf, by entry: at least the first number, and below the second."""


@dataclass(frozen=True)
class Nodes:
    """A tree in depth-first order: node 0 asks first, and each "below" goes to the next node.

    So ways lead forward only, and no list of numbers can send anyone round in circles.
    """

    entries: tuple[int, ...]
    """Entry that each node asks about; -1: a leaf."""
    cuts: tuple[float, ...]
    """An entry below its cut goes to the next node; 0 in leaves."""
    others: tuple[int, ...]
    """Node to go to from each node if the entry is not below its cut; 0 in leaves."""

    def check(self, width: int) -> None:
        """Refuse what is not a tree over vectors of some width, whoever wrote it."""
        fault = _fault(self, width)
        if fault:
            raise SpecError(f"rules: what was learned is not a tree: {fault}")

    def leaves(self) -> Array:
        """Return the number of the leaf that each node is, from 0; -1 where it is none."""
        ends = np.array(self.entries) == LEAF
        return np.where(ends, np.cumsum(ends) - 1, -1).astype(np.int16)

    def boxes(self) -> list[Box]:
        """Return for each leaf what holds there, entries in the order in which the tree asks."""
        found: list[Box] = []
        boxes: list[Box] = [{}] * len(self.entries)
        for node, (entry, cut) in enumerate(zip(self.entries, self.cuts, strict=True)):
            here = boxes[node]
            if entry == LEAF:
                found.append(here)
                continue
            low, high = here.get(entry, (-math.inf, math.inf))
            boxes[node + 1] = {**here, entry: (low, min(high, cut))}
            boxes[self.others[node]] = {**here, entry: (max(low, cut), high)}
        return found


@dataclass(frozen=True)
class Leaf:
    """Where a branch ends: a state."""

    kept: bool = True
    """Whether the policy decides there."""
    action: tuple[Any, ...] = ()
    """What it mostly does there, as far as that tells leaves apart."""


@dataclass(frozen=True)
class Split:
    """A question, and what follows each answer."""

    entry: int
    cut: float
    below: Tree
    other: Tree


Tree = Leaf | Split
"""A tree while it is grown; leaves are numbered from 0 in depth-first order, as in `Nodes`."""


def nodes_of(tree: Tree) -> Nodes:
    """Return a grown tree as it is stored."""
    if isinstance(tree, Leaf):
        return Nodes((LEAF,), (0.0,), (0,))
    below, other = nodes_of(tree.below), nodes_of(tree.other)
    first = 1 + len(below.entries)

    def moved(nodes: Nodes, by: int) -> tuple[int, ...]:
        pairs = zip(nodes.entries, nodes.others, strict=True)
        return tuple(to + by if entry != LEAF else 0 for entry, to in pairs)

    return Nodes(
        (tree.entry, *below.entries, *other.entries),
        (tree.cut, *below.cuts, *other.cuts),
        (first, *moved(below, 1), *moved(other, first)),
    )


def tree_of(nodes: Nodes, node: int = 0) -> Tree:
    """Return a stored tree as it is grown."""
    if nodes.entries[node] == LEAF:
        return Leaf()
    below, other = tree_of(nodes, node + 1), tree_of(nodes, nodes.others[node])
    return Split(nodes.entries[node], nodes.cuts[node], below, other)


def leaves_of(tree: Tree) -> list[Leaf]:
    """Return the leaves by their numbers."""
    if isinstance(tree, Leaf):
        return [tree]
    return leaves_of(tree.below) + leaves_of(tree.other)


def with_leaves(tree: Tree, leaves: Iterator[Tree]) -> Tree:
    """Return a tree with something in place of each leaf, in their order."""
    if isinstance(tree, Leaf):
        return next(leaves)
    below = with_leaves(tree.below, leaves)
    return replace(tree, below=below, other=with_leaves(tree.other, leaves))


def simplified(tree: Tree) -> Tree:
    """Return a tree without splits that tell nothing apart."""
    if isinstance(tree, Leaf):
        return tree
    below, other = simplified(tree.below), simplified(tree.other)
    if _part(other, tree.entry, tree.cut, lower=True) == below:
        return other
    if _part(below, tree.entry, tree.cut, lower=False) == other:
        return below
    return replace(tree, below=below, other=other)


def _part(tree: Tree, entry: int, cut: float, lower: bool) -> Tree:
    """Return what is left of a tree below a cut, or from it on."""
    if isinstance(tree, Leaf):
        return tree
    if tree.entry == entry and lower and tree.cut >= cut:
        return _part(tree.below, entry, cut, lower)
    if tree.entry == entry and not lower and tree.cut <= cut:
        return _part(tree.other, entry, cut, lower)
    below, other = (_part(one, entry, cut, lower) for one in (tree.below, tree.other))
    return below if below == other else replace(tree, below=below, other=other)


class Walk:
    """A tree at work: the leaf of every row, level by level."""

    def __init__(self, nodes: Nodes) -> None:
        numbers = np.arange(len(nodes.entries))
        asks = np.array(nodes.entries) != LEAF
        self.entries = np.where(asks, nodes.entries, 0)
        self.cuts = np.array(nodes.cuts, dtype=np.float64)
        # leaves lead to themselves, so that all rows can take equally many steps
        self.below = np.where(asks, numbers + 1, numbers)
        self.others = np.where(asks, nodes.others, numbers)
        self.depth = max(_depths(nodes))
        self.leaves = nodes.leaves()

    def __call__(self, rows: Array) -> Array:
        """Return the number of the leaf of each row; what is not a number is not below anything."""
        each, node = np.arange(len(rows)), np.zeros(len(rows), dtype=np.int64)
        for _ in range(self.depth):
            below = rows[each, self.entries[node]].astype(np.float64) < self.cuts[node]
            node = np.where(below, self.below[node], self.others[node])
        return np.asarray(self.leaves[node])


def _depths(nodes: Nodes) -> list[int]:
    """Return how many questions come before each node."""
    depths = [0] * len(nodes.entries)
    for node, entry in enumerate(nodes.entries):
        if entry != LEAF:
            depths[node + 1] = depths[nodes.others[node]] = depths[node] + 1
    return depths


def _fault(nodes: Nodes, width: int) -> str:
    """Return what is wrong with numbers that a stranger may have written; nothing if they fit."""
    columns: tuple[Any, ...] = (nodes.entries, nodes.cuts, nodes.others)
    if any(type(column) is not tuple for column in columns):
        return "its nodes are not lists"
    if len({len(column) for column in columns}) != 1:
        return f"its lists have {', '.join(str(len(column)) for column in columns)} nodes"
    if not 1 <= len(nodes.entries) < 2 * MOST_LEAVES:
        return f"it has {len(nodes.entries)} nodes"
    faults = _faults_of_nodes(nodes, width)
    return next(faults, "") or _fault_of_ways(nodes)


def _faults_of_nodes(nodes: Nodes, width: int) -> Iterator[str]:
    count = len(nodes.entries)
    rows = zip(nodes.entries, nodes.cuts, nodes.others, strict=True)
    for node, (entry, cut, other) in enumerate(rows):
        if type(entry) is not int or not LEAF <= entry < width:
            yield f"node {node} asks about entry {entry!r:.40} of {width}"
        elif type(cut) is not float or not math.isfinite(cut):
            yield f"node {node} has the cut {cut!r:.40}"
        elif type(other) is not int or (entry != LEAF and not node + 1 < other < count):
            yield f"node {node} leads to node {other!r:.40}"


def _fault_of_ways(nodes: Nodes) -> str:
    """Check that depth-first order holds: the other way begins where the first has ended."""
    expected: list[int] = []
    for node, entry in enumerate(nodes.entries):
        if entry != LEAF:
            expected.append(nodes.others[node])
        elif node + 1 != (expected.pop() if expected else len(nodes.entries)):
            return f"no way leads to node {node + 1}"
    deepest = max(_depths(nodes))
    return f"it asks {deepest} questions in a row" if deepest > DEEPEST else ""
