"""Scores -> ranking: states in descending score, ties broken by state key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.spectrum import Tally
from rpd_core.chance import Domain, combine, to_unit, word
from rpd_core.errors import ComponentError, RpdError, one_line
from rpd_core.plugin.blame import whose
from rpd_core.plugin.protocols import Evidence, Measure, Scores, Suite

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray, IntArray, KeyArray


@dataclass(frozen=True)
class Ranking:
    """The order of a suite's states under one measure."""

    name: str
    order: IntArray
    """Rows of the suite's states, most important first."""
    scores: FloatArray
    """Score of each row of the suite's states, not in rank order."""
    keys: KeyArray
    """Key of each row of the suite's states."""
    interval: Scores | None = None
    """What the measure says with intervals, if it does; rows as in `scores`."""

    def __len__(self) -> int:
        return len(self.order)

    @property
    def ranked_keys(self) -> KeyArray:
        return self.keys[self.order]

    def tie_blocks(self) -> IntArray:
        """Return the sizes of the groups of two or more states with the same score, best first."""
        ordered = self.scores[self.order]
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        sizes = np.diff(np.r_[starts, len(ordered)])
        return np.asarray(sizes[sizes > 1])


def evidence_for(
    measure: Measure, counted: Tally, weights: FloatArray, whole: Callable[[], Suite]
) -> Evidence:
    """Return for a measure what is counted and, where it declares that, the suite itself."""
    needs = tuple(getattr(measure, "needs", ()))
    unknown = [need for need in needs if need != "suite"]
    if unknown:
        raise ComponentError(
            f"measure {type(measure).__name__} needs {unknown[0]!r}; only 'suite' is on offer"
        )
    evidence = counted.evidence()
    return replace(evidence, weights=weights, suite=whole()) if needs else evidence


def rank(name: str, measure: Measure, evidence: Evidence) -> Ranking:
    """Score all states and put them in order."""
    scores, interval = scored(name, measure, evidence)
    order = np.lexsort((evidence.keys, -scores))
    return Ranking(name, order, scores, evidence.keys, interval)


def scored(name: str, measure: Measure, evidence: Evidence) -> tuple[FloatArray, Scores | None]:
    """Score all states; with the intervals of their scores, where the measure has some."""
    who = f"measure {name!r}{whose('measure', measure)}"
    try:
        given = measure(evidence)
    except RpdError:
        raise
    except Exception as error:  # a stranger's measure may raise anything
        raise ComponentError(f"{who} raised {one_line(error)}") from error
    values = given.values if isinstance(given, Scores) else given
    scores = _checked(who, "scores", values, evidence)
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores))[0])
        cells = {key: float(value[row]) for key, value in vars(evidence.spectrum).items()}
        raise ComponentError(
            f"{who} gave {scores[row]} for a state with {cells}; say what 0/0 means"
        )
    return scores, _interval(who, given, evidence) if isinstance(given, Scores) else None


def _interval(who: str, given: Scores, evidence: Evidence) -> Scores:
    """Return scores whose intervals are arrays, one row per state, each the right way round."""
    low, high = (
        _checked(who, f"ends of intervals ({end})", getattr(given, end), evidence)
        for end in ("low", "high")
    )
    if (high < low).any():
        row = int(np.flatnonzero(high < low)[0])
        raise ComponentError(f"{who} gave an interval from {low[row]:g} to {high[row]:g}")
    return replace(given, low=low, high=high)


def _checked(who: str, what: str, given: object, evidence: Evidence) -> FloatArray:
    try:
        column = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ComponentError(
            f"{who} gave {what} that are not numbers ({one_line(error)})"
        ) from error
    if column.shape != evidence.keys.shape:
        raise ComponentError(
            f"{who} gave {what} of shape {column.shape} for "
            f"{len(evidence.keys)} states; one per state is needed"
        )
    return column


def random_scores(keys: KeyArray, seed: int) -> FloatArray:
    """Return for every state a uniform score that depends on its key and the seed alone."""
    root = combine(word(seed), word(int(Domain.RANKING)))
    return to_unit(combine(root, keys))


def random_ranking(keys: KeyArray, seed: int) -> Ranking:
    scores = random_scores(keys, seed)
    return Ranking(f"random:seed={seed}", np.lexsort((keys, -scores)), scores, keys)
