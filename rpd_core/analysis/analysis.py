"""What a stored suite says under one condition: weights, spectrum, rankings."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rpd_core.analysis.ranking import Ranking, evidence_for, rank
from rpd_core.analysis.spectrum import Tally, tally
from rpd_core.analysis.suite import StoredEpisodes
from rpd_core.config.configuration import Json, learned_as_tuples, stored_fields
from rpd_core.errors import (
    ComponentError,
    EvidenceError,
    NotOfferedError,
    RpdError,
    StoreError,
    one_line,
)
from rpd_core.plugin.blame import whose
from rpd_core.plugin.protocols import Condition, Episodes, Measure, Suite
from rpd_core.plugin.protocols.optional import LearnsFromEpisodes, ShowsCondition
from rpd_core.store.directory import RunDirectory

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray

CONDITIONS = "conditions.json"
"""Where it is stored what conditions have learned, once for the life of a run."""


@dataclass(frozen=True)
class Analysis:
    """What a suite says under one condition."""

    stored: StoredEpisodes
    condition: Condition
    """The condition in force, with what it has learned."""
    condition_text: str
    """The same in words."""
    episodes: Episodes
    weights: FloatArray
    counted: Tally
    rankings: dict[str, Ranking] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    """Measures that need what the policy does not offer, and what that is."""

    @cached_property
    def suite(self) -> Suite:
        """The whole suite; read when first asked for."""
        return self.stored.whole()

    def rank_by(self, name: str, measure: Measure) -> Ranking:
        """Rank the states by a measure that its name describes, once."""
        if name not in self.rankings:
            self.rankings[name] = self.rank_anew(name, measure)
        return self.rankings[name]

    def rank_anew(self, name: str, measure: Measure) -> Ranking:
        """Rank the states by a measure; two functions may have the same name."""
        evidence = evidence_for(measure, self.counted, self.weights, lambda: self.suite)
        return rank(name, measure, evidence)


def analyse(
    directory: RunDirectory,
    condition: Condition,
    text: str,
    measures: Mapping[str, Measure],
    first_episodes: int | None = None,
    spared: Collection[str] = (),
) -> Analysis:
    """Weigh the stored episodes, count the spectrum, rank the states by every measure.

    `first_episodes` leaves out those that a suite has grown by since. The `spared` measures are
    left out if they need what the policy does not offer.
    """
    stored = StoredEpisodes(directory.suite(), first_episodes)
    episodes = stored.episodes()
    fitted = _fitted(directory, condition, text, episodes)
    words = condition_words(fitted, text)
    weights = weigh(fitted, episodes)
    counted = tally(stored.chunks(), weights)
    refuse_one_sided(weights, episodes, words, partial(_remedy, directory, fitted, counted))
    found = Analysis(stored, fitted, words, episodes, weights, counted)
    for name, measure in measures.items():
        try:
            found.rank_by(name, measure)
        except NotOfferedError as error:
            if name not in spared:
                raise
            found.left_out[name] = str(error)
    return found


def _remedy(directory: RunDirectory, condition: Condition, counted: Tally, passed: bool) -> str:
    """Return what would help where all episodes passed, or all failed; empty: the usual."""
    if passed and not (counted.differed > 0).any():
        return "the default action never differed from the policy's: try another --default-action"
    parts = directory.unmutated()
    if not passed and parts.covered():
        unmutated = StoredEpisodes(parts).episodes()
        if not weigh(condition, unmutated).any():
            mean = unmutated.total_return.mean()
            return (
                f"the unmutated policy itself never passes (its mean return is {mean:.4g}): try a "
                "--condition that it meets, or a better --policy"
            )
    return ""


def _fitted(
    directory: RunDirectory, condition: Condition, text: str, episodes: Episodes
) -> Condition:
    """Return the condition with what it learned before in this run, or learns now."""
    if not isinstance(condition, LearnsFromEpisodes):
        return condition
    held = (directory.read_json(CONDITIONS) or {}).get(text)
    if held is None:
        return fit_condition(condition, episodes)
    try:
        return restore_condition(condition, held["learned"])
    except (KeyError, TypeError, ValueError, AttributeError):
        path = directory.path / CONDITIONS
        raise StoreError(f"{str(path)!r} holds nothing usable for {text!r}: delete it") from None


def keep_condition(directory: RunDirectory, text: str, found: Analysis) -> None:
    """Store what a condition has learned, so that it is learned once in the life of a run."""
    if not isinstance(found.condition, LearnsFromEpisodes):
        return
    held: Json = directory.read_json(CONDITIONS) or {}
    if text not in held:
        held[text] = {
            "learned": stored_fields(found.condition),
            "episodes": len(found.episodes),
        }
        directory.write_json(CONDITIONS, held)


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


def restore_condition(condition: Any, fields: Json) -> Condition:
    """Return a condition with what it had learned before."""
    restored: Condition = dataclasses.replace(condition, **learned_as_tuples(fields))
    return restored


def condition_words(condition: Condition, text: str) -> str:
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
