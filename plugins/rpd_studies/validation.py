"""What single states do when they alone are mutated, beside what the suite says of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack

import numpy as np

from rpd_core.analysis.analysis import Analysis, weigh
from rpd_core.analysis.verdicts import Decisions, Verdict
from rpd_core.chance import Phase
from rpd_core.errors import ConfigError, EvidenceError
from rpd_core.plugin.protocols import Condition
from rpd_core.pruning.confirm import mean_bounds
from rpd_core.results.run import Run
from rpd_studies.estimates import Estimate, rank_agreement, risk_difference

if TYPE_CHECKING:
    from rpd_core.api import Playing
    from rpd_core.plugin.protocols import FloatArray, IntArray
    from rpd_core.store.session import Session
    from rpd_studies.alone import Alone

FILE = "validation.json"
_MOST = 0.5
"""Share of states that are not reached from which on that is the result."""
_FEWEST = 3
"""Reached states from which on their order can be compared."""


@dataclass(frozen=True)
class ValidatedState:
    """One state of the list, mutated alone."""

    rank: int
    """Place in the list."""
    key: int
    """Key of the state."""
    state: str
    """The state in words."""
    groups: tuple[str, ...]
    """Why it was chosen: `top`, `middle`, `harmless`, `random`."""
    verdict: str
    """What the suite says of it."""
    reached: int
    """Unmutated episodes that visit it."""
    suite_effect: float
    """Effect on the risk of failing, in the suite."""
    suite_return: float
    """Effect on the return, in the suite."""
    effect: Estimate | None
    """Effect on the risk alone, over the episodes that reach it; null if none does."""
    effect_return: Estimate | None
    """Effect on the return alone, over the same."""


@dataclass(frozen=True)
class ValidatedGroup:
    """States that were chosen for the same reason."""

    name: str
    """`top`, `middle`, `harmless` or `random`."""
    states: int
    """How many."""
    reached: int
    """Those that some unmutated episode visits."""
    suite_effect: float | None
    """Mean effect of these in the suite; null if none is reached."""
    effect: float | None
    """Mean effect of the same alone."""


@dataclass(frozen=True)
class Validation:
    """Whether the suite's effects are those of mutating one state alone."""

    analysis: str
    """Name of the analysis whose list it is."""
    condition: str
    """The condition in force, in words."""
    mutation_rate: float
    """Of the suite."""
    episodes: int
    """Unmutated episodes, each with a twin per state that it visits."""
    twins: int
    """Twins that were played."""
    states: int
    """States that were chosen."""
    reached: int
    """Those that some unmutated episode visits; all that follows is about them."""
    rank_correlation: Estimate | None
    """Spearman's, of the effects on the risk in the suite and alone; null where it has no value."""
    rank_correlation_returns: Estimate | None
    """The same of the effects on the return."""
    same_sign: int
    """States whose effects on the risk have the same sign in both."""
    other_sign: int
    """States whose effects have different signs."""
    no_difference: int
    """States without any effect on the risk in one of the two."""
    groups: tuple[ValidatedGroup, ...]
    rows: tuple[ValidatedState, ...]
    """The states, in the order of the list."""
    sentences: tuple[str, ...] = ()
    """What it comes to, the most important first: whoever shows it needs nothing else."""


def validate(
    run: Run | str | os.PathLike[str],
    states: int = 10,
    episodes: int = 400,
    reached: bool = False,
    **how: Unpack[Playing],
) -> Validation:
    """Mutate single states of a stored list alone, and compare with what the suite says of them.

    `states` per group (top, middle, harmless, random), tried on `episodes` unmutated episodes;
    `reached` chooses only what these reach.
    """
    from rpd_core.api import continued  # it plays; reading what was found does not

    with continued(run, **how) as (session, opened):
        return _validate_session(session, opened, states, episodes, reached)


def _validate_session(
    session: Session, run: Run, states: int, episodes: int, only_reached: bool = False
) -> Validation:
    """Validate the list of a run that is open for playing."""
    for name, value in (("states", states), ("episodes", episodes)):
        if value < 1:
            raise ConfigError(f"{name} must be at least 1, got {value}")
    found = run.decided()
    listed = found.listed(only_reached=only_reached)
    if not len(listed):
        raise EvidenceError(f"analysis {run.name!r} lists no decision: there is nothing to check")
    chosen = choose_states(found, listed, states, session.setup.config.settings.seed)
    rows = np.array(sorted({row for group in chosen.values() for row in group.tolist()}))
    from rpd_core.pruning.evaluation import Evaluations  # likewise
    from rpd_studies.alone import play_alone

    evaluations = Evaluations(session)
    played = play_alone(evaluations, found.counted.states.key[listed[rows]], episodes)
    answer = _compared(run, found, listed, chosen, rows, played)
    answer = replace(answer, sentences=tuple(sentences(answer)))
    session.directory.write_json(f"analyses/{run.name}/{FILE}", answer)
    return answer


