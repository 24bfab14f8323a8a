"""A plan -> a table: one run after the other, on one engine, and nothing done twice."""

from __future__ import annotations

import dataclasses
import errno
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rpd_core.api import Call, resolve_call
from rpd_core.config.resolve import Setup
from rpd_core.errors import ConfigError, one_line
from rpd_core.execute.pace import RUNS
from rpd_core.execute.progress import shown
from rpd_core.store.lock import locked
from rpd_studies.bench import heard_once, on_one_engine
from rpd_studies.cells import Place, place_of, play_cell, stored_result
from rpd_studies.grids.files import write_grid
from rpd_studies.grids.results import CellResult, Failure, Grid
from rpd_studies.grids.spreads import row_of
from rpd_studies.plan import Cell, Plan, texts

_OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)
"""Errors that no other cell would escape."""


@dataclass(frozen=True)
class Work:
    """How a plan is carried out."""

    plan: Plan
    folder: Path
    call: Call
    """What all runs have in common: executor, workers, trust, who hears of progress."""
    rankings: tuple[str, ...] = ()
    """Measures that a sweep is about; none: all of the settings."""

    def call_of(self, cell: Cell, seed: int) -> Call:
        """Return the call that plays a cell with a seed."""
        return dataclasses.replace(self.call, **cell.settings, seed=seed)

    def placed(self, cell: Cell, seed: int) -> tuple[Setup, Place]:
        """Resolve a cell, and find out where it belongs."""
        setup = resolve_call(self.call_of(cell, seed))
        return setup, place_of(setup, self.folder, self.plan.finish, self.rankings)


def play_grid(work: Work) -> Grid:
    """Play every cell with every seed, and write the tables; a cell that fails becomes a row.

    What was finished before is read, not played.
    """
    refuse_foreign(work.folder)
    with locked(work.folder), shown(work.call.progress) as progress:
        call = heard_once(dataclasses.replace(work.call, progress=progress))
        with on_one_engine(call) as engaged:
            ready = dataclasses.replace(work, call=engaged)
            found = [_play_row(ready, number) for number in range(len(work.plan.cells))]
        grid = _table(work, found)
        write_grid(grid, work.folder)
    return grid


def refuse_foreign(folder: Path) -> None:
    """Refuse a folder that holds a run or something else that is no grid of ours."""
    if (folder / "run.json").exists():
        raise ConfigError(
            f"{str(folder)!r} is a run, not the folder of a grid: choose another --out"
        )
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{str(folder)!r} is not a folder: choose another --out")


Row = tuple[list[CellResult], list[Failure]]


def _play_row(work: Work, number: int) -> Row:
    """Play one cell with every seed."""
    results, failed, plan = [], [], work.plan
    total = len(plan.cells) * len(plan.seeds)
    for place, seed in enumerate(plan.seeds):
        _tell(work, number * len(plan.seeds) + place, total)
        try:
            results.append(_play(work, plan.cells[number], seed))
        except Exception as error:  # of a policy, an environment, an executor: another may do well
            if is_of_the_disk(error):
                raise
            failed.append(Failure(seed, one_line(error)))
            name = f"cell {number + 1} of {len(plan.cells)}, seed {seed}"
            work.call.note(f"{name} failed: {one_line(error)}")
    _tell(work, (number + 1) * len(plan.seeds), total)
    return results, failed


def is_of_the_disk(error: BaseException) -> bool:
    """Return whether nothing more can be written, so that every other cell would fail, too."""
    causes = (error, error.__cause__)
    return any(isinstance(one, OSError) and one.errno in _OF_THE_DISK for one in causes)


def _tell(work: Work, done: int, total: int) -> None:
    if callable(work.call.progress):
        work.call.progress(RUNS, done, total)


def _play(work: Work, cell: Cell, seed: int) -> CellResult:
    setup, place = work.placed(cell, seed)
    found = stored_result(place)
    if found is not None:
        return found
    return play_cell(work.call_of(cell, seed), setup, place, work.plan.finish, work.rankings)


def _table(work: Work, found: list[Row]) -> Grid:
    plan = work.plan
    rows = tuple(
        row_of(number, _own(cell), results, failed)
        for number, (cell, (results, failed)) in enumerate(zip(plan.cells, found, strict=True), 1)
    )
    return Grid(
        plan.name, str(work.folder), plan.seeds, plan.finish, texts(plan.common), plan.show, rows
    )


def _own(cell: Cell) -> Mapping[str, str]:
    return texts({name: cell.settings[name] for name in cell.own})
