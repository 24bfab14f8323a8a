"""Two stored runs -> a comparison; nothing is played, locked or written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rpd_compare.agreement import CLEAR, Choices, agreements, compare_choices
from rpd_compare.changes import Differences, compare_effects, difference_interval
from rpd_compare.comparable import effects_differ_because, refuse_incomparable
from rpd_compare.records import (
    AgreementCurve,
    ComparedState,
    Comparison,
    EffectOf,
    Side,
)
from rpd_core.analysis.decisions import Decisions
from rpd_core.analysis.spectrum import identified
from rpd_core.errors import EvidenceError
from rpd_core.plugin.protocols import Spectrum
from rpd_core.pruning.curves import shown_curves
from rpd_core.results.pictures import read_pictures
from rpd_core.results.run import Run, opened_run
from rpd_core.results.words import policy_words

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import BoolArray, IntArray, KeyArray

SHARES = tuple(percent / 100 for percent in range(1, 101))
"""Shares of the states at which agreement is measured."""
FREQVIS = "freqvis"
"""The paper's measure to compare with: how often a state is visited."""
PAPER = "tarantula"
"""The paper's measure in this experiment."""
LISTED = 50
"""States of each list that a comparison holds."""


def compare(
    a: Run | str | os.PathLike[str],
    b: Run | str | os.PathLike[str],
    measures: Sequence[Any] = (),
) -> Comparison:
    """Compare the policies of two runs over the states that both suites met.

    States are ranked by the first run: by these measures, or else by that of its list and by
    tarantula as in the paper; and always by FreqVis. Nothing is played.
    """
    one, two = opened_run(a), opened_run(b)
    refuse_incomparable(one, two)
    pair = _Pair.of(one, two)
    if not len(pair.keys):
        raise EvidenceError("the two suites have no state in common: there is nothing to compare")
    choices = compare_choices(
        one.analysis.counted.states, pair.rows, two.analysis.counted.states, pair.other_rows
    )
    return _Comparing(pair, choices).comparison(measures)


@dataclass(frozen=True)
class _Pair:
    """Two runs and the states that both met."""

    a: Run
    b: Run
    listed_a: Decisions
    listed_b: Decisions
    keys: KeyArray
    rows: IntArray
    """Row of each common state in the first suite."""
    other_rows: IntArray
    """The same in the second."""

    @classmethod
    def of(cls, a: Run, b: Run) -> _Pair:
        one, two = a.analysis.counted.states.key, b.analysis.counted.states.key
        keys, rows, other_rows = np.intersect1d(one, two, return_indices=True)
        return cls(a, b, a.decided(), b.decided(), keys, rows, other_rows)


@dataclass(frozen=True)
class _Comparing:
    """Puts a comparison together."""

    pair: _Pair
    choices: Choices

    def comparison(self, measures: Sequence[Any]) -> Comparison:
        """Return everything that is compared."""
        pair, stored = self.pair, self.pair.a.directory.stored()
        reason = effects_differ_because(pair.a, pair.b)
        judged = np.zeros(len(pair.keys), dtype=np.bool_) if reason else self._judged()
        differences = self._differences(judged)
        found = _Described(self, judged, differences)
        changed = found.changed()
        differing = self._disagreeing()
        curves_a, curves_b = (
            shown_curves(run.curves, run.random_curves) for run in (pair.a, pair.b)
        )
        return Comparison(
            env=stored.env,
            abstraction=tuple(stored.settings.abstraction),
            default_action=stored.settings.default_action,
            a=_side(pair.a),
            b=_side(pair.b),
            common=len(pair.keys),
            only_a=len(pair.listed_a.counted.states) - len(pair.keys),
            only_b=len(pair.listed_b.counted.states) - len(pair.keys),
            unclear=int((~self.choices.clear).sum()),
            agreement=self._agreement(measures),
            judged=int(judged.sum()),
            gained=int(differences.gained.sum()),
            lost=int(differences.lost.sum()),
            changes=found.rows(changed[:LISTED]),
            disagreements=int((~self.choices.same).sum()),
            disagreeing=found.rows(differing[:LISTED]),
            curves_a=curves_a,
            curves_b=curves_b,
            notes=self._notes(reason),
        )

    def _agreement(self, measures: Sequence[Any]) -> tuple[AgreementCurve, ...]:
        run, pair = self.pair.a, self.pair
        if measures:
            rankings = [run.ranked(one) for one in measures]
        else:
            rankings = [pair.listed_a.ranking, run.ranked(PAPER)]
        named = {one.name: one for one in (*rankings, run.ranked(FREQVIS))}
        place = np.full(len(pair.listed_a.counted.states), -1)
        place[pair.rows] = np.arange(len(pair.rows))
        curves = []
        for name, ranking in named.items():
            order = place[ranking.order]
            curves.append(AgreementCurve(name, agreements(self.choices, order[order >= 0], SHARES)))
        return tuple(curves)

    def _judged(self) -> BoolArray:
        """Return the common states with enough episodes whose default action ever differed."""
        pair = self.pair
        one, two = pair.listed_a, pair.listed_b
        least = max(run.asked.settings.evidence for run in (pair.a, pair.b))
        enough = identified(one.counted.spectrum, least)[pair.rows]
        enough = enough & identified(two.counted.spectrum, least)[pair.other_rows]
        return np.asarray(enough & (one.differs[pair.rows] | two.differs[pair.other_rows]))

    def _differences(self, judged: BoolArray) -> Differences:
        """Compare the effects of all common states; only those judged can have changed."""
        pair = self.pair
        first = _taken(pair.listed_a.counted.spectrum, pair.rows)
        second = _taken(pair.listed_b.counted.spectrum, pair.other_rows)
        level = 1 - pair.a.asked.settings.confidence
        some = np.flatnonzero(judged)
        found = compare_effects(_taken(first, some), _taken(second, some), level)
        gained, lost = np.zeros_like(judged), np.zeros_like(judged)
        gained[some], lost[some] = found.gained, found.lost
        return Differences(difference_interval(first, second), gained, lost)

    def _disagreeing(self) -> IntArray:
        """Return common states of either list in which the policies differ, by the better rank.

        Where one abstract state holds several decisions of a policy, its most frequent action says
        little: states with most choices in common come last.
        """
        pair = self.pair
        best = np.minimum(_ranks(pair.listed_a)[pair.rows], _ranks(pair.listed_b)[pair.other_rows])
        some = np.flatnonzero(~self.choices.same & np.isfinite(best))
        vague = self.choices.overlap[some] > 0.5
        return some[np.lexsort((pair.keys[some], best[some], vague))]

    def _notes(self, reason: str) -> tuple[str, ...]:
        pair, notes = self.pair, []
        unclear = int((~self.choices.clear).sum())
        if unclear > 0.05 * len(pair.keys):
            notes.append(
                f"In {unclear} of the {len(pair.keys)} states one of the policies has no action "
                f"that makes up {CLEAR:.0%} of its choices: the state holds several decisions, and "
                "the most frequent one says little; a finer --abstraction tells them apart."
            )
        if reason:
            notes.append(reason)
        if pair.a.path.resolve() == pair.b.path.resolve():
            notes.append("Both are the same run.")
        return tuple(notes)


