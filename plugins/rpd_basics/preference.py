"""How much the policy prefers its action to the default's: states that every policy has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from gymnasium.spaces import Discrete

from rpd_basics.batches import Array, Batch
from rpd_basics.bins import quantile_edges
from rpd_core.errors import FitError, SpecError
from rpd_core.plugin.protocols import (
    POLICY_ACTION,
    POLICY_GAP,
    Abstraction,
    FitSample,
    learned,
)
from rpd_core.plugin.protocols.optional import LearnsByPlaying
from rpd_core.plugin.wording import cut_texts

_WORSE, _SAME = -1, 0
"""Bins of preferences below 0, and of none at all; those above count from 1."""


@dataclass(frozen=True)
class Preference:
    """What the policy does, and in which bin lies how much it prefers that to the default action.

    By its own account: a difference of action values, else of log probabilities (log odds), else
    of log densities. Actions that are not discrete are not told apart. The policy is asked at every
    step, so that no calls are saved. Where it offers none of this, or the default action draws by
    the state, which is then circular, `otherwise` takes its place: preference:otherwise=auto.
    """

    bins: int = 8
    """Equally full bins of preferences above 0; one more for none, and for those below 0."""
    otherwise: Abstraction | None = None
    """What tells states apart where a policy offers no preferences, or the default action draws by
    the state; none: both are refused."""
    edges: tuple[float, ...] = learned(())
    """Inner edges of the bins, ascending; learned from the policy's and mutants' steps."""
    unit: str = learned("")
    """What preferences are measured in; learned."""
    actions: tuple[str, ...] = learned(())
    """What discrete actions are called; learned."""
    start: int = learned(0)
    """The first of them; learned."""

    needs: ClassVar[tuple[str, ...]] = (POLICY_ACTION, POLICY_GAP)
    learns_from_mutants: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 1 <= self.bins <= 1000:
            raise SpecError(f"preference: bins must lie in 1..1000, got {self.bins}")

        if isinstance(self.otherwise, LearnsByPlaying):
            raise SpecError("preference: otherwise cannot be an abstraction that learns by playing")

    def fit(self, sample: FitSample) -> Preference:
        """Learn the edges, and what actions are called."""
        gaps = np.asarray(sample.views[POLICY_GAP], dtype=np.float64)
        preferred = gaps[gaps > 0]
        edges = quantile_edges(preferred, self.bins) if len(preferred) else ()
        space, names = sample.facts.action_space, sample.facts.action_names
        fitted = replace(self, edges=edges, unit=sample.gap_unit, actions=(), start=0)
        if not isinstance(space, Discrete):
            return fitted
        first, count = int(space.start), int(space.n)
        named = names or tuple(f"action {number}" for number in range(first, first + count))
        return replace(fitted, actions=named, start=first)

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        if not self.unit:
            raise FitError("preference is not fitted")
        gaps = np.asarray(views[POLICY_GAP], dtype=np.float64)
        binned = 1 + np.searchsorted(np.array(self.edges), gaps, side="right")
        binned = np.where(gaps > 0, binned, np.where(gaps < 0, _WORSE, _SAME))
        actions = views[POLICY_ACTION] - self.start if self.actions else np.zeros_like(binned)
        return np.stack([actions, binned], axis=1).astype(np.int32)

    def show(self, value: Array) -> str:
        """Describe what the policy does, and by how much it prefers that."""
        action, place = np.asarray(value).tolist()
        does = self.actions[action] if self.actions else "its action"
        if place == _SAME:
            return f"prefers {does} by 0 ({self.unit})"
        if place == _WORSE:
            return f"does {does} and prefers the default's ({self.unit})"
        return f"prefers {does} {self._between(place)}({self.unit})"

    def _between(self, place: int) -> str:
        texts = cut_texts(self.edges)
        if not texts:
            return ""
        if place == 1:
            return f"by less than {texts[0]} "
        if place > len(texts):
            return f"by {texts[-1]} or more "
        return f"by {texts[place - 2]} to {texts[place - 1]} "
