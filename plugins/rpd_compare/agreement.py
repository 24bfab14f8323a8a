"""Do two policies choose the same action? Per state, and in the first states of a ranking.

This is the paper's comparison of a good policy with a weak one: the share of the top X % of states
in which both choose the same action. What a policy chooses in a state is the action that it chose
most often there in its suite, mutated or not. Actions that are vectors count as the same where the
means lie within a tenth of the range that the means of both policies span, entry by entry.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.intervals import two_sided_z, wilson
from rpd_core.plugin.protocols import States

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import BoolArray, FloatArray, IntArray

CLEAR = 0.75
"""Share of a policy's choices from which on its most frequent action speaks for the state."""
_TOLERANCE = 0.1
"""How far mean actions may lie apart, as a share of the range that all means span."""


@dataclass(frozen=True)
class Choices:
    """What two policies do in the same states; one row per state."""

    same: BoolArray
    """Whether the most frequent actions are the same."""
    overlap: FloatArray
    """Share of their choices in common: the sum over actions of the smaller share; 0 to 1."""
    clear: BoolArray
    """Whether each policy has an action that it chooses in most of its visits."""


@dataclass(frozen=True)
class Agreement:
    """How far two policies agree in the first states of a ranking."""

    share: float
    """Share of the states, the first ones by the ranking."""
    states: int
    """Number of them."""
    same: int
    """Those in which both policies choose the same action."""
    agreement: float
    """Share of those."""
    low: float
    """Lower end of the 95 % interval of that (Wilson's, states taken as draws)."""
    high: float
    """Upper end of the same."""
    overlap: float
    """Mean share of choices that the two policies have in common in these states."""


def compare_choices(one: States, rows: IntArray, two: States, other_rows: IntArray) -> Choices:
    """Compare what is chosen in states of one suite with the same states of another."""
    if not one.choices.shape[1]:
        return _compare_vectors(
            one.action_sum[rows] / one.visits[rows, None],
            two.action_sum[other_rows] / two.visits[other_rows, None],
        )
    first, second = _shares(one.choices[rows]), _shares(two.choices[other_rows])
    return Choices(
        np.asarray(first.argmax(axis=1) == second.argmax(axis=1)),
        np.asarray(np.minimum(first, second).sum(axis=1)),
        np.asarray((first.max(axis=1) >= CLEAR) & (second.max(axis=1) >= CLEAR)),
    )


def _shares(counts: IntArray) -> FloatArray:
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))


def _compare_vectors(first: FloatArray, second: FloatArray) -> Choices:
    """Compare mean actions; each state has one, so that every one is clear."""
    both = np.concatenate([first, second])
    span = np.ptp(both, axis=0) if len(both) else np.zeros(first.shape[1:])
    same = np.asarray((np.abs(first - second) <= _TOLERANCE * span).all(axis=1))
    return Choices(same, same.astype(np.float64), np.ones(len(same), dtype=np.bool_))


def bound_if_all_agree(states: int, level: float = 0.95) -> float:
    """Return the lower end of the interval where the actions in all of so many are the same."""
    low, _ = wilson(np.ones(1), np.array([float(states)]), two_sided_z(level))
    return float(low[0])


def states_to_show(share: float, level: float = 0.95) -> int | None:
    """Return how many states, all alike, it takes to show a share; None: no number does."""
    if share >= 1:
        return None
    return math.ceil(share / (1 - share) * two_sided_z(level) ** 2)  # from low = n / (n + z * z)


def agreements(
    choices: Choices, order: IntArray, shares: tuple[float, ...], level: float = 0.95
) -> tuple[Agreement, ...]:
    """Return the agreement in the first states of an order, for each share of them.

    A share stands for as many states as it needs at least, rounded up.
    """
    if not len(order):
        return ()
    same = np.cumsum(choices.same[order])
    overlap = np.cumsum(choices.overlap[order])
    found = []
    for share in shares:
        count = max(int(np.ceil(share * len(order) - 1e-9)), 1)
        agreed = int(same[count - 1])
        size = np.array([float(count)])
        low, high = wilson(agreed / size, size, two_sided_z(level))
        mean = float(overlap[count - 1]) / count
        found.append(
            Agreement(share, count, agreed, agreed / count, float(low[0]), float(high[0]), mean)
        )
    return tuple(found)
