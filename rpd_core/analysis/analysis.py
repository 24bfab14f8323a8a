"""What a stored suite says under one condition: weights, spectrum, rankings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from rpd_core.analysis.conditions import (
    fit_condition,
    in_words,
    learned_fields,
    refuse_one_sided,
    restore_condition,
    weigh,
)
from rpd_core.analysis.ranking import Ranking, evidence_for, rank
from rpd_core.analysis.reading import StoredEpisodes
from rpd_core.analysis.spectrum import Tally, tally
from rpd_core.errors import StoreError
from rpd_core.plugin.protocols import Condition, Episodes, Measure, Suite
from rpd_core.plugin.protocols.optional import LearnsFromEpisodes
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
) -> Analysis:
    """Weigh the stored episodes, count the spectrum, rank the states by every measure.

    `first_episodes` leaves out those that a suite has grown by since.
    """
    stored = StoredEpisodes(directory.suite(), first_episodes)
    episodes = stored.episodes()
    fitted = _fitted(directory, condition, text, episodes)
    words = in_words(fitted, text)
    weights = weigh(fitted, episodes)
    counted = tally(stored.chunks(), weights)
    refuse_one_sided(weights, episodes, words, partial(_remedy, directory, fitted, counted))
    found = Analysis(stored, fitted, words, episodes, weights, counted)
    for name, measure in measures.items():
        found.rank_by(name, measure)
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
    held: dict[str, Any] = directory.read_json(CONDITIONS) or {}
    if text not in held:
        held[text] = {
            "learned": learned_fields(found.condition),
            "episodes": len(found.episodes),
        }
        directory.write_json(CONDITIONS, held)
