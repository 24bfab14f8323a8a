"""Everything that a stored run knows about one decision; nothing is played."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from rpd_core.analysis.analysis import Analysis
from rpd_core.analysis.verdicts import Decisions
from rpd_core.errors import RpdError, counted, shell_word
from rpd_core.results.decisions import ranked_rows
from rpd_core.results.records import Decision, RankedDecision
from rpd_pictures.states import find_state

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray, IntArray
    from rpd_core.results.run import Run

_AROUND = 2
"""Decisions that are worth more and less, of which so many are shown."""
_EXAMPLES = 2
"""Episodes of each arm and outcome."""

Arm = Literal["mutated", "kept"]


@dataclass(frozen=True)
class Cells:
    """Episodes that visited the state, by fate and outcome; soft conditions pass fractions."""

    mutated_failed: float
    mutated_passed: float
    kept_failed: float
    kept_passed: float


@dataclass(frozen=True)
class _MeasuredState:
    """What one measure says of the state."""

    measure: str
    score: float
    rank: int
    """Place among all states, from 1; equal scores are in the order of the keys."""
    low: float | None = None
    """Lower end of the score's interval, where the measure has one."""
    high: float | None = None
    """Upper end of the same."""


@dataclass(frozen=True)
class _Example:
    """A mutant episode that visited the state."""

    episode: int
    """Its position in the suite; `rpd replay` calls it `suite:17`."""
    arm: Arm
    """Whether the state was mutated in it, or kept."""
    passed: float
    """1 if it passed, 0 if it failed; soft conditions pass fractions."""
    seed: int
    """What the environment was reset with."""
    step: int
    """Step of the first visit, from 0."""
    visits: int
    """Steps spent in the state."""
    differed: int
    """Those at which the default action was not what the policy chose."""
    total_return: float


@dataclass(frozen=True)
class Reached:
    """How often the policy reaches the state when nothing is mutated."""

    episodes: int
    total_episodes: int
    steps: int
    total_steps: int


@dataclass(frozen=True)
class _FirstSeen:
    """Where in the suite the state was first visited."""

    episode: int
    step: int
    seed: int
    """What the environment was reset with."""


@dataclass(frozen=True)
class Explanation:
    """Everything known about one decision."""

    key: int
    """Key of the state."""
    state: str
    """The state in words."""
    target: float
    """Share of the return that the smallest policy keeps."""
    decisions: int
    """Decisions of the smallest policy; 0: none is confirmed."""
    decision: Decision | None
    """What it is worth in the smallest policy; null: it is not in it, or none is confirmed."""
    above: tuple[Decision, ...]
    """The decisions that are worth more, the last of them."""
    below: tuple[Decision, ...]
    """Those that are worth less, the first of them."""
    kept: Mapping[str, bool]
    """By target, whether the smallest policy lets the policy decide there."""
    mutation_rate: float
    """Of the mutants that all that follows is about."""
    effect: RankedDecision
    """Its row of the list of a mutated policy; its rank is 0 where it is not listed."""
    listed: int
    """Decisions in that list."""
    measure: str
    """What the list is sorted by."""
    set_aside: str
    """Why it is not in the list; empty if it is."""
    condition: str
    """When an episode passed."""
    episodes: int
    """Mutant episodes that this stands on."""
    states: int
    """States that the measures rank."""
    cells: Cells
    measures: tuple[_MeasuredState, ...]
    """Score and rank by every measure of the analysis."""
    not_measured: Mapping[str, str]
    """Measures that cannot be used here, and why."""
    policy_shares: Mapping[str, float]
    """How often the policy chooses each discrete action there; empty for others."""
    default_shares: Mapping[str, float]
    """The same of the default action."""
    value_gap: float | None
    """Best minus worst action value there, averaged over visits; null if the policy has none."""
    default_gap: float | None
    """By how much it prefers its action to the default's, likewise."""
    entropy: float | None
    """Entropy of the action probabilities there in nats, likewise."""
    reached: Reached
    first_seen: _FirstSeen
    examples: tuple[_Example, ...]
    """Some episodes of each arm that passed and that failed."""
    replay: str
    """The command that plays the first of them again; empty if there is none."""


def explain(run: Run, name: str | int) -> Explanation:
    """Collect what is known about a decision: by its place by loss, its key or its words."""
    found, analysis, summary = run.decided(), run.analysis, run.summary
    states, names, answer = found.counted.states, run.directory.names(), summary.decisions
    row = find_state(states.key, [one.key for one in answer], analysis.stored, name)
    key, visits = int(states.key[row]), int(states.visits[row])
    place = next((at for at, one in enumerate(answer) if one.key == key), None)
    decision, effect = None if place is None else answer[place], _effect(run, found, row)
    examples = tuple(_examples(analysis, key))
    measures, not_measured = _measured(run, row)
    return Explanation(
        key=key,
        state=effect.state if decision is None else decision.state,
        target=run.target,
        decisions=len(answer),
        decision=decision,
        above=() if place is None else answer[max(place - _AROUND, 0) : place],
        below=() if place is None else answer[place + 1 : place + 1 + _AROUND],
        kept=_kept(run, key),
        mutation_rate=summary.suite.mutation_rate,
        effect=effect,
        listed=len(found.listed()),
        measure=found.ranking.name,
        set_aside=_set_aside(found, row, run.asked.settings.evidence),
        condition=analysis.condition_text,
        episodes=len(analysis.episodes),
        states=len(states),
        cells=Cells(
            **{name: float(cell[row]) for name, cell in vars(found.counted.spectrum).items()}
        ),
        measures=measures,
        not_measured=not_measured,
        policy_shares=_shares(states.choices[row], names.choices),
        default_shares=_shares(states.default_choices[row], names.choices),
        value_gap=_mean(states.value_gap, row, visits),
        default_gap=_mean(states.default_gap, row, visits),
        entropy=_mean(states.entropy, row, visits),
        reached=_reached(found, row),
        first_seen=_first_seen(analysis, found, row),
        examples=examples,
        replay=_command(run, examples),
    )


