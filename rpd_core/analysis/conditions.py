"""Suite + condition -> which episodes passed; resolving and checking conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rpd_core.errors import ComponentError, EvidenceError
from rpd_core.plugin.protocols import Condition
from rpd_core.plugin.records import Episodes
from rpd_core.plugin.registry import Registry

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray


def resolve_condition(text: str, episodes: Episodes, registry: Registry) -> str:
    """Give the condition to use: one that chooses a cut from the suite does so here, once."""
    condition = registry.make("condition", text)
    resolver = getattr(condition, "resolve", None)
    return str(registry.parse("condition", resolver(episodes))) if resolver else text


def weigh(condition: Condition, episodes: Episodes) -> FloatArray:
    """Give the weight of each episode, checked to lie in [0, 1]."""
    weights = np.asarray(condition(episodes), dtype=np.float64)
    name = type(condition).__name__
    if weights.shape != (len(episodes),):
        raise ComponentError(
            f"condition {name} gave weights of shape {weights.shape} for {len(episodes)} episodes"
        )
    if not ((weights >= 0) & (weights <= 1)).all():
        raise ComponentError(f"condition {name} gave weights outside [0, 1]")
    return weights


def refuse_one_sided(weights: FloatArray, episodes: Episodes, text: str) -> None:
    """Refuse a suite in which every episode passed or every one failed."""
    total = weights.sum()
    if 0 < total < len(weights):
        return
    fate = "passed" if total else "failed"
    low, high = episodes.total_return.min(), episodes.total_return.max()
    raise EvidenceError(
        f"all {len(weights)} episodes {fate} {text} (their returns lie between {low:g} and "
        f"{high:g}); no measure can rank them: try --condition auto or another --mutation-rate"
    )
