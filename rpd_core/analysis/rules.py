"""The decisions that matter, summed up as a handful of rules over the entries of states.

Every state with a verdict counts the same, whatever its evidence: what is said of a rule is a
share of states, and weights would make it a share of something else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from rpd_core.analysis.boxes import Box, Grid, Search, groups_of
from rpd_core.analysis.decisions import Decisions
from rpd_core.analysis.verdicts import Verdict

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, BoolArray, IntArray

MOST_RULES = 5
"""Rules, at most."""
MOST_ENTRIES = 64
"""Entries of a state that rules are looked for in, at most."""
_FEW = 5
"""Decisions that matter below which the list itself is the shortest summary."""
_LEAST = 3
"""Decisions that matter that a rule must add."""
_LEAST_SHARE = 0.05
"""The same as a share of all that matter."""
_COVERED = 1 / 4
"""Share of those that matter that rules must hold together, or they sum up nothing."""

Kind = Literal["rules", "groups", "states"]


@dataclass(frozen=True)
class Bound:
    """What a rule asks of one entry."""

    entry: int
    low: float | None
    """At least this; None: anything."""
    high: float | None
    """At most this; None: anything."""


@dataclass(frozen=True)
class Rule:
    """A part of the states, and what is known to matter in it."""

    bounds: tuple[Bound, ...]
    matter: int
    """Decisions in it that matter."""
    states: int
    """States with a verdict in it."""
    undecided: int = 0
    """Those of them whose verdict is that nothing can be told yet."""
    row: int | None = None
    """Row of the state that is all of it, where states are rules of their own."""

    @property
    def purity(self) -> float:
        """Share of the states with a verdict in it that matter."""
        return self.matter / self.states


@dataclass(frozen=True)
class RuleSet:
    """A handful of rules, or why there are none."""

    rules: tuple[Rule, ...]
    total: int
    """Decisions that matter."""
    covered: int
    """Those of them that some rule holds."""
    judged: int
    """States with a verdict."""
    kind: Kind = "rules"
    reason: str = ""
    """Why there are no rules."""


def find_rules(found: Decisions, named: bool) -> RuleSet:
    """Sum up the decisions that matter; `named`: the entries of states have names.

    Without names, neighbouring states are grouped. States of one unnamed number, such as the
    leaves of a tree, are rules of their own: theirs are the first in the list.
    """
    rows = np.flatnonzero(found.judged)
    matters = found.verdicts.are(Verdict.MATTERS)
    states = found.counted.states
    values = states.value.reshape(len(states), -1)
    if values.shape[1] == 1 and not named:
        listed = found.listed()
        return _own_rules(listed[matters[listed]], len(rows))
    undecided = found.verdicts.are(Verdict.UNDECIDED)
    return rules_over(values[rows], matters[rows], undecided[rows], named)


def rules_over(
    values: Array, matters: BoolArray, undecided: BoolArray, named: bool = True
) -> RuleSet:
    """Sum up which rows of values matter."""
    total, judged = int(matters.sum()), len(matters)
    kind: Kind = "rules" if named else "groups"
    reason = _hopeless(values, total, judged)
    if reason:
        return RuleSet((), total, 0, judged, kind, reason)
    grid = Grid.of(values)
    boxes = _choose(grid, matters) if named else _groups(grid, matters)
    boxes = without_idle(grid, matters, boxes)
    covered = int(_union(grid, boxes)[matters].sum())
    if not boxes:
        what = "rule" if named else "group of neighbouring states"
        reason = f"no short {what} tells the {total} that matter from the other {judged - total}"
    elif covered < _COVERED * total:
        reason = f"the best {kind} hold only {covered} of the {total} that matter"
    if reason:
        return RuleSet((), total, 0, judged, kind, reason)
    rules = [_rule(grid, matters, undecided, box) for box in boxes]
    rules.sort(key=lambda rule: (-rule.matter, -rule.purity))
    return RuleSet(tuple(rules), total, covered, judged, kind)


def _own_rules(rows: IntArray, judged: int) -> RuleSet:
    chosen = rows[:MOST_RULES].tolist()
    rules = tuple(Rule((), 1, 1, row=row) for row in chosen)
    reason = "" if rules else "none is known to matter"
    return RuleSet(rules, len(rows), len(rules), judged, "states", reason)


def _hopeless(values: Array, total: int, judged: int) -> str:
    """Return why there can be no rules; nothing if there may be some."""
    if total == 0:
        return "none is known to matter"
    if total < _FEW:
        return f"too few matter to be summed up by rules: {total}"
    if total == judged:
        return f"all {total} matter"
    if values.shape[1] > MOST_ENTRIES:
        return f"states of {values.shape[1]} entries have no short rules"
    if values.dtype.kind not in "biuf" or not np.isfinite(values).all():
        return "the entries of the states are not all numbers"
    return ""


def purity_bar(share: float) -> float:
    """Return the purity from which on a rule is clearly above a base rate: twice it, or halfway."""
    return min(max(2 * share, 1 / 3), (1 + share) / 2)


def _choose(grid: Grid, matters: BoolArray) -> list[Box]:
    """Find one box after the other, each among the states that the ones before left out."""
    total = int(matters.sum())
    bar = purity_bar(total / len(matters))
    open_ = np.ones(len(matters), dtype=np.bool_)
    boxes: list[Box] = []
    while len(boxes) < MOST_RULES:
        box = Search(grid, matters, open_, bar).best()
        if box is None:
            break
        held = grid.inside(box) & open_
        if matters[held].sum() < _least(total):
            break
        boxes.append(box)
        open_ &= ~held
    return boxes


def _least(total: int) -> float:
    return max(_LEAST, _LEAST_SHARE * total)


def _groups(grid: Grid, matters: BoolArray) -> list[Box]:
    """Return the boxes around groups of neighbours that hold few others."""
    rows = np.flatnonzero(matters)
    bar = purity_bar(len(rows) / len(matters))
    boxes: list[Box] = []
    for group in groups_of(grid.steps[:, rows]):
        steps = grid.steps[:, rows[group]]
        ends = zip(steps.min(axis=1).tolist(), steps.max(axis=1).tolist(), strict=True)
        box = {entry: limits for entry, limits in enumerate(ends) if len(grid.values[entry]) > 1}
        held = grid.inside(box)
        if len(group) >= _least(len(rows)) and matters[held].mean() > bar:
            boxes.append(box)
    return boxes[:MOST_RULES]


def without_idle(grid: Grid, matters: BoolArray, boxes: list[Box]) -> list[Box]:
    """Return the boxes without those that add next to nothing to the others."""
    least = _least(int(matters.sum()))
    for box in sorted(boxes, key=lambda one: int(matters[grid.inside(one)].sum())):
        others = [one for one in boxes if one is not box]
        if matters[_union(grid, boxes) & ~_union(grid, others)].sum() < least:
            boxes = others
    return boxes


def _union(grid: Grid, boxes: list[Box]) -> BoolArray:
    held = np.zeros(grid.steps.shape[1], dtype=np.bool_)
    for box in boxes:
        held |= grid.inside(box)
    return held


def _rule(grid: Grid, matters: BoolArray, undecided: BoolArray, box: Box) -> Rule:
    held = grid.inside(box)
    bounds = tuple(_bound(grid.values[entry], entry, *box[entry]) for entry in sorted(box))
    return Rule(bounds, *(int(one[held].sum()) for one in (matters, held, undecided)))


def _bound(values: Array, entry: int, first: int, last: int) -> Bound:
    if first == last:  # one value, also where it is the smallest or the largest
        return Bound(entry, float(values[first]), float(values[first]))
    low = shortest(float(values[first]), float(values[first - 1])) if first > 0 else None
    high = (
        shortest(float(values[last]), float(values[last + 1])) if last + 1 < len(values) else None
    )
    return Bound(entry, low, high)


def shortest(value: float, beyond: float) -> float:
    """Return the number with the fewest decimals from a value on, before one beyond it."""
    towards = math.floor if beyond < value else math.ceil
    for decimals in range(16):
        try:
            rounded: float = towards(value * 10**decimals) / 10**decimals
        except OverflowError:
            break
        if min(value, beyond) <= rounded <= max(value, beyond) and rounded != beyond:
            return rounded
    return value
