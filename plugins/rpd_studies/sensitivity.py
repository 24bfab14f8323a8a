"""How a list of decisions depends on the mutation rate and on the default action.

Each variant is a suite of the same size in a run directory of its own, below `variants` of the run
that it belongs to, over the same states and under the same condition.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

import numpy as np

from rpd_core.analysis.analysis import CONDITIONS, analyse
from rpd_core.analysis.verdicts import Decisions, decide, rules_of
from rpd_core.api import Playing, continued
from rpd_core.config.resolve import Setup, with_default_action, with_rate
from rpd_core.errors import ConfigError, EvidenceError, one_line
from rpd_core.play.chunks import SuiteChunk
from rpd_core.results.run import Run
from rpd_core.store.directory import VARIANTS, RunDirectory
from rpd_core.store.files import file_stem
from rpd_core.store.session import Session, play_parts
from rpd_studies.estimates import Estimate, rank_agreement

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import KeyArray

FILE = "sensitivity.json"
_MOVES = 3
"""States shown that rose, and that fell."""
_FIRST = 50
"""Ranks among which, in either list, a state that moved is looked for."""
_FEWEST = 3
"""Shared states from which on their order can be compared."""


@dataclass(frozen=True)
class Move:
    """A state with its rank in two lists."""

    key: int
    """Key of the state."""
    state: str
    """The state in words."""
    rank: int
    """Place in the original list."""
    other_rank: int
    """Place in that of the variant."""


@dataclass(frozen=True)
class Variant:
    """The list of a variant beside the original one."""

    name: str
    """Its folder in `variants`."""
    changed: str
    """What is different, in words."""
    passed: float | None
    """Share of its mutant episodes that pass; null where all had the same fate."""
    listed: int
    """Decisions in its list."""
    shared: int
    """Decisions that both lists have."""
    top10: float | None
    """Share of the first ten of the original list among its own; null where it has no list."""
    top50: float | None
    """The same of the first fifty."""
    rank_correlation: Estimate | None
    """Spearman's, over the shared decisions; null where they are too few."""
    risen: tuple[Move, ...]
    """Decisions that rank higher in the variant, those that moved most first."""
    fallen: tuple[Move, ...]
    """Decisions that rank lower."""
    problem: str
    """Why there is no list; empty if there is."""


@dataclass(frozen=True)
class Sensitivity:
    """How a list depends on what the suite was played with."""

    analysis: str
    """Name of the analysis whose list it is."""
    condition: str
    """The condition in force, in words."""
    episodes: int
    """Mutant episodes of each suite."""
    listed: int
    """Decisions in the original list."""
    variants: tuple[Variant, ...]


@dataclass(frozen=True)
class _Change:
    """What a variant changes."""

    setup: Setup
    words: str


def _changes_of(
    session: Session, rates: bool, default_actions: tuple[str, ...], trust: bool
) -> dict[str, _Change]:
    """Return the variants that are asked for, by the name of their folder."""
    setup = session.setup
    settings = setup.config.settings
    found = {}
    if rates:
        for rate in other_rates(settings.mutation_rate):
            words = f"mutation rate {rate:g} instead of {settings.mutation_rate:g}"
            found[f"rate-{rate:g}"] = _Change(with_rate(setup, rate), words)
    for text in default_actions:
        changed = with_default_action(setup, session.registry, text, trust)
        named = changed.config.settings.default_action
        if named == settings.default_action:
            raise ConfigError(f"the run has the default action {named!r} already: name another")
        words = f"default action {named} instead of {settings.default_action}"
        found[file_stem(f"default-{named}")] = _Change(changed, words)
    return found


def other_rates(rate: float) -> tuple[float, float]:
    """Return half the rate and twice as much, or half-way to 1 where that is too much."""
    doubled = 2 * rate if 2 * rate < 1 else (1 + rate) / 2
    return round(rate / 2, 6), round(doubled, 6)


def vary(
    run: Run | str | os.PathLike[str],
    rates: bool = False,
    default_actions: Sequence[str] = (),
    **how: Unpack[Playing],
) -> Sensitivity:
    """Compare a stored list with those of suites at other mutation rates and default actions.

    `rates` asks for half and double the rate.
    """
    with continued(run, **how) as (session, opened):
        changes = _changes_of(
            session, rates, tuple(default_actions), how.get("trust_policy", False)
        )
        return _vary_session(session, opened, changes)


