"""A plan -> a table: every cell with every seed is a run, and nothing is done twice."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from rpd_core.api import Call, Guard, Playing, call_of, resolve_call
from rpd_core.config.resolve import Setup
from rpd_core.errors import ConfigError, one_line
from rpd_core.plugin.registry import installed
from rpd_core.results.runs import RUNS
from rpd_core.store.files import file_stem
from rpd_studies.cells import Place, place_of, play_cell, stored_result
from rpd_studies.plan import Cell, Plan, plan_of, read_plan, texts
from rpd_studies.results import CellResult, Failure, Grid, GridRow, row_of
from rpd_studies.series import play_each, series

AnyPlan = Plan | str | os.PathLike[str] | Mapping[str, Any]


class PlayingGrid(Playing, total=False):
    """Arguments of `run` that a grid has, too."""

    out: str | os.PathLike[str] | None
    guard: Guard


def grid(plan: AnyPlan, **how: Unpack[PlayingGrid]) -> Grid:
    """Play a grid of settings and seeds, each cell a run, and return its table.

    `plan` is a TOML file, or a mapping of the same shape; `out` is the folder of the runs and the
    tables. A cell that fails is a row that says why; what was finished before is not played again.
    """
    from rpd_studies.pages import write_grid  # drawing takes a while to import

    work = work_for(plan, how)
    cells = work.plan.cells
    asked = [_Item(number, seed) for number in range(len(cells)) for seed in work.plan.seeds]
    with series(work.call, work.folder) as call:
        engaged = dataclasses.replace(work, call=call)
        found: list[CellResult | Failure] = play_each(call, asked, engaged.play, engaged.failure)
        table = _table(work, dict(zip(asked, found, strict=True)))
        write_grid(table, work.folder)
    return table


@dataclass(frozen=True)
class _Item:
    """A cell with a seed."""

    cell: int
    """Place of the cell in the plan, from 0."""
    seed: int


@dataclass(frozen=True)
class PlannedWork:
    """How a plan is carried out."""

    plan: Plan
    folder: Path
    call: Call
    """What all runs have in common: executor, workers, trust, who hears of progress."""

    def call_of(self, cell: Cell, seed: int) -> Call:
        """Return the call that plays a cell with a seed."""
        return dataclasses.replace(self.call, **cell.settings, seed=seed)

    def placed(self, cell: Cell, seed: int) -> tuple[Setup, Place]:
        """Resolve a cell, and find out where it belongs."""
        setup = resolve_call(self.call_of(cell, seed))
        return setup, place_of(setup, self.folder, self.plan.finish, self.plan.rankings)

    def play(self, item: _Item) -> CellResult:
        """Read what a cell found with a seed, or play what is missing of its run."""
        cell = self.plan.cells[item.cell]
        setup, place = self.placed(cell, item.seed)
        call = self.call_of(cell, item.seed)
        return stored_result(place) or play_cell(
            call, setup, place, self.plan.finish, self.plan.rankings
        )

    def failure(self, item: _Item, error: Exception) -> Failure:
        """Return why a cell found nothing with a seed, and tell of it."""
        name = f"cell {item.cell + 1} of {len(self.plan.cells)}, seed {item.seed}"
        self.call.note(f"{name} failed: {one_line(error)}")
        return Failure(item.seed, one_line(error))


def work_for(plan: AnyPlan, how: Mapping[str, Any]) -> PlannedWork:
    """Return a plan with where and how it is carried out."""
    for name in how:
        if name not in PlayingGrid.__annotations__:
            raise ConfigError(
                f"a grid has no argument {name!r}: settings stand in the plan; there are "
                f"{', '.join(sorted(PlayingGrid.__annotations__))}"
            )
    if isinstance(plan, Mapping):
        plan = plan_of(plan, installed())
    elif not isinstance(plan, Plan):
        plan = read_plan(Path(plan), installed())
    call = call_of("grid", Call, (), {**how, "finish": ()})
    name = plan.folder or f"grid_{file_stem(plan.name)}"
    return PlannedWork(plan, RUNS / name if call.out is None else Path(call.out), call)


def _table(work: PlannedWork, found: Mapping[_Item, CellResult | Failure]) -> Grid:
    plan = work.plan
    rows = tuple(_row(plan, number, found) for number in range(len(plan.cells)))
    return Grid(
        plan.name, str(work.folder), plan.seeds, plan.finish, texts(plan.common), plan.show, rows
    )


def _row(plan: Plan, number: int, found: Mapping[_Item, CellResult | Failure]) -> GridRow:
    mine = [found[_Item(number, seed)] for seed in plan.seeds]
    results = [one for one in mine if isinstance(one, CellResult)]
    failed = [one for one in mine if isinstance(one, Failure)]
    return row_of(number + 1, plan.cells[number].texts, results, failed)
