"""`rules`: states are the rules by which the policy can be told to decide, found by experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from rpd_basics.batches import Array, Batch, as_vectors, check_finite, rows_of, width
from rpd_basics.rule_growth import Growth
from rpd_basics.rule_words import Column, Questions, rule_in_words
from rpd_basics.tree_growth import Actions, grow
from rpd_basics.tree_nodes import MOST_LEAVES, Box, Nodes, Tree, Walk, leaves_of, nodes_of, tree_of
from rpd_core.errors import FitError, SpecError
from rpd_core.plugin.protocols import Bound, FitSample, Ground, learned

_ROWS = 100_000
"""Steps that a tree is grown on at most."""
_NUMBERS = 2**24
"""Numbers that a tree is grown on at most: fewer steps of long vectors."""


@dataclass(frozen=True)
class Rules:
    """Rules by which the policy can be told to decide, for example `rules` or `rules:leaves=32`.

    First a small decision tree predicts the policy's action from the entries of a vector. Then
    experiments tell in which of its leaves the policy has to decide to keep its return; these are
    split where the default differs from the policy, and their sides are given to the default, as
    long as that leaves fewer overrides. Each leaf of the tree is a state.
    """

    leaves: int = 16
    """Leaves of the first tree, at most."""
    target: float = 0.9
    """Fraction of the return that the rules are grown for, whatever the targets of a run."""
    columns: tuple[tuple[Any, ...], ...] = learned(())
    """What can be asked about: name, unit, factor, whole or not, words; learned."""
    angles: tuple[tuple[int, int], ...] = learned(())
    """Entries that hold cosine and sine of each of the last columns; learned."""
    entries: tuple[int, ...] = learned(())
    """Column that each node of the tree asks about, depth first; -1: a leaf; learned."""
    cuts: tuple[float, ...] = learned(())
    """Numbers below this go to the next node; learned."""
    others: tuple[int, ...] = learned(())
    """Node for all others; learned."""
    kept: tuple[int, ...] = learned(())
    """Leaves in which the policy had to decide, by their numbers; learned."""

    learns_from_mutants: ClassVar[bool] = True
    wants_vectors: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 2 <= self.leaves <= MOST_LEAVES:
            raise SpecError(f"rules: leaves must lie in 2..{MOST_LEAVES}, got {self.leaves}")
        if not 0 < self.target < 1:
            raise SpecError(f"rules: target must lie in (0, 1), got {self.target:g}")
        if self.columns or self.angles or self.entries or self.cuts or self.others:
            self._check_learned()

    def _check_learned(self) -> None:
        """Refuse a tree that this program never wrote; runs are also read that strangers made."""
        if type(self.columns) is not tuple or type(self.angles) is not tuple:
            raise SpecError("rules: what was learned is not a list of entries")
        pairs: tuple[Any, ...] = self.angles
        length = self._questions.length
        for pair in pairs:
            good = type(pair) is tuple and len(pair) == 2
            if not good or not all(_is_place(at, length) for at in pair):
                raise SpecError(f"rules: entries {pair!r:.40} of {length} are no angle")
        self._nodes.check(len(self.columns))
        leaves, kept = self.entries.count(-1), self.kept
        if type(kept) is not tuple or not all(_is_place(leaf, leaves) for leaf in kept):
            raise SpecError(f"rules: of {leaves} leaves these cannot be kept: {kept!r:.40}")

    def fit(self, sample: FitSample) -> Rules:
        """Learn what the policy does, as a small tree."""
        sample = _thinned(sample)
        vectors = as_vectors(sample.values, "rules")
        check_finite(vectors, "rules")
        if not vectors.shape[1]:
            raise FitError("rules has nothing to ask about: observations have no entries")
        questions = Questions.about(sample.facts, vectors)
        rows = np.where(questions.open(), questions(vectors), 0)
        tree = grow(rows, Actions.of(np.asarray(sample.actions)), self.leaves)
        columns = tuple(astuple(column) for column in questions.columns)
        return self._with_tree(tree, columns=columns, angles=questions.angles)

    def grow(self, ground: Ground) -> Rules:
        """Cut the rules down to where the policy has to decide."""
        growth = Growth(ground, self._questions, self.target, self._with_tree)
        tree = growth.run(tree_of(self._nodes))
        kept = [number for number, leaf in enumerate(leaves_of(tree)) if leaf.kept]
        return self._with_tree(tree, kept=tuple(kept))

    def _with_tree(self, tree: Tree, **asked: Any) -> Rules:
        nodes = nodes_of(tree)
        return replace(self, entries=nodes.entries, cuts=nodes.cuts, others=nodes.others, **asked)

    @property
    def _nodes(self) -> Nodes:
        return Nodes(self.entries, self.cuts, self.others)

    @cached_property
    def _questions(self) -> Questions:
        return Questions(tuple(map(Column.restored, self.columns)), self.angles)

    @cached_property
    def _walk(self) -> Walk:
        return Walk(self._nodes)

    @cached_property
    def _boxes(self) -> list[Box]:
        return self._nodes.boxes()

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        vectors = as_vectors(values, "rules")
        length = self._questions.length
        if vectors.shape[1] != length:
            what = f"is fitted to shape ({length},)" if length else "is not fitted"
            raise FitError(f"rules {what} and got vectors of shape ({vectors.shape[1]},)")
        return self._walk(self._questions(vectors))[:, None]

    def show(self, value: Array) -> str:
        """Return the rule in words."""
        return rule_in_words(self._boxes[int(value[0])], self._questions.columns)

    def start_states(self) -> Array:
        """Return the rules that were needed when they were grown."""
        return np.array(self.kept, dtype=np.int16).reshape(-1, 1)

    def bounds(self, value: Array) -> tuple[Bound, ...]:
        """Return the rule in numbers."""
        asked, length = self._questions, self._questions.length
        found = []
        for place, (low, high) in self._boxes[int(value[0])].items():
            column = asked.columns[place]
            entries = (place,) if place < length else asked.angles[place - length]
            found.append(Bound(column.name, entries, low, high, column.factor))
        return tuple(found)


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
    )


def _is_place(number: object, length: int) -> bool:
    return type(number) is int and 0 <= number < length