def _vary_session(session: Session, run: Run, changes: Mapping[str, _Change]) -> Sensitivity:
    """Play a suite under each change, and compare its list with that of the run."""
    if not changes:
        raise ConfigError("nothing is varied: ask for rates, default actions or both")
    found = run.decided()
    if not len(found.listed()):
        raise EvidenceError(f"analysis {run.name!r} lists no decision: there is nothing to compare")
    analysis = run.analysis
    size = len(analysis.episodes)
    variants = tuple(
        _variant(session, run, found, name, change, size) for name, change in changes.items()
    )
    answer = Sensitivity(
        str(run.name), analysis.condition_text, size, len(found.listed()), variants
    )
    session.directory.write_json(f"analyses/{run.name}/{FILE}", answer)
    return answer


def _variant(
    session: Session, run: Run, found: Decisions, name: str, change: _Change, size: int
) -> Variant:
    directory = RunDirectory(session.directory.path / VARIANTS / name)
    setup = _of_size(change.setup, size)
    settings = setup.config.settings
    with directory.lock():
        directory.create(setup.config)
        _take_over(session.directory, directory)
        inner = dataclasses.replace(session, setup=setup, directory=directory)
        whole = SuiteChunk(inner.recipe, settings.seed, settings.mutation_rate, 0, size - 1)
        play_parts(inner, name, directory.suite(), whole)
    measure = {settings.list_by: setup.measures[settings.list_by]}
    try:
        other = analyse(directory, setup.condition, settings.condition, measure, size)
    except EvidenceError as error:
        return Variant(name, change.words, None, 0, 0, None, None, None, (), (), one_line(error))
    ranking = other.rankings[settings.list_by]
    listed = decide(other.counted, ranking, found.reach, rules_of(settings))
    return _compared(run, found, listed, name, change.words, float(other.weights.mean()))


def _of_size(setup: Setup, size: int) -> Setup:
    """Return a setup with a suite of fixed size."""
    settings = dataclasses.replace(
        setup.config.settings,
        episodes=size,
        until="episodes",
        max_episodes=None,
    )
    config = dataclasses.replace(setup.config, settings=settings)
    return dataclasses.replace(setup, config=config)


def _take_over(before: RunDirectory, now: RunDirectory) -> None:
    """Copy what was learned: a list can be compared only over the same states and condition."""
    for name in ("prepared.json", CONDITIONS):
        learned = before.read_json(name)
        if learned is not None and now.read_json(name) != learned:
            now.write_json(name, learned)


def _compared(
    run: Run, found: Decisions, other: Decisions, name: str, words: str, passed: float
) -> Variant:
    one, two = (each.counted.states.key[each.listed()] for each in (found, other))
    shared, rank, other_rank = np.intersect1d(one, two, return_indices=True)
    enough = len(shared) >= _FEWEST
    seed = run.directory.stored().settings.seed
    near = np.flatnonzero((rank < _FIRST) | (other_rank < _FIRST))
    climbs = (rank - other_rank)[near]
    order = near[np.argsort(-climbs, kind="stable")]
    stored = run.analysis.stored

    def moves(some: list[int]) -> tuple[Move, ...]:
        said = stored.words(shared[some])
        return tuple(
            Move(int(shared[at]), said[int(shared[at])], int(rank[at]) + 1, int(other_rank[at]) + 1)
            for at in some
        )

    up = [at for at in order[:_MOVES].tolist() if rank[at] > other_rank[at]]
    down = [at for at in order[::-1][:_MOVES].tolist() if rank[at] < other_rank[at]]
    return Variant(
        name=name,
        changed=words,
        passed=passed,
        listed=len(two),
        shared=len(shared),
        top10=_overlap(one, two, 10),
        top50=_overlap(one, two, 50),
        rank_correlation=rank_agreement(rank, other_rank, seed) if enough else None,
        risen=moves(up),
        fallen=moves(down),
        problem="",
    )


def _overlap(one: KeyArray, two: KeyArray, count: int) -> float | None:
    """Return the share of the first of a list that are among the first of the other."""
    first = one[:count]
    return float(np.isin(first, two[:count]).mean()) if len(two) else None
