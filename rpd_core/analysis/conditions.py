"""Suite + condition -> which episodes passed; fitting and checking conditions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rpd_core.config.identity import learned_as_tuples, stored_fields
from rpd_core.errors import ComponentError, EvidenceError, RpdError, one_line
from rpd_core.plugin.blame import whose
from rpd_core.plugin.protocols import Condition, Episodes
from rpd_core.plugin.protocols.optional import LearnsFromEpisodes, ShowsCondition

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray


def fit_condition(condition: Condition, episodes: Episodes) -> Condition:
    """Return a condition that has learned what it must from the episodes."""
    if not isinstance(condition, LearnsFromEpisodes):
        return condition
    fitted = condition.fit(episodes)
    if type(fitted) is not type(condition):
        raise ComponentError(
            f"fit() of condition {type(condition).__name__} returned a {type(fitted).__name__}"
        )
    checked: Condition = fitted
    return checked


def learned_fields(condition: Condition) -> dict[str, Any]:
    """Return what a condition has learned, as it is stored."""
    return stored_fields(condition)


def restore_condition(condition: Any, fields: Mapping[str, Any]) -> Condition:
    """Return a condition with what it had learned before."""
    restored: Condition = dataclasses.replace(condition, **learned_as_tuples(fields))
    return restored


def in_words(condition: Condition, text: str) -> str:
    """Return a condition as people read it, with what it has learned."""
    return condition.show_condition() if isinstance(condition, ShowsCondition) else text


_GRID = 2.0**20
"""Weights are multiples of 1 / _GRID: their sums are exact, in whatever order parts are added."""


def weigh(condition: Condition, episodes: Episodes) -> FloatArray:
    """Return the weight of each episode, checked to lie in [0, 1] and rounded to a fine grid."""
    name = f"{type(condition).__name__}{whose('condition', condition)}"
    try:
        weights = np.asarray(condition(episodes), dtype=np.float64)
    except RpdError:
        raise
    except Exception as error:  # a stranger's condition may raise anything
        raise ComponentError(f"condition {name} raised {one_line(error)}") from error
    if weights.shape != (len(episodes),):
        raise ComponentError(
            f"condition {name} gave weights of shape {weights.shape} for {len(episodes)} episodes"
        )
    if not ((weights >= 0) & (weights <= 1)).all():
        raise ComponentError(f"condition {name} gave weights outside [0, 1]")
    return np.asarray(np.round(weights * _GRID) / _GRID)


def refuse_one_sided(
    weights: FloatArray,
    episodes: Episodes,
    text: str,
    remedy: Callable[[bool], str] = lambda passed: "",
) -> None:
    """Refuse a suite in which every episode passed or every one failed.

    `remedy` says what would help, if it is not the usual, given whether all passed.
    """
    total = weights.sum()
    if 0 < total < len(weights):
        return
    fate = "passed" if total else "failed"
    low, high = episodes.total_return.min(), episodes.total_return.max()
    usual = "try --condition auto or another --mutation-rate"
    raise EvidenceError(
        f"all {len(weights)} episodes {fate} {text} (their returns lie between {low:g} and "
        f"{high:g}); no measure can rank them: {remedy(bool(total)) or usual}"
    )
