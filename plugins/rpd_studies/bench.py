"""Measures against each other: one suite per seed, and the same test episodes for all."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rpd_core.analysis.recurrence import Recurrence, counted_visits
from rpd_core.analysis.stability import Stability
from rpd_core.api import Call, resolve_call, session_for, tidy
from rpd_core.config.configuration import Configuration
from rpd_core.config.resolve import RESERVED, Setup, choose
from rpd_core.errors import ConfigError, RpdError
from rpd_core.execute.progress import silent
from rpd_core.plugin.protocols import Measure
from rpd_core.plugin.registry import installed
from rpd_core.run_names import base_name
from rpd_core.store.places import RUNS
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
    looked_up,
    seed_figures,
)
from rpd_studies.cells import Swept, sweep_suite
from rpd_studies.lists import Lists, lists_of
from rpd_studies.series import play_each, series


def bench(
    env: Any,
    policy: Any = None,
    *,
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4),
    choose_on: tuple[int, ...] | None = None,
    base: str = "tarantula",
    criterion: Criterion = "both",
    all_measures: bool = False,
    **more: Any,
) -> Bench:
    """Compare measures on the same suites and test episodes, one suite per seed.

    The best by `criterion` is chosen on the seeds `choose_on`; figures and differences to `base`
    come from the others. `out` is the folder of the run directories; the rest is as for `run`.
    """
    judges = choosing_seeds(seeds) if choose_on is None else tuple(choose_on)
    asked = BenchQuestion(tuple(seeds), judges, base, criterion, all_measures)
    call = Call(env, policy, **tidy("bench", more, "seed", "analysis", "like", "sweep"))
    folder = _folder(call, resolve_call(call))
    others, left_out = _further_measures(all_measures)
    with series(call, folder) as engaged:
        found = play_each(
            engaged, asked.seeds, lambda seed: _seed(engaged, seed, folder, base, others)
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
        lists = lists_of(swept.analysis, evidence, prepared_digest(session.directory))
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
