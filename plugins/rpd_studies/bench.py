"""Measures against each other: one suite per seed, and the same test episodes for all."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rpd_core.api import Call, resolve_call, session_for, tidy
from rpd_core.config.resolve import RESERVED, Setup, choose
from rpd_core.errors import ConfigError, RpdError
from rpd_core.execute.progress import shown, silent
from rpd_core.plugin.protocols import Measure
from rpd_core.plugin.registry import installed
from rpd_core.run_names import base_name
from rpd_core.store.places import RUNS
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
from rpd_studies.holding import Lists
from rpd_studies.standing_engine import standing
from rpd_studies.sweeps import sweep_measures


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
    call = heard_once(Call(env, policy, **tidy("bench", more, "seed", "analysis", "like", "sweep")))
    with shown(call.progress) as progress:
        call = dataclasses.replace(call, progress=progress)
        return compare_measures(call, asked, bench_folder(call, resolve_call(call)))


def compare_measures(call: Call, asked: BenchQuestion, folder: Path) -> Bench:
    """Sweep over every measure on every seed, each in a run directory of its own in a folder."""
    others, left_out = _further_measures(asked.all_measures)
    figures: dict[str, list[SeedFigures]] = {}
    lists: dict[int, Lists] = {}
    conditions = set()
    with on_one_engine(call) as engaged:
        for seed in asked.seeds:
            one = _call_of_seed(engaged, seed, folder)
            setup = resolve_call(one)
            if asked.base not in {*setup.measures, *others}:
                raise ConfigError(f"the base {asked.base!r} is not compared: add it with --measure")
            with session_for(one, setup) as session:
                swept = sweep_measures(session, others)
            left_out |= swept.left_out
            lists[seed] = swept.lists
            conditions.add(swept.analysis.condition_text)
            found = seed_figures(seed, swept.sweep, swept.references, swept.stability)
            for name, row in found.items():
                figures.setdefault(name, []).append(row)
    complete = {
        name: looked_up(name, rows, lists, asked)
        for name, rows in figures.items()
        if len(rows) == len(asked.seeds)
    }
    config = session.setup.config
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


@contextmanager
def on_one_engine(call: Call) -> Iterator[Call]:
    """Open the executor of a call once for many runs: each would pay for starting workers."""
    executor = call.executor
    if isinstance(executor, str):
        executor = installed().make("executor", executor)
    with standing(executor, call.workers) as engine:
        yield dataclasses.replace(call, executor=engine)


def heard_once(call: Call) -> Call:
    """Return a call whose notes are passed on once, however many seeds they come from."""
    heard: set[str] = set()

    def note(text: str) -> None:
        if text not in heard:
            heard.add(text)
            call.note(text)

    return dataclasses.replace(call, note=note)


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


def bench_folder(call: Call, setup: Setup) -> Path:
    """Return the folder of the runs of a comparison: the one asked for, or a readable one."""
    if call.out is not None:
        return Path(call.out)
    settings = dataclasses.replace(setup.config.settings, seed=0)  # it stays when seeds are added
    config = dataclasses.replace(setup.config, settings=settings)
    name = base_name(dataclasses.replace(setup, config=config))
    return RUNS / f"bench_{name}_{config.digest()}"
