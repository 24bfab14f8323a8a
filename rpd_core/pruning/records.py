"""What pruning found, as it is stored and read: plain records, without anything numerical."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

GoalOutcome = Literal["met", "missed", "undecided"]
"""What fresh episodes say about a share of the return that is to be kept."""


TRACED = 40
"""Episodes that are stored step by step."""
TRACE_SMALLEST, TRACE_WHOLE = "trace-smallest", "trace-whole"
"""What those of the smallest policy are called, and the same of the policy as it is."""


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