@dataclass(frozen=True)
class _Described:
    """Puts common states into words."""

    comparing: _Comparing
    judged: BoolArray
    differences: Differences

    def changed(self) -> IntArray:
        """Return the states whose effect changed, the largest sure change first."""
        interval = self.differences.interval
        sure = np.maximum(interval.low, -interval.high)
        some = np.flatnonzero(self.differences.gained | self.differences.lost)
        return some[np.lexsort((self.comparing.pair.keys[some], -sure[some]))]

    def rows(self, some: IntArray) -> tuple[ComparedState, ...]:
        """Return some common states in words."""
        pair, choices = self.comparing.pair, self.comparing.choices
        keys = pair.keys[some]
        words = pair.a.analysis.stored.words(keys)
        pictures = _pictures(pair)
        sides = _sides(pair, some)
        interval = self.differences.interval
        made = []
        for place, at in enumerate(some.tolist()):
            key = int(keys[place])
            picture = pictures.get(key)
            made.append(
                ComparedState(
                    key=key,
                    state=words.get(key, f"{key:016x}"),
                    a=sides[0][place],
                    b=sides[1][place],
                    same=bool(choices.same[at]),
                    overlap=float(choices.overlap[at]),
                    difference=float(interval.estimate[at]),
                    low=float(interval.low[at]),
                    high=float(interval.high[at]),
                    change=self.differences.change(at) if self.judged[at] else None,
                    picture=None if picture is None else str(picture),
                )
            )
        return tuple(made)


def _sides(pair: _Pair, some: IntArray) -> tuple[list[EffectOf], list[EffectOf]]:
    """Return what each run says of some common states."""
    return (
        _effects(pair.a, pair.listed_a, pair.rows[some]),
        _effects(pair.b, pair.listed_b, pair.other_rows[some]),
    )


def _effects(run: Run, found: Decisions, rows: IntArray) -> list[EffectOf]:
    names, ranks, states = run.directory.names().choices, _ranks(found), found.counted.states
    reached = found.reach.share_of_episodes(states.key[rows])
    return [
        EffectOf(
            float(found.effects.estimate[row]),
            float(found.effects.low[row]),
            float(found.effects.high[row]),
            int(ranks[row]) if np.isfinite(ranks[row]) else None,
            policy_words(states, row, names),
            float(reached[place]),
        )
        for place, row in enumerate(rows.tolist())
    ]


def _ranks(found: Decisions) -> Any:
    """Return the place of every state in the list of decisions; infinite where it is not listed."""
    ranks = np.full(len(found.counted.states), np.inf)
    listed = found.listed()
    ranks[listed] = np.arange(1, len(listed) + 1)
    return ranks


def _pictures(pair: _Pair) -> dict[int, Path]:
    """Return the files with pictures of states, those of the first run where both have one."""
    stored = [read_pictures(run.path, str(run.name)) for run in (pair.b, pair.a)]
    return {key: path for one in stored if one is not None for key, path in one.states.items()}


def _taken(spectrum: Spectrum, rows: IntArray) -> Spectrum:
    return Spectrum(**{name: cell[rows] for name, cell in vars(spectrum).items()})


def _side(run: Run) -> Side:
    found = run.summary
    return Side(
        path=str(run.path),
        analysis=found.analysis,
        policy=found.policy_spec,
        seed=found.seed,
        episodes=found.suite.episodes,
        states=found.suite.states,
        mutation_rate=found.suite.mutation_rate,
        condition=found.condition,
        passed=found.pass_rates.suite,
        return_mean=found.original.return_mean,
        reference=found.original.reference,
        default_everywhere=found.original.default_everywhere,
    )
