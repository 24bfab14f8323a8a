"""Growing rules by experiment: what the policy does, cut down to where it has to decide."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from rpd_basics.batches import Array, as_vectors
from rpd_basics.rule_words import Questions
from rpd_basics.tree_growth import SMALLEST_LEAF, Actions, cut_near, grow
from rpd_basics.tree_nodes import (
    DEEPEST,
    Leaf,
    Split,
    Tree,
    Walk,
    leaves_of,
    nodes_of,
    simplified,
    with_leaves,
)
from rpd_core.plugin.protocols import FitSample, Ground, Minimised

SPARED = 0.5
"""Share of what may be lost that is not spent on a first tree.

What meets a target by luck can be made no smaller.
"""
FEW = 8
"""Leaves of a second first tree, at most: it predicts overrides, and its rules stay coarse."""
LEFT = 0.25
"""Share of what may be lost that is never spent: a run that stands on the rules chooses again."""
TAKEN = 0.1
"""Share of what may be lost that rules must have left to be taken: less may be chance."""
BORNE_OUT = 0.2
"""The same on the episodes that check the best: what then misses gives way to far larger ones."""
TURNS = 4
"""Rules that fresh episodes check at most, those that cost least first."""
ROUNDS = 3
"""Times that rules are split and peeled, at most."""
A_RULE = 0.05
"""Share of the policy's overrides that a further rule must save to be worth being told."""
A_STEP = 1.0
"""What a share of all steps counts beside a share of the policy's overrides."""
LEAST = 0.03
"""Saving that is worth another round."""
SPLIT = 6
"""Rules that are split at a time: those that hold most overrides."""
PIECES = 4
"""Parts that each of them is split into, at most."""
ALL_PIECES = 24
"""Parts that all of them are split into, if more, when the finer first tree is grown."""
EDGE = 0.01
"""Share of a rule's overrides that one side may hold which is cut off unasked."""
OUTSIDE = 0.1
"""Share of a rule's steps that a side must hold for that to be worth a condition."""
PEELS = 24
"""Sides of rules that are peeled at a time, of all of them."""
PEEL = 0.2
"""Share of a rule's steps that one peel takes from one side."""
LOST = 0.04
"""Share of the overrides that rules may lose when a split is undone."""
ROOM = 0.3
"""Share of a peel's steps that a cut may cross to become a shorter number."""
NEAR = (0.1, 0.03)
"""Shares of the steps on either side that any cut may cross in the end; the last, also at first."""


class Peel(NamedTuple):
    """A side of a rule that may be given to the default."""

    entry: int
    cut: float
    upper: bool
    """Whether what is not below the cut is peeled off, or what is."""


@dataclass(frozen=True)
class Steps:
    """Steps of a pruned policy, in the numbers that rules ask about."""

    rows: Array
    actions: Array
    """The policy's, one number or more each."""
    differ: Array
    """Whether the default would act otherwise."""

    @classmethod
    def of(cls, sample: FitSample, questions: Questions) -> Steps:
        """Take the steps of a sample."""
        rows = questions(as_vectors(sample.values, "rules"))
        return cls(rows, np.asarray(sample.actions), differing(sample))

    def some(self, which: Array) -> Steps:
        """Return some of them."""
        return Steps(self.rows[which], self.actions[which], self.differ[which])

    def by_leaf(self, tree: Tree) -> list[Steps]:
        """Return those in each leaf."""
        numbers = Walk(nodes_of(tree))(self.rows)
        return [self.some(numbers == leaf) for leaf in range(len(leaves_of(tree)))]

    @property
    def kinds(self) -> Array:
        """What the policy does against the default: 0 where both do the same."""
        if self.actions.dtype.kind == "f":
            return self.differ.astype(np.int64)
        numbers = np.unique(_as_rows(self.actions), axis=0, return_inverse=True)[1].reshape(-1)
        return np.where(self.differ, numbers + 1, 0)

    def commonest(self) -> tuple[Any, ...]:
        """Return what the policy does most often; nothing where actions are continuous."""
        if not len(self.actions) or self.actions.dtype.kind == "f":
            return ()
        kinds, counts = np.unique(_as_rows(self.actions), axis=0, return_counts=True)
        return tuple(kinds[counts.argmax()].tolist())


def differing(sample: FitSample) -> Array:
    """Return at which steps of a sample the default would not do what the policy does."""
    actions, defaults = np.asarray(sample.actions), np.asarray(sample.defaults)
    return np.asarray(_as_rows(actions != defaults).any(axis=1))