def choose_states(found: Decisions, listed: IntArray, count: int, seed: int) -> dict[str, IntArray]:
    """Return the places in the list, from 0, of the states of each group."""
    size = len(listed)
    begin = max(min((size - count) // 2, size - count), 0)
    harmless = np.flatnonzero(found.verdicts.are(Verdict.HARMLESS)[listed])
    generator = np.random.default_rng([seed, int(Phase.VALIDATE)])
    groups = {
        "top": np.arange(min(count, size)),
        "middle": np.arange(begin, min(begin + count, size)),
        "harmless": harmless[-count:],
        "random": np.sort(generator.permutation(size)[:count]),
    }
    return {name: places for name, places in groups.items() if len(places)}


def _compared(
    run: Run,
    found: Decisions,
    listed: IntArray,
    chosen: dict[str, IntArray],
    places: IntArray,
    played: Alone,
) -> Validation:
    analysis = run.analysis
    keys = found.counted.states.key[listed[places]]
    words = analysis.stored.words(keys)
    outcomes = _Outcomes(analysis.condition, played)
    returns = _return_effects(found)
    labels = found.verdicts.labels()
    rows = []
    for place, key in zip(places.tolist(), keys.tolist(), strict=True):
        row = int(listed[place])
        rows.append(
            ValidatedState(
                rank=place + 1,
                key=key,
                state=words.get(key, f"{key:016x}"),
                groups=tuple(name for name, group in chosen.items() if place in group),
                verdict=str(labels[row]),
                reached=len(played.visiting[key]),
                suite_effect=float(found.effects.estimate[row]),
                suite_return=float(returns[row]),
                effect=outcomes.risk(key),
                effect_return=outcomes.returns(key),
            )
        )
    return _whole(run, analysis, played, tuple(rows), tuple(chosen))


class _Outcomes:
    """Differences between twins and their unmutated episodes."""

    def __init__(self, condition: Condition, played: Alone) -> None:
        self.condition, self.played = condition, played
        self.failed = 1 - weigh(condition, played.unmutated)

    def risk(self, key: int) -> Estimate | None:
        twins, rows = self.played.twins.get(key), self.played.visiting[key]
        if twins is None:
            return None
        return risk_difference(1 - weigh(self.condition, twins), self.failed[rows])

    def returns(self, key: int) -> Estimate | None:
        twins, rows = self.played.twins.get(key), self.played.visiting[key]
        if twins is None:
            return None
        differences = twins.total_return - self.played.unmutated.total_return[rows]
        ends = (
            mean_bounds(differences, 0.025, float(differences.min()))
            if len(rows) > 1
            else (None, None)
        )
        return Estimate(float(differences.mean()), *ends)


def _return_effects(found: Decisions) -> FloatArray:
    """Return the difference of the mean returns of the two arms, in the suite."""
    spectrum, returns = found.counted.spectrum, found.counted.returns
    mutated = np.maximum(spectrum.mutated_failed + spectrum.mutated_passed, 1e-9)
    kept = np.maximum(spectrum.kept_failed + spectrum.kept_passed, 1e-9)
    return np.asarray(returns.mutated_sum / mutated - returns.kept_sum / kept)


def _whole(
    run: Run,
    analysis: Analysis,
    played: Alone,
    rows: tuple[ValidatedState, ...],
    groups: tuple[str, ...],
) -> Validation:
    reached = [row for row in rows if row.effect is not None]
    effects = _columns([(row.suite_effect, row.effect) for row in reached])
    returns = _columns([(row.suite_return, row.effect_return) for row in reached])
    signs = np.sign(effects[0]) * np.sign(effects[1])
    settings = run.directory.stored().settings
    enough = len(reached) >= _FEWEST
    return Validation(
        analysis=str(run.name),
        condition=analysis.condition_text,
        mutation_rate=settings.mutation_rate,
        episodes=len(played.unmutated),
        twins=sum(map(len, played.twins.values())),
        states=len(rows),
        reached=len(reached),
        rank_correlation=rank_agreement(*effects, settings.seed) if enough else None,
        rank_correlation_returns=rank_agreement(*returns, settings.seed) if enough else None,
        same_sign=int((signs > 0).sum()),
        other_sign=int((signs < 0).sum()),
        no_difference=int((signs == 0).sum()),
        groups=tuple(_group(name, rows) for name in groups),
        rows=rows,
    )


def _columns(pairs: Sequence[tuple[float, Estimate | None]]) -> tuple[FloatArray, FloatArray]:
    suite = np.array([suite for suite, _ in pairs])
    return suite, np.array([alone.estimate for _, alone in pairs if alone is not None])


def _group(name: str, rows: Sequence[ValidatedState]) -> ValidatedGroup:
    mine = [row for row in rows if name in row.groups]
    reached = [(row.suite_effect, row.effect) for row in mine if row.effect is not None]
    suite, alone = _columns(reached)
    means = (float(suite.mean()), float(alone.mean())) if reached else (None, None)
    return ValidatedGroup(name, len(mine), len(reached), *means)


def sentences(found: Validation) -> list[str]:
    """Return what a validation says, the most important first."""
    lost = found.states - found.reached
    said = []
    if lost > _MOST * found.states:
        said.append(
            f"{lost} of {found.states} decisions are not reached in {found.episodes} unmutated "
            "episodes, and mutating them alone changes nothing there. That is the result: the list "
            f"is about what happens under mutation at rate {found.mutation_rate:g}, not about "
            "single mistakes. --reached checks only what is reached."
        )
    elif lost:
        said.append(f"{lost} of {found.states} are not reached in {found.episodes} episodes.")
    if found.reached:
        said.append(_agreement(found))
        said += [
            f"{group.name}: {group.reached} of {group.states} reached, mean effect "
            f"{group.suite_effect:+.2f} in the suite and {group.effect:+.2f} alone."
            for group in found.groups
            if group.suite_effect is not None
        ]
    return said


def _agreement(found: Validation) -> str:
    text = f"Over the {found.reached} that are reached"
    whole = found.rank_correlation
    if whole is None:
        text += " there is no rank correlation to speak of (too few, or all alike)"
    else:
        text += f" the rank correlation of suite and alone is {whole.text}"
    if found.rank_correlation_returns is not None:
        text += f", of returns {found.rank_correlation_returns.estimate:.2f}"
    return (
        f"{text}; the sign is the same in {found.same_sign}, another in {found.other_sign}, and "
        f"{found.no_difference} show no difference."
    )
