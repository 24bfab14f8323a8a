"""The leaves of a decision tree as boxes."""

from __future__ import annotations

import math

from rpd_basics.tree_nodes import LEAF, Nodes

Box = dict[int, tuple[float, float]]
"""By entry: at least the first number, and below the second."""


def leaf_boxes(nodes: Nodes) -> list[Box]:
    """Return for each leaf what holds there, entries in the order in which the tree asks."""
    found: list[Box] = []
    boxes: list[Box] = [{}] * len(nodes.entries)
    for node, (entry, cut) in enumerate(zip(nodes.entries, nodes.cuts, strict=True)):
        here = boxes[node]
        if entry == LEAF:
            found.append(here)
            continue
        low, high = here.get(entry, (-math.inf, math.inf))
        boxes[node + 1] = {**here, entry: (low, min(high, cut))}
        boxes[nodes.others[node]] = {**here, entry: (max(low, cut), high)}
    return found
