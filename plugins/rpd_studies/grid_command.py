"""`rpd grid`: many runs, one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.work import Work, plays

if TYPE_CHECKING:
    from rpd_core.api import Call
    from rpd_studies.estimate import PlannedGrid
    from rpd_studies.grids.results import Grid
    from rpd_studies.plan import Plan
    from rpd_studies.playing import Work as GridWork

FAILED = 3
"""Exit code where some cell failed, or would."""
PlanFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="TOML file with the cells.", show_default=False)
]
GridOut = Annotated[
    Path | None,
    typer.Option("--out", help="Folder of the runs and the tables; default: runs/grid_<file>."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="List the runs with an estimate, then stop.")
]


@shared.reporting
@plays
def grid_command(
    *,
    file: PlanFile,
    work: Work,
    out: GridOut = None,
    dry_run: DryRun = False,
    as_json: options.Json = False,
) -> None:
    """Play a grid of settings and seeds, and put what was found into one table."""
    with shared.progress_bars("estimating" if dry_run else "starting") as progress:
        work.check({})
        plan = plan_from(file)
        call = grid_call(work, progress, out)
        planned_work = work_of(plan, call)
        planned = estimated(planned_work) if dry_run else None
        found = None if dry_run else carry_out(planned_work)
    if planned is not None:
        show_planned(planned, as_json)
    elif found is not None:
        show_grid(found, as_json)
        fail_if(found)


def plan_from(file: Path) -> Plan:
    """Read the plan before anything is imported that takes long."""
    from rpd_core.plugin.registry import installed
    from rpd_studies.plan import read_plan

    return read_plan(file, installed())


def grid_call(work: Work, progress: Any, out: Path | None) -> Call:
    """Return what all runs have in common."""
    from rpd_core.api import Call

    return Call(out=out, finish=(), **work.how(progress))


def work_of(plan: Plan, call: Call) -> GridWork:
    """Return what is to be done."""
    from rpd_studies.grid import work_for

    return work_for(plan, call)


def estimated(work: GridWork) -> PlannedGrid:
    """List the runs of a grid with what they would cost."""
    from rpd_studies.estimate import estimate_grid

    with work.call.guard("an estimate"):
        return estimate_grid(work)


def carry_out(work: GridWork) -> Grid:
    """Play a grid; when interrupted, tell how to go on."""
    from rpd_studies.playing import play_grid

    with shared.resumable(work.folder, same_command=True):
        return play_grid(work)


def show_planned(found: PlannedGrid, as_json: bool) -> None:
    """Print the runs of a grid and what they would cost; end with a code where some would fail."""
    from rpd_core.store.codec import to_plain
    from rpd_studies.grids.planned import print_planned

    if as_json:
        shared.print_json(to_plain(found))
    else:
        print_planned(shared.answers(), found)
    if found.failing:
        raise typer.Exit(FAILED)


def show_grid(found: Grid, as_json: bool) -> None:
    """Print the table, and where its files are."""
    from rpd_core.store.codec import to_plain
    from rpd_studies.grids.files import MARKDOWN, PAGE, SEEDS, TABLE
    from rpd_studies.grids.text import print_grid

    if as_json:
        shared.print_json(to_plain(found))
    else:
        print_grid(shared.answers(), found)
        folder = Path(found.folder)
        show_files(*(folder / name for name in (PAGE, TABLE, SEEDS, MARKDOWN)))


def show_files(*paths: Path) -> None:
    """Print where the tables are, in a line to copy from."""
    from rpd_core.cli.text import say

    say(shared.answers(), f"Tables: {', '.join(map(str, paths))}", copied=True)


def fail_if(found: Grid) -> None:
    """End with an exit code of its own where some cell failed."""
    if found.failed:
        raise typer.Exit(FAILED)
