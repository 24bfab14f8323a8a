"""`rpd grid`: many runs, one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.work import Work, plays

if TYPE_CHECKING:
    from rpd_studies.cost import PlannedGrid
    from rpd_studies.results import Grid

FAILED = 3
"""Exit code where some cell failed, or would."""
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="List the runs with an estimate, then stop.")
]


@plays
def grid_command(
    *,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="TOML file with the cells.", show_default=False)
    ],
    work: Work,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder of the runs and the tables; default: runs/grid_<file>."),
    ] = None,
    dry_run: DryRun = False,
    as_json: options.Json = False,
) -> None:
    """Play a grid of settings and seeds, and put what was found into one table."""
    work.check({})
    from rpd_core.plugin.registry import installed
    from rpd_studies.plan import read_plan

    plan = read_plan(file, installed())
    if dry_run:
        show_estimate(plan, work, out, as_json)
        return
    with shared.progress_bars() as progress:
        from rpd_studies.grid import grid  # it takes a while

        found = grid(plan, out=out, **work.how(progress))
    show_grid(found, as_json)
    if found.failed:
        raise typer.Exit(FAILED)


def show_estimate(plan: Any, work: Work, out: Path | None, as_json: bool) -> None:
    """Print the runs of a plan with what they would cost; end with a code where some would fail."""
    with shared.progress_bars("estimating") as progress:
        from rpd_studies.cost import estimate_grid, print_planned

        found: PlannedGrid = estimate_grid(plan, out=out, **work.how(progress))
    if as_json:
        shared.print_json(found)
    else:
        print_planned(shared.answers(), found)
    if found.failing:
        raise typer.Exit(FAILED)


def show_grid(found: Grid, as_json: bool) -> None:
    """Print the table, and where its files are."""
    from rpd_studies.grid_tables import print_grid
    from rpd_studies.pages import GRID_FILES

    if as_json:
        shared.print_json(found)
    else:
        print_grid(shared.answers(), found)
        show_files(found.folder, *GRID_FILES)


def show_files(folder: str, *names: str) -> None:
    """Print where the tables are, in a line to copy from."""
    from rpd_core.cli.text import say

    paths = ", ".join(str(Path(folder) / name) for name in names)
    say(shared.answers(), f"Tables: {paths}", copied=True)
