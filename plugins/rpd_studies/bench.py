"""Measures against each other: one suite per seed, and the same test episodes for all."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rpd_core.analysis.analysis import Analysis
from rpd_core.analysis.intervals import effect
from rpd_core.analysis.records import Stability
from rpd_core.analysis.recurrence import Recurrence, counted_visits
from rpd_core.analysis.verdicts import judged_states
from rpd_core.api import Call, call_of, resolve_call, session_for, with_signature
from rpd_core.config.configuration import Configuration
from rpd_core.config.resolve import RESERVED, Setup, choose
from rpd_core.errors import ConfigError, RpdError
from rpd_core.execute.progress import silent
from rpd_core.plugin.protocols import Measure
from rpd_core.plugin.registry import installed
from rpd_core.results.runs import RUNS
from rpd_core.run_names import base_name
from rpd_core.store.prepared import prepared_digest
from rpd_core.store.session import Session
from rpd_studies.bench_results import (
    BENCHED,
    Bench,
    BenchQuestion,
    Criterion,
    SeedFigures,
    bench_of,
    choosing_seeds,
    seed_figures,
)
from rpd_studies.cells import Swept, sweep_suite
from rpd_studies.series import play_each, series

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rpd_core.plugin.protocols import FloatArray, KeyArray


@dataclass(frozen=True)
class BenchCall(Call):
    """The arguments of `bench`."""

    seeds: Sequence[int] = field(default=(0, 1, 2, 3, 4), kw_only=True)
    """Seeds of the suites."""
    choose_on: Sequence[int] | None = field(default=None, kw_only=True)
    """Seeds on which the best is chosen; none: the first few."""
    base: str = field(default="tarantula", kw_only=True)
    """The measure that the others are compared with."""
    criterion: Criterion = field(default="both", kw_only=True)
    """What is best."""
    all_measures: bool = field(default=False, kw_only=True)
    """Compare every installed measure."""


_FIXED = ("seed", "analysis", "like", "sweep")
"""Arguments of `run` that a bench decides itself."""


@with_signature(BenchCall, *_FIXED)
def bench(*args: Any, **keywords: Any) -> Bench:
    """Compare measures on the same suites and test episodes, one suite per seed.

    The best by `criterion` is chosen on the seeds `choose_on`; figures and differences to `base`
    come from the others. `out` is the folder of the run directories; the rest is as for `run`.
    """
    call = call_of("bench", BenchCall, args, keywords, *_FIXED)
    seeds = tuple(call.seeds)
    judges = choosing_seeds(seeds) if call.choose_on is None else tuple(call.choose_on)
    asked = BenchQuestion(seeds, judges, call.base, call.criterion, call.all_measures)
    folder = _folder(call, resolve_call(call))
    others, left_out = _further_measures(call.all_measures)
    with series(call, folder) as engaged:
        found = play_each(
            engaged, asked.seeds, lambda seed: _seed(engaged, seed, folder, call.base, others)
        )
    return _compared(asked, {one.seed: one for one in found}, left_out)


@dataclass(frozen=True)
class _Seed:
    """What was found on the suite of one seed."""

    seed: int
    config: Configuration
    condition: str
    figures: Mapping[str, SeedFigures]
    lists: Lists
    left_out: Mapping[str, str]


def _seed(call: Call, seed: int, folder: Path, base: str, others: Mapping[str, Measure]) -> _Seed:
    """Sweep over every measure on the suite of one seed."""
    one = _call_of_seed(call, seed, folder)
    setup = resolve_call(one)
    if base not in {*setup.measures, *others}:
        raise ConfigError(f"the base {base!r} is not compared: add it with --measure")
    with session_for(one, setup) as session:
        swept = sweep_suite(session, others=others)
        stability = _stability(session, swept, {**session.setup.measures, **others})
        evidence = session.setup.config.settings.evidence
        lists = _lists_of(swept.analysis, evidence, prepared_digest(session.directory))
    return _Seed(
        seed,
        session.setup.config,
        swept.analysis.condition_text,
        seed_figures(seed, swept.sweep, swept.references, stability),
        lists,
        swept.left_out,
    )


def _stability(
    session: Session, swept: Swept, measures: Mapping[str, Measure]
) -> dict[str, Stability | None]:
    """Return how far the list of each measure comes back from halves of the suite."""
    visits = counted_visits(swept.analysis)
    evidence = session.setup.config.settings.evidence
    return {
        name: Recurrence(swept.analysis, measures[name], evidence, visits).stability()
        for name in swept.analysis.rankings
    }


def _compared(
    asked: BenchQuestion, found: Mapping[int, _Seed], left_out: Mapping[str, str]
) -> Bench:
    """Put the seeds together; a measure that cannot rank one of the suites is left out."""
    lists = {seed: one.lists for seed, one in found.items()}
    figures: dict[str, list[SeedFigures]] = {}
    left_out = dict(left_out)
    for one in found.values():
        left_out |= one.left_out
        for name, row in one.figures.items():
            figures.setdefault(name, []).append(row)
    complete = {
        name: looked_up(name, rows, lists, asked)
        for name, rows in figures.items()
        if len(rows) == len(asked.seeds)
    }
    config = found[asked.seeds[-1]].config
    conditions = {one.condition for one in found.values()}
    condition = conditions.pop() if len(conditions) == 1 else str(config.settings.condition)
    return bench_of(config, condition, asked, complete, left_out)


def _call_of_seed(call: Call, seed: int, folder: Path) -> Call:
    """Return the call that plays one seed to the end, with progress that names it.

    Areas under curves need every point as well known as the others.
    """
    tell = call.progress if callable(call.progress) else silent

    def progress(stage: str, done: int, total: int) -> None:
        tell(f"{stage} {seed}", done, total)

    return dataclasses.replace(
        call, seed=seed, sweep="full", out=folder / f"seed-{seed}", progress=progress
    )


def _further_measures(everything: bool) -> tuple[dict[str, Measure], dict[str, str]]:
    """Return measures to try beside the standard ones, and why some cannot be made."""
    registry = installed()
    names = list(BENCHED)
    if everything:
        names += [one.component.name for one in registry.of_kind("measure")]
    found: dict[str, Measure] = {}
    left_out = {}
    for name in dict.fromkeys(names):
        if name in (*RESERVED, "python"):
            continue
        try:
            found[name] = choose(registry, "measure", name).recipe
        except RpdError as error:
            left_out[name] = str(error)
    return found, left_out


def _folder(call: Call, setup: Setup) -> Path:
    """Return the folder of the runs of a comparison: the one asked for, or a readable one."""
    if call.out is not None:
        return Path(call.out)
    settings = dataclasses.replace(setup.config.settings, seed=0)  # it stays when seeds are added
    config = dataclasses.replace(setup.config, settings=settings)
    name = base_name(dataclasses.replace(setup, config=config))
    return RUNS / f"bench_{name}_{config.digest()}"


LONGEST = 50
"""States of a list that are looked up in another suite."""
FIRST = 10
"""Those of them that are shown first."""


@dataclass(frozen=True)
class Lists:
    """The first states by every measure, and the effects of all states with evidence."""

    first: Mapping[str, KeyArray]
    """By measure, the keys of the first states with evidence."""
    keys: KeyArray
    """Keys of all states with evidence, ascending."""
    effects: FloatArray
    """Their effects."""
    learned: str = ""
    """Digest of what the abstraction has learned: other states cannot be looked up."""


@dataclass(frozen=True)
class Holding:
    """What another suite says of a list."""

    holds: float
    """Share of the first fifty with a positive effect there; 0 counts those without evidence."""
    effect: float
    """Mean effect there of the first ten; 0 counts for those without evidence."""


def _lists_of(analysis: Analysis, evidence: int, learned: str) -> Lists:
    """Return the first states by every measure of an analysis."""
    counted = analysis.counted
    judged = judged_states(counted, evidence)
    first = {}
    for name, ranking in analysis.rankings.items():
        rows = ranking.order[judged[ranking.order]][:LONGEST]
        first[name] = counted.states.key[rows]
    effects = effect(counted.spectrum)[judged]
    return Lists(first, counted.states.key[judged], effects, learned)


def holding(listed: KeyArray, other: Lists) -> Holding | None:
    """Look up the states of a list in another suite; None if there are none."""
    if not len(listed):
        return None
    found = np.zeros(len(listed))
    place = np.searchsorted(other.keys, listed)
    place[place == len(other.keys)] = 0
    met = other.keys[place] == listed if len(other.keys) else np.zeros(len(listed), dtype=bool)
    found[met] = other.effects[place[met]]
    return Holding(float((found > 0).mean()), float(found[:FIRST].mean()))


def looked_up(
    name: str, rows: Sequence[SeedFigures], lists: Mapping[int, Lists], asked: BenchQuestion
) -> list[SeedFigures]:
    """Return the figures of a measure with what the next suite says of each list.

    The next of those that choose, or of those that report: neither looks at the other's suites.
    Where an abstraction has learned other states there, nothing can be looked up.
    """
    found = []
    for one in rows:
        group = asked.judges if one.seed in asked.judges else asked.report_on
        other = group[(group.index(one.seed) + 1) % len(group)]
        mine, listed = lists[one.seed], lists[one.seed].first.get(name)
        if other == one.seed or listed is None or mine.learned != lists[other].learned:
            found.append(one)
            continue
        held = holding(listed, lists[other])
        found.append(
            one if held is None else dataclasses.replace(one, holds=held.holds, effect=held.effect)
        )
    return found
