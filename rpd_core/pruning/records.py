"""What pruning found, as it is stored and read: plain records, without anything numerical."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

GoalOutcome = Literal["met", "missed", "undecided"]
"""What fresh episodes say about a share of the return that is to be kept."""
REFINED = "refined"
"""What a policy that a round of refining found is said to be found by."""


@dataclass(frozen=True)
class PrunedPoint:
    """One pruned policy and what it did in the sweep; all figures are of this one policy."""

    measure: str
    """The ranking."""
    kept: int
    """Number of states that keep the policy."""
    states: float
    """Their share of all states."""
    steps: float
    """Share of its steps at which the policy decided."""
    overrides: float
    """Share of its steps at which the policy decided and differed from the default action."""
    return_mean: float
    episodes: int
    """Test episodes behind these figures."""


@dataclass(frozen=True)
class Deletion:
    """Returns when the first states of a ranking act by default and all others keep the policy."""

    measure: str
    """The ranking."""
    deleted: tuple[int, ...]
    """Number of states that act by default."""
    states: tuple[float, ...]
    """Their share of all states."""
    steps: tuple[float, ...]
    """Share of steps at which the default action acted."""
    returns: tuple[float, ...]
    """Mean return."""
    fidelity: Mapping[str, float | None]
    """Fidelity score by share of steps; null where nothing is lost, or so many never act so."""