def _effect(run: Run, found: Decisions, row: int) -> RankedDecision:
    """Return what the list of a mutated policy says of a state; rank 0 where it is not listed."""
    stored, names = run.analysis.stored, run.directory.names()
    (alone,) = ranked_rows(found, np.array([row]), stored, names, run.decision_keys)
    at = np.flatnonzero(found.listed() == row)
    rank = int(at[0]) + 1 if len(at) else 0
    ends = {one.key: (one.rank_low, one.rank_high) for one in run.summary.ranking}
    low, high = ends.get(alone.key, (None, None))
    return replace(alone, rank=rank, rank_low=low, rank_high=high)


def _set_aside(found: Decisions, row: int, evidence: int) -> str:
    if not found.differs[row]:
        return "the default action never differed from what the policy chose"
    if not found.evidence[row]:
        return f"fewer than {counted(evidence, 'episode')} in an arm"
    return ""


def _measured(run: Run, row: int) -> tuple[tuple[_MeasuredState, ...], dict[str, str]]:
    """Return what the measures of the analysis say; those that cannot be used are named."""
    measured, refused = [], {}
    for name in run.asked.settings.measures:
        try:
            ranking = run.ranked_as_stored(name)
        except RpdError as error:  # for example a plugin that is not installed here
            refused[str(name)] = str(error)
            continue
        ends = [] if ranking.interval is None else [ranking.interval.low, ranking.interval.high]
        measured.append(
            _MeasuredState(
                ranking.name,
                float(ranking.scores[row]),
                int(np.flatnonzero(ranking.order == row)[0]) + 1,
                *(float(np.asarray(end)[row]) for end in ends),
            )
        )
    return tuple(measured), refused


def _shares(counts: IntArray, names: Sequence[str]) -> dict[str, float]:
    """Return how often each discrete action was chosen, most often first."""
    total = int(counts.sum())
    order = np.argsort(-counts, kind="stable").tolist()
    return {
        names[action] if action < len(names) else str(action): float(counts[action]) / total
        for action in order
        if counts[action]
    }


def _mean(sums: FloatArray, row: int, visits: int) -> float | None:
    return float(sums[row]) / visits if np.isfinite(sums[row]) else None


def _reached(found: Decisions, row: int) -> Reached:
    reach, key = found.reach, found.counted.states.key[[row]]
    episodes = reach.share_of_episodes(key)[0] * reach.total_episodes
    steps = reach.share_of_steps(key)[0] * reach.total_steps
    return Reached(
        round(float(episodes)), reach.total_episodes, round(float(steps)), reach.total_steps
    )


def _first_seen(analysis: Analysis, found: Decisions, row: int) -> _FirstSeen:
    states, episodes = found.counted.states, analysis.episodes
    episode = int(states.first_episode[row])
    at = int(np.searchsorted(episodes.index, episode))
    return _FirstSeen(episode, int(states.first_step[row]), int(episodes.seed[at]))


def _examples(analysis: Analysis, key: int) -> Iterator[_Example]:
    """Yield episodes of each arm and outcome, first those in which the default action differed."""
    visits = list(_visits(analysis, key))
    for arm in ("mutated", "kept"):
        for passed in (False, True):
            fitting = [v for v in visits if v.arm == arm and (v.passed > 0.5) == passed]
            yield from sorted(fitting, key=lambda v: (not v.differed, v.episode))[:_EXAMPLES]


def _visits(analysis: Analysis, key: int) -> Iterator[_Example]:
    episodes, stored = analysis.episodes, analysis.stored
    for tables in stored.tables("visits"):
        table = tables["visits"]
        mine = table.filter(table["key"].to_numpy() == np.uint64(key))
        for visit in mine.to_pylist():
            at = int(np.searchsorted(episodes.index, visit["episode"]))
            yield _Example(
                episode=visit["episode"],
                arm="mutated" if visit["mutated"] else "kept",
                passed=float(analysis.weights[at]),
                seed=int(episodes.seed[at]),
                step=visit["first_step"],
                visits=visit["count"],
                differed=visit["differed"],
                total_return=float(episodes.total_return[at]),
            )


def _command(run: Run, examples: Sequence[_Example]) -> str:
    if not examples:
        return ""
    return f"rpd replay {shell_word(run.path)} suite:{examples[0].episode}"


def _kept(run: Run, key: int) -> dict[str, bool]:
    """Return whether the pruned policies that were chosen keep the policy in the state."""
    stored = {q: run.kept(q) for q in run.asked.settings.target}
    return {f"{q:g}": key in kept.keys for q, kept in stored.items() if kept is not None}
