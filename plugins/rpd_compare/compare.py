"""Two stored runs -> a comparison; nothing is played, locked or written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rpd_compare.agreement import CLEAR, Choices, agreements, compare_choices
from rpd_compare.changes import Differences, compare_effects, difference_interval
from rpd_compare.comparable import effects_differ_because, refuse_incomparable
from rpd_compare.needs import compare_needs, notes_on_needs, smallest_of
from rpd_compare.records import (
    AgreementCurve,
    ComparedDecision,
    ComparedState,
    Comparison,
    EffectOf,
    Side,
)
from rpd_core.analysis.spectrum import identified
from rpd_core.analysis.verdicts import Decisions
from rpd_core.errors import EvidenceError
from rpd_core.plugin.protocols import Spectrum, States
from rpd_core.pruning.curves import shown_curves
from rpd_core.results.run import Run, as_run
from rpd_core.results.words import policy_words
from rpd_pictures.stored import read_pictures

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import BoolArray, FloatArray, IntArray, KeyArray

_SHARES = tuple(percent / 100 for percent in range(1, 101))
"""Shares of the states at which agreement is measured."""
_FREQVIS = "freqvis"
"""The paper's measure to compare with: how often a state is visited."""
_PAPER = "tarantula"
"""The paper's measure in this experiment."""
_LISTED = 50
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
    one, two = as_run(a), as_run(b)
    refuse_incomparable(one, two)
    pair = _pair_of(one, two)
    if not len(pair.keys):
        raise EvidenceError("the two suites have no state in common: there is nothing to compare")
    stored, choices = one.directory.stored(), pair.choices
    reason = effects_differ_because(one, two)
    judged = np.zeros(len(pair.keys), dtype=np.bool_) if reason else _judged(pair)
    differences = _differences(pair, judged)
    curves_a, curves_b = (shown_curves(run.curves, run.random_curves) for run in (one, two))
    return Comparison(
        env=stored.env,
        abstraction=tuple(stored.settings.abstraction),
        default_action=stored.settings.default_action,
        a=_side(one),
        b=_side(two),
        needs=_needs(pair),
        common=len(pair.keys),
        only_a=len(pair.a.states) - len(pair.keys),
        only_b=len(pair.b.states) - len(pair.keys),
        unclear=int((~choices.clear).sum()),
        agreement=_agreement(pair, measures),
        judged=int(judged.sum()),
        gained=int(differences.gained.sum()),
        lost=int(differences.lost.sum()),
        changes=_in_words(pair, _changed(pair, differences)[:_LISTED], judged, differences),
        disagreements=int((~choices.same).sum()),
        disagreeing=_in_words(pair, _disagreeing(pair)[:_LISTED], judged, differences),
        curves_a=curves_a,
        curves_b=curves_b,
        notes=tuple(_notes(pair, reason)),
    )


@dataclass(frozen=True)
class _Half:
    """One of the runs."""

    run: Run
    listed: Decisions
    rows: IntArray
    """Row of each common state in its suite."""

    @property
    def states(self) -> States:
        """All states of its suite."""
        return self.listed.counted.states

    @property
    def spectrum(self) -> Spectrum:
        """That of the common states."""
        return _taken(self.listed.counted.spectrum, self.rows)

    @property
    def ranks(self) -> FloatArray:
        """Place of every state in the list of decisions; infinite where it is not listed."""
        ranks, listed = np.full(len(self.states), np.inf), self.listed.listed()
        ranks[listed] = np.arange(1, len(listed) + 1)
        return ranks


@dataclass(frozen=True)
class _Pair:
    """Two runs and the states that both met."""

    a: _Half
    b: _Half
    keys: KeyArray
    choices: Choices
    """What both policies do in them."""


def _pair_of(a: Run, b: Run) -> _Pair:
    first, second = a.analysis.counted.states, b.analysis.counted.states
    keys, rows, other_rows = np.intersect1d(first.key, second.key, return_indices=True)
    choices = compare_choices(first, rows, second, other_rows)
    return _Pair(_Half(a, a.decided(), rows), _Half(b, b.decided(), other_rows), keys, choices)


def _agreement(pair: _Pair, measures: Sequence[Any]) -> tuple[AgreementCurve, ...]:
    run = pair.a.run
    if measures:
        rankings = [run.ranked(one) for one in measures]
    else:
        rankings = [pair.a.listed.ranking, run.ranked(_PAPER)]
    named = {one.name: one for one in (*rankings, run.ranked(_FREQVIS))}
    place = np.full(len(pair.a.states), -1)
    place[pair.a.rows] = np.arange(len(pair.keys))
    curves = []
    for name, ranking in named.items():
        order = place[ranking.order]
        curves.append(AgreementCurve(name, agreements(pair.choices, order[order >= 0], _SHARES)))
    return tuple(curves)


