"""What a grid would do and cost, from a few episodes of each kind; nothing is stored."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Unpack

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rpd_core.cli.cost import Remaining, probe_here, scaled, sweep_work, work_left
from rpd_core.cli.text import say
from rpd_core.config.configuration import short_digest
from rpd_core.config.resolve import Setup
from rpd_core.errors import RpdError, counted, one_line
from rpd_core.execute.progress import in_words
from rpd_core.play.chunks import Probed
from rpd_studies.cells import Place, stored_result
from rpd_studies.grid import AnyPlan, PlannedWork, PlayingGrid, work_for


@dataclass(frozen=True)
class _PlannedRun:
    """One cell with one seed."""

    cell: int
    seed: int
    settings: Mapping[str, str]
    """What tells the cell apart."""
    path: str
    """The run directory; cells with the same one share a suite."""
    finished: bool
    suite_episodes: int
    """Mutant episodes that are still to be played for it."""
    pruning_episodes: int
    """Remaining of pruned policies, at most: equal ones are played once."""
    seconds: float | None
    """About how long that takes; null where no episode could be tried."""
    problem: str = ""
    """Why it would fail."""


@dataclass(frozen=True)
class PlannedGrid:
    """What a grid would do."""

    name: str
    folder: str
    runs: tuple[_PlannedRun, ...]
    suites: int
    """Run directories: each holds one suite, whatever number of cells asks it something."""
    seconds: float
    """About how long all that is left takes; rough, since it stands on a few episodes."""
    megabytes: float

    @property
    def failing(self) -> int:
        """Number of runs that would fail."""
        return sum(bool(run.problem) for run in self.runs)


def estimate_grid(plan: AnyPlan, **how: Unpack[PlayingGrid]) -> PlannedGrid:
    """List every run of a grid with what is left of it, and estimate the whole; as for `grid`."""
    work = work_for(plan, how)
    with work.call.guard("an estimate"):
        return _estimate(work)


def _estimate(work: PlannedWork) -> PlannedGrid:
    runs, megabytes = [], 0.0
    probes: dict[str, Probed] = {}
    suites: dict[str, int] = {}
    for number, cell in enumerate(work.plan.cells, 1):
        for seed in work.plan.seeds:
            try:
                setup, place = work.placed(cell, seed)
                left = _left(work, setup, place, suites)
                cost = (
                    scaled(setup, _probed(setup, probes), left, work.call.workers)
                    if any(dataclasses.astuple(left))
                    else None
                )
            except RpdError as error:
                why = one_line(error)
                runs.append(_PlannedRun(number, seed, cell.texts, "", False, 0, 0, None, why))
                continue
            megabytes += cost.megabytes if cost else 0.0
            seconds = cost.seconds if cost else 0.0
            done = stored_result(place) is not None
            counts = left.suite, cost.pruning_episodes if cost else 0
            runs.append(_PlannedRun(number, seed, cell.texts, place.run, done, *counts, seconds))
    seconds = sum(one.seconds or 0.0 for one in runs)
    folder = str(work.folder)
    return PlannedGrid(work.plan.name, folder, tuple(runs), len(suites), seconds, megabytes)


def _probed(setup: Setup, known: dict[str, Probed]) -> Probed:
    """Return what a few episodes cost; they are played once for all seeds of a cell."""
    settings = dataclasses.replace(setup.config.settings, seed=0)
    name = short_digest(dataclasses.replace(setup.config, settings=settings).identity())
    if name not in known:
        known[name] = probe_here(setup)
    return known[name]


def _left(work: PlannedWork, setup: Setup, place: Place, suites: dict[str, int]) -> Remaining:
    """Return the episodes that a run still takes, given what others will have played before it."""
    settings = setup.config.settings
    left = work_left(settings, place.directory)
    if work.plan.finish == "sweep":
        rankings = len(work.plan.rankings or settings.measures)
        left = dataclasses.replace(left, pruned=sweep_work(settings, rankings).pruned, minimising=0)
    if stored_result(place) is not None:
        suites.setdefault(place.run, settings.episodes)
        return Remaining(0, 0)
    before = suites.get(place.run, 0)
    suites[place.run] = max(before, settings.episodes)
    return dataclasses.replace(left, suite=max(min(left.suite, settings.episodes - before), 0))


_LISTED = 100
"""Runs that the screen shows; --json has all."""


def print_planned(console: Console, found: PlannedGrid) -> None:
    """Print what each run would do, and an estimate of the whole."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("cell", "seed", "settings", "run"):
        table.add_column(name)
    for name in ("suite", "pruned", "about"):
        table.add_column(name, justify="right")
    for run in found.runs[:_LISTED]:
        table.add_row(*map(escape, _cells(run)))
    console.print(table)
    if len(found.runs) > _LISTED:
        say(console, f"... and {len(found.runs) - _LISTED} more; --json lists them all.")
    left = sum(not run.finished and not run.problem for run in found.runs)
    failing = f", {found.failing} would fail" if found.failing else ""
    say(
        console,
        f"{counted(len(found.runs), 'run')} on {counted(found.suites, 'suite')}, {left} of them "
        f"not finished{failing}: about {in_words(found.seconds)} and {found.megabytes:.0f} MB in "
        f"{found.folder}. Judged from a few episodes, so only roughly right.",
    )


def _cells(run: _PlannedRun) -> tuple[str, ...]:
    told = ", ".join(f"{name}={value}" for name, value in run.settings.items())
    if run.problem:
        return str(run.cell), str(run.seed), told, f"would fail: {run.problem}", "", "", ""
    about = "finished" if run.finished else in_words(run.seconds or 0.0)
    counts = str(run.suite_episodes), str(run.pruning_episodes)
    return str(run.cell), str(run.seed), told, run.path, *counts, about
