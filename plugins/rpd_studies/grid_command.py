"""`rpd grid`: many runs, one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.run import check_early, executor_for, resolved

if TYPE_CHECKING:
    from rpd_core.api import Call
    from rpd_studies.estimate import PlannedGrid
    from rpd_studies.grids.results import Grid
    from rpd_studies.plan import Plan
    from rpd_studies.playing import Work

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
def grid_command(
    file: PlanFile,
    workers: options.Workers = None,
    executor: options.ExecutorName = "local",
    stall_timeout: options.StallTimeout = None,
    trust_policy: options.TrustPolicy = False,
    out: GridOut = None,
    dry_run: DryRun = False,
    as_json: options.Json = False,
) -> None:
    """Play a grid of settings and seeds, and put what was found into one table."""
    with shared.progress_bars("estimating" if dry_run else "starting") as progress:
        check_early({}, {"executor": executor, "workers": workers})
        plan = plan_from(file)
        how = {"executor": executor, "stall": stall_timeout, "workers": workers, "out": out}
        call = grid_call(how, trust_policy, progress)
        work = work_of(plan, call)
        planned = estimated(work) if dry_run else None
        found = None if dry_run else carry_out(work)
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


def grid_call(how: dict[str, Any], trust: bool, progress: Any) -> Call:
    """Return what all runs have in common."""
    from rpd_core.api import Call

    return Call(
        out=how["out"],
        workers=shared.check_workers(how["workers"]),
        executor=executor_for(how["executor"], how["stall"]),
        trust_policy=trust,
        finish=(),
        progress=progress,
        note=shared.show_note,
    )


def work_of(plan: Plan, call: Call) -> Work:
    """Return what is to be done; environments are made under the eyes of a watch."""
    from rpd_studies.grid import work_for

    return work_for(plan, call, resolving=resolved)


def estimated(work: Work) -> PlannedGrid:
    """List the runs of a grid with what they would cost."""
    from rpd_studies.estimate import estimate_grid

    with shared.watched("an estimate", getattr(work.call.executor, "stall_timeout", None)):
        return estimate_grid(work)


def carry_out(work: Work) -> Grid:
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