def _judged(pair: _Pair) -> BoolArray:
    """Return the common states with enough episodes whose default action ever differed."""
    halves = pair.a, pair.b
    least = max(one.run.asked.settings.evidence for one in halves)
    enough = [identified(one.spectrum, least) for one in halves]
    differs = [one.listed.differs[one.rows] for one in halves]
    return np.asarray(enough[0] & enough[1] & (differs[0] | differs[1]))


def _differences(pair: _Pair, judged: BoolArray) -> Differences:
    """Compare the effects of all common states; only those judged can have changed."""
    first, second = pair.a.spectrum, pair.b.spectrum
    level = 1 - pair.a.run.asked.settings.confidence
    some = np.flatnonzero(judged)
    found = compare_effects(_taken(first, some), _taken(second, some), level)
    gained, lost = np.zeros_like(judged), np.zeros_like(judged)
    gained[some], lost[some] = found.gained, found.lost
    return Differences(difference_interval(first, second), gained, lost)


def _changed(pair: _Pair, differences: Differences) -> IntArray:
    """Return the states whose effect changed, the largest sure change first."""
    interval = differences.interval
    sure = np.maximum(interval.low, -interval.high)
    some = np.flatnonzero(differences.gained | differences.lost)
    return some[np.lexsort((pair.keys[some], -sure[some]))]


def _disagreeing(pair: _Pair) -> IntArray:
    """Return common states of either list in which the policies differ, by the better rank.

    Where one abstract state holds several decisions of a policy, its most frequent action says
    little: states with most choices in common come last.
    """
    best = np.minimum(pair.a.ranks[pair.a.rows], pair.b.ranks[pair.b.rows])
    some = np.flatnonzero(~pair.choices.same & np.isfinite(best))
    vague = pair.choices.overlap[some] > 0.5
    return some[np.lexsort((pair.keys[some], best[some], vague))]


def _needs(pair: _Pair) -> tuple[ComparedDecision, ...]:
    pictures = _pictures(pair)
    return tuple(
        replace(row, picture=str(pictures[row.key]) if row.key in pictures else None)
        for row in compare_needs(pair.a.run, pair.b.run)
    )


def _notes(pair: _Pair, reason: str) -> Iterator[str]:
    unclear = int((~pair.choices.clear).sum())
    if unclear > 0.05 * len(pair.keys):
        yield (
            f"In {unclear} of the {len(pair.keys)} states one of the policies has no action that "
            f"makes up {CLEAR:.0%} of its choices: the state holds several decisions, and the most "
            "frequent one says little; a finer --abstraction tells them apart."
        )
    yield from notes_on_needs(pair.a.run, pair.b.run)
    if reason:
        yield reason
    if pair.a.run.path.resolve() == pair.b.run.path.resolve():
        yield "Both are the same run."


def _in_words(
    pair: _Pair, some: IntArray, judged: BoolArray, differences: Differences
) -> tuple[ComparedState, ...]:
    """Return some common states in words."""
    keys, interval, choices = pair.keys[some], differences.interval, pair.choices
    words, pictures = pair.a.run.analysis.stored.words(keys), _pictures(pair)
    sides = zip(_effects(pair.a, some), _effects(pair.b, some), strict=True)
    made = []
    for key, at, (one, two) in zip(keys.tolist(), some.tolist(), sides, strict=True):
        picture = pictures.get(key)
        made.append(
            ComparedState(
                key=key,
                state=words.get(key, f"{key:016x}"),
                a=one,
                b=two,
                same=bool(choices.same[at]),
                overlap=float(choices.overlap[at]),
                difference=float(interval.estimate[at]),
                low=float(interval.low[at]),
                high=float(interval.high[at]),
                change=differences.change(at) if judged[at] else None,
                picture=None if picture is None else str(picture),
            )
        )
    return tuple(made)


def _effects(half: _Half, some: IntArray) -> list[EffectOf]:
    """Return what a run says of some common states."""
    rows, states, effects = half.rows[some], half.states, half.listed.effects
    names, ranks = half.run.directory.names().choices, half.ranks
    reached = half.listed.reach.share_of_episodes(states.key[rows])
    return [
        EffectOf(
            float(effects.estimate[row]),
            float(effects.low[row]),
            float(effects.high[row]),
            int(ranks[row]) if np.isfinite(ranks[row]) else None,
            policy_words(states, row, names),
            float(reached[place]),
        )
        for place, row in enumerate(rows.tolist())
    ]


def _pictures(pair: _Pair) -> dict[int, Path]:
    """Return the files with pictures of states, those of the first run where both have one."""
    runs = pair.b.run, pair.a.run
    stored = [read_pictures(run.path, str(run.name)) for run in runs]
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
        smallest=smallest_of(run),
    )