def _as_rows(steps: Array) -> Array:
    """Return one row for each step, also of no steps."""
    return steps.reshape(len(steps), math.prod(steps.shape[1:]))


@dataclass(frozen=True)
class Grown:
    """A tree whose kept leaves are what is left of the policy, and what was found there."""

    tree: Tree
    found: Minimised
    steps: Steps


@dataclass(frozen=True)
class Growth:
    """Rules on their way to be few and small."""

    ground: Ground
    questions: Questions
    target: float
    """Fraction of the return that the rules are to keep."""
    build: Callable[[Tree], Any]
    """From a tree to the component whose states are its leaves."""

    def run(self, coarse: Tree) -> Tree:
        """Return the grown tree; the coarse one where all of it is needed, or none."""
        steps = Steps.of(self.ground.sample, self.questions)
        few = self._parts(Leaf(), steps, FEW)
        firsts = ((_shorter(coarse, steps.rows, NEAR[1]), ALL_PIECES), (few, PIECES))
        grown: list[Grown] = []
        for (first, pieces), left in zip(firsts, (0.5, 0.0), strict=True):
            if not grown or self.ground.left > left:
                grown += self._climbed(first, pieces, left)
        if not grown:
            return coarse
        return self._checked(sorted(grown, key=self._cost), steps.rows).tree

    def _climbed(self, first: Tree, pieces: int, left: float) -> Iterator[Grown]:
        """Yield what a first tree grows to on the way, if it meets the target.

        It splits, peels and merges rules in turn as long as that helps, and stops when no more than
        `left` of the steps for growing are left.
        """
        best = self._minimised(first, SPARED)
        split = partial(self._split, pieces=pieces)
        fruitless, ways = 0, (split, self._tighten, self._peel, self._merge)
        if best.found.met and best.found.kept.any():
            yield best
            for improve in ways * ROUNDS:
                tried = improve(best)
                fruitless = fruitless + 1 if tried is best else 0
                if fruitless == 0:
                    yield tried
                best = tried
                ends = fruitless == len(ways) or self.ground.left <= left
                if ends or not best.found.kept.any():
                    break

    def _minimised(self, tree: Tree, spared: float = LEFT) -> Grown:
        """Find out which of its kept leaves a tree needs; join what need not be told apart."""
        kept = np.flatnonzero([leaf.kept for leaf in leaves_of(tree)]).astype(np.int16)
        found = self.ground.minimise(self.build(tree), self._with_room(spared), kept[:, None])
        found = replace(found, met=found.share >= self._with_room(TAKEN))
        steps, needed = Steps.of(found.sample, self.questions), _needed(found)
        marked = (
            Leaf(True, here.commonest()) if number in needed else Leaf(False)
            for number, here in enumerate(steps.by_leaf(tree))
        )
        return Grown(simplified(with_leaves(tree, marked)), found, steps)

    def _with_room(self, spared: float) -> float:
        """Return the fraction of the return that leaves a share of what may be lost."""
        return self.target + spared * (1 - self.target)

    def _cost(self, grown: Grown) -> float:
        """Return what is to be small: overrides, steps and rules."""
        found = grown.found
        steps = float(found.steps[found.kept].sum())
        return self._weighed(grown.tree, float(found.overrides.sum()), steps)

    @cached_property
    def whole(self) -> float:
        """Share of steps at which the whole policy overrides the default."""
        sample = self.ground.sample
        own = slice(None) if sample.mutant is None else ~sample.mutant
        return max(float(differing(sample)[own].mean()), 1e-9)

    def _weighed(self, tree: Tree, overrides: float, steps: float) -> float:
        rules = sum(leaf.kept for leaf in leaves_of(tree))
        return overrides / self.whole + A_STEP * steps + A_RULE * rules

    def _better(self, best: Grown, tried: Grown) -> Grown:
        saved = self._cost(best) - self._cost(tried)
        return tried if tried.found.met and saved > LEAST else best

    def _split(self, best: Grown, pieces: int) -> Grown:
        """Split the rules that hold most overrides where policy and default differ."""
        here = best.steps.by_leaf(best.tree)
        leaves = leaves_of(best.tree)
        held = [leaf.kept * one.differ.sum() for leaf, one in zip(leaves, here, strict=True)]
        first = set(np.argsort(held)[::-1][:SPLIT].tolist())
        each = max(pieces // sum(leaf.kept for leaf in leaves), PIECES)
        parts = [
            self._parts(leaf, one, each) if number in first and held[number] else leaf
            for number, (leaf, one) in enumerate(zip(leaves, here, strict=True))
        ]
        tree = with_leaves(best.tree, iter(parts))
        if tree == best.tree or _depth(tree) > DEEPEST:
            return best
        tried = self._minimised(tree)
        return self._better(best, self._merge(tried) if tried.found.met else tried)

    def _parts(self, leaf: Leaf, steps: Steps, pieces: int) -> Tree:
        """Split a leaf where policy and default differ; what holds hardly an override is idle."""
        hidden = np.where(self.questions.open(), steps.rows, 0)
        kinds = Actions(steps.kinds[:, None], continuous=False)
        parts = _shorter(grow(hidden, kinds, pieces), steps.rows, NEAR[1])
        if isinstance(parts, Leaf):
            return leaf
        held = np.array([one.differ.sum() for one in steps.by_leaf(parts)])
        order = np.argsort(held, kind="stable")
        idle = set(order[np.cumsum(held[order]) <= EDGE * held.sum()].tolist())
        return with_leaves(parts, (Leaf(number not in idle) for number in range(len(held))))

    def _tighten(self, best: Grown) -> Grown:
        """Cut off where the policy does what the default does: nothing changes without that."""
        pairs = zip(leaves_of(best.tree), best.steps.by_leaf(best.tree), strict=True)
        sides = [self._idle(steps) if leaf.kept else [] for leaf, steps in pairs]
        tree = _peeled(best.tree, sides, kept=False)
        if not any(sides) or _depth(tree) > DEEPEST:
            return best
        return self._better(best, self._minimised(tree))

    def _idle(self, steps: Steps) -> list[Peel]:
        """Return sides of a rule with hardly an override, those with the most steps first."""
        found: list[Peel] = []
        least = max(OUTSIDE * len(steps.rows), SMALLEST_LEAF)
        while steps.differ.sum() >= SMALLEST_LEAF:
            sides = [
                side
                for entry in np.flatnonzero(self.questions.open()).tolist()
                for side in idle_sides(steps, entry)
            ]
            outer, peel = max(sides, key=lambda side: int(side[0].sum()))
            if outer.sum() < least:
                break
            found.append(peel)
            steps = steps.some(~outer)
        return found

    def _peel(self, best: Grown) -> Grown:
        """Give the sides of rules to the default that nobody misses."""
        pairs = zip(leaves_of(best.tree), best.steps.by_leaf(best.tree), strict=True)
        most = max(PEELS // sum(leaf.kept for leaf in leaves_of(best.tree)), 1)
        sides = [self._sides(steps)[:most] if leaf.kept else [] for leaf, steps in pairs]
        whole, tree = best.tree, _peeled(best.tree, sides)
        if not any(sides) or _depth(tree) > DEEPEST:
            return best
        pieces = self._minimised(tree)
        gone = _gone(pieces.found, sides)
        best = self._better(best, pieces)
        while pieces.found.met and any(gone):
            tried = self._minimised(_peeled(whole, gone, kept=False))
            if tried.found.met:
                return self._better(best, tried)
            gone = [some[: len(some) // 2] for some in gone]
        return best

    def _merge(self, best: Grown) -> Grown:
        """Undo splits without which there are fewer rules that hold nearly the same steps."""
        tree, (held, steps) = best.tree, _held(best.tree, best.steps)
        cost = first = self._weighed(tree, float(held.mean()), float(steps.mean()))
        going = True
        while going:
            fewer = [one for one in map(simplified, _without_a_split(tree)) if one != tree]
            costs = [self._if_merged(one, best.steps, held) for one in fewer]
            going = bool(costs) and min(costs) < cost
            if going:
                cost, tree = min(costs), fewer[int(np.argmin(costs))]
        if cost > first - LEAST:
            return best
        return self._better(best, self._minimised(tree))

    def _if_merged(self, tree: Tree, steps: Steps, held: Array) -> float:
        """Return what a tree would cost on some steps; none that loses what others held."""
        now, decides = _held(tree, steps)
        if (now & held).sum() < (1 - LOST) * held.sum():
            return np.inf
        return self._weighed(tree, float(now.mean()), float(decides.mean()))

    def _checked(self, grown: Sequence[Grown], rows: Array) -> Grown:
        """Return the best that fresh episodes bear out, with cuts in fewer digits.

        The best of many is good by luck, too; where it does not hold again, the next has its turn.
        """
        coarser, finer = NEAR
        for best in grown[:TURNS]:
            steps = np.concatenate([best.steps.rows, rows])
            again = self._minimised(_shorter(best.tree, steps, finer))
            if again.found.share < self._with_room(BORNE_OUT):
                continue
            shorter = self._minimised(_shorter(best.tree, steps, coarser))
            spent = self._cost(shorter) - self._cost(again)
            holds = shorter.found.share >= self._with_room(BORNE_OUT)
            return shorter if holds and spent <= LEAST / 2 else again
        return grown[0]

    def _sides(self, steps: Steps) -> list[Peel]:
        """Return the outer parts of a rule, those with the fewest overrides first."""
        found = []
        for entry in np.flatnonzero(self.questions.open()).tolist():
            column = steps.rows[:, entry]
            if len(column) < 2 * SMALLEST_LEAF:
                break
            low, high = np.quantile(column, (PEEL, 1 - PEEL))
            for upper, outer in ((False, column <= low), (True, column >= high)):
                if outer.mean() <= 0.5:
                    cut = cut_near(column, ~outer if upper else outer, ROOM)
                    found.append((float(steps.differ[outer].mean()), Peel(entry, cut, upper)))
        return [peel for _, peel in sorted(found)]


def idle_sides(steps: Steps, entry: int) -> Iterator[tuple[Array, Peel]]:
    """Yield the steps on either side of an entry that hold hardly an override, and the peel."""
    column = steps.rows[:, entry]
    low, high = np.quantile(column[steps.differ], (EDGE, 1 - EDGE), method="nearest")
    for upper, outer in ((False, column < low), (True, column > high)):
        if outer.any():
            cut = cut_near(column, ~outer if upper else outer)
            yield (column >= cut) if upper else (column < cut), Peel(entry, cut, upper)
        else:
            yield outer, Peel(entry, 0.0, upper)


def _needed(found: Minimised) -> set[int]:
    """Return the numbers of the leaves that are kept."""
    return set(found.values[found.kept, 0].tolist())


def _peeled(tree: Tree, sides: Sequence[Sequence[Peel]], kept: bool = True) -> Tree:
    """Return a tree with sides of its leaves cut off, one after the other."""

    def peel(leaf: Leaf, peels: Sequence[Peel]) -> Tree:
        if not peels:
            return leaf
        (entry, cut, upper), inner = peels[0], peel(leaf, peels[1:])
        side = leaf if kept else Leaf(False)
        return Split(entry, cut, inner, side) if upper else Split(entry, cut, side, inner)

    return with_leaves(tree, (peel(*pair) for pair in zip(leaves_of(tree), sides, strict=True)))


def _gone(found: Minimised, sides: Sequence[Sequence[Peel]]) -> list[list[Peel]]:
    """Return the sides of each leaf that are not needed, where what is within them is."""
    needed, number, gone = _needed(found), 0, []
    for peels in sides:
        lower = [peel for peel in peels if not peel.upper]
        upper = [peel for peel in reversed(peels) if peel.upper]
        order = [*lower, None, *upper]  # as the leaves of the peeled tree are numbered
        went = {peel for place, peel in enumerate(order) if number + place not in needed}
        gone.append([] if None in went else [peel for peel in peels if peel in went])
        number += len(order)
    return gone


def _held(tree: Tree, steps: Steps) -> tuple[Array, Array]:
    """Return at which steps the policy would override the default, and at which it would decide."""
    kept = np.array([leaf.kept for leaf in leaves_of(tree)])[Walk(nodes_of(tree))(steps.rows)]
    return kept & steps.differ, kept


def _without_a_split(tree: Tree) -> Iterator[Tree]:
    """Yield a tree without one of its splits, in both ways to do so, for each of them."""
    if isinstance(tree, Leaf):
        return
    yield tree.below
    yield tree.other
    yield from (replace(tree, below=below) for below in _without_a_split(tree.below))
    yield from (replace(tree, other=other) for other in _without_a_split(tree.other))


def _shorter(tree: Tree, rows: Array, near: float) -> Tree:
    """Return a tree with shorter cuts, which part some steps nearly as before."""
    if isinstance(tree, Leaf):
        return tree
    column, cut = rows[:, tree.entry], tree.cut
    lower = column < cut
    if lower.any() and not lower.all():
        cut = cut_near(column, lower, near)
    below, other = _shorter(tree.below, rows[lower], near), _shorter(tree.other, rows[~lower], near)
    return Split(tree.entry, cut, below, other)


def _depth(tree: Tree) -> int:
    return 0 if isinstance(tree, Leaf) else 1 + max(_depth(tree.below), _depth(tree.other))
