"""`tree`: the leaves of a decision tree that predicts what the policy does are the states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from rpd_basics.batches import Array, Batch, as_vectors, check_finite, rows_of, width
from rpd_basics.entry_names import check_names, names_in
from rpd_basics.tree_boxes import leaf_boxes
from rpd_basics.tree_choice import Judge, choose_leaves
from rpd_basics.tree_growth import LADDER, Actions, grow, ranks_of, stored_nodes
from rpd_basics.tree_nodes import MOST_LEAVES, Nodes, Walk, rules
from rpd_core.errors import FitError, SpecError
from rpd_core.plugin.protocols import Bound, FitSample, learned

_ROWS = 100_000
"""Steps that a tree is grown on at most."""
_NUMBERS = 2**24
"""Numbers that a tree is grown on at most: fewer steps of long vectors."""


@dataclass(frozen=True)
class Tree:
    """Rules by which the policy can be told to decide, for example `tree` or `tree:leaves=32`.

    A decision tree is grown that predicts the policy's action from the entries of a vector; each
    of its leaves is a state. It learns from episodes of the policy and of mutants, so that leaves
    reach where mutants go. Without `leaves` it has as many as predict fresh episodes better than
    fewer do, and no more than leave 95 % of mutants' steps in leaves of which the planned suite
    has at least 10 episodes in each arm.
    """

    leaves: int | None = None
    """Most leaves that it may have; none: chosen for the policy and the suite."""
    length: int = learned(0)
    """Numbers in a vector; learned."""
    names: tuple[str, ...] = learned(())
    """What the entries are called, if they have names; learned."""
    entries: tuple[int, ...] = learned(())
    """Entry that each node asks about, depth first; -1: a leaf; learned."""
    cuts: tuple[float, ...] = learned(())
    """Entries below this go to the next node; learned."""
    others: tuple[int, ...] = learned(())
    """Node for all others; learned."""
    purities: tuple[float, ...] = learned(())
    """Share of each leaf's steps with its commonest action, or of variance explained; learned."""
    predicted: float = learned(0.0)
    """Share of steps of held-out episodes predicted right, or of variance explained; learned."""
    covered: float = learned(0.0)
    """Share of mutants' steps in leaves of which the suite will have evidence; learned."""

    learns_from_mutants: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.leaves is not None and not 2 <= self.leaves <= MOST_LEAVES:
            raise SpecError(f"tree: leaves must lie in 2..{MOST_LEAVES}, got {self.leaves}")
        if self.entries or self.cuts or self.others or self.length:
            self._check_learned()

    def _check_learned(self) -> None:
        """Refuse a tree that this program never wrote; runs are also read that strangers made."""
        if type(self.length) is not int or not self.length > 0:
            raise SpecError(f"tree: vectors of length {self.length!r:.40} cannot have been learned")
        self._nodes.check(self.length)
        check_names("tree", self.names, self.length)
        leaves = self.entries.count(-1)
        shares = self.purities if type(self.purities) is tuple else ()
        if len(shares) != leaves or not all(_is_share(share) for share in shares):
            raise SpecError(f"tree: purities of its {leaves} leaves are {self.purities!r:.80}")

    def fit(self, sample: FitSample) -> Tree:
        """Grow the tree, cut it back and name its entries."""
        sample = _thinned(sample)
        vectors = as_vectors(sample.values, "tree")
        rows = vectors.astype(np.float64)
        check_finite(rows, "tree")
        if not rows.shape[1]:
            raise FitError("tree has nothing to ask about: observations have no entries")
        ranks, actions = ranks_of(vectors), Actions.of(np.asarray(sample.actions))
        judge = Judge.of(sample, ranks, actions)
        grown = grow(ranks, actions, np.arange(len(rows)), self.leaves or max(LADDER))
        leaves = grown.leaves if self.leaves else choose_leaves(grown, judge)
        nodes = stored_nodes(grown, leaves, rows, ranks)
        purities = actions.purities(Walk(nodes)(rows), nodes.entries.count(-1))
        return replace(
            self, length=rows.shape[1], names=names_in(sample, rows.shape[1]),
            entries=nodes.entries, cuts=nodes.cuts, others=nodes.others,
            purities=tuple(purities.tolist()),
            predicted=float(judge.held_out((leaves,)).sum() / len(rows)),
            covered=judge.coverage(grown, leaves),
        )  # fmt: skip

    @property
    def _nodes(self) -> Nodes:
        return Nodes(self.entries, self.cuts, self.others)

    @cached_property
    def _walk(self) -> Walk:
        return Walk(self._nodes)

    @cached_property
    def _rules(self) -> list[str]:
        asked = {entry for entry in self.entries if entry >= 0}
        return rules(self._nodes, {n: self.names[n] if self.names else f"x{n}" for n in asked})

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        rows = as_vectors(values, "tree")
        if rows.shape[1] != self.length:
            what = f"is fitted to shape ({self.length},)" if self.length else "is not fitted"
            raise FitError(f"tree {what} and got vectors of shape ({rows.shape[1]},)")
        return self._walk(rows)[:, None]

    def bounds(self, value: Array) -> tuple[Bound, ...]:
        """Return what the tree asks on the way to a leaf."""
        box = leaf_boxes(self._nodes)[int(value[0])]
        return tuple(
            Bound(self.names[entry] if self.names else f"x{entry}", (entry,), *ends)
            for entry, ends in box.items()
        )

    def show(self, value: Array) -> str:
        """Return the rule of a leaf and how much of what the policy does there is one action."""
        leaf = int(value[0])
        return f"{self._rules[leaf]} ({int(100 * self.purities[leaf])} % pure)"


def _thinned(sample: FitSample) -> FitSample:
    """Return evenly chosen steps of a sample that is too large."""
    steps = len(sample.episodes)
    most = min(_ROWS, max(_NUMBERS // max(width(sample.values), 1), 1))
    if steps <= most:
        return sample
    chosen = np.linspace(0, steps - 1, most).astype(np.int64)
    return replace(
        sample,
        values=rows_of(sample.values, chosen),
        episodes=sample.episodes[chosen],
        actions=np.asarray(sample.actions)[chosen],
        mutant=None if sample.mutant is None else sample.mutant[chosen],
    )


def _is_share(share: object) -> bool:
    return isinstance(share, float) and 0 <= share <= 1
