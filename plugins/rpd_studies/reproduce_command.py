"""`rpd reproduce`: the paper's tables, with its numbers beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.options import whole_option
from rpd_core.cli.work import Work, plays
from rpd_studies import grid_command as grid

if TYPE_CHECKING:
    from rpd_core.api import Call
    from rpd_studies.grids.reproduced import Reproduction
    from rpd_studies.playing import Work as GridWork
    from rpd_studies.reproduce import Wanted

LEFT = (
    "default_action", "seed", "names", "list_by", "rounds", "refine_episodes", "headline",
    "objective", "confirm_episodes", "confirm_tries", "confirm_margin", "margin", "confidence",
    "evidence", "measures",
)  # fmt: skip
"""Settings that decide nothing here, or that the paper's tables fix."""


@shared.reporting
@options.with_settings(
    "suite", "size", "analysis", leave_out=("seed", "names", "evidence", "measures")
)
@plays
def reproduce_command(
    *,
    tasks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TASK",
            help="Tasks of the paper: CartPole, MiniGrid, Pong, ...; default: CartPole and "
            "MiniGrid, whose policies ship.",
            show_default=False,
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        options.spec_option(
            "--policy", "policy", "Policy of the only task, or TASK=SPEC for one of several."
        ),
    ] = None,
    repeats: Annotated[
        int | None, whole_option("--repeats", "Runs of each task, seeds 0, 1, ...; default 5.")
    ] = None,
    default_action: Annotated[
        list[str] | None,
        options.spec_option(
            "--default-action", "default-action", "Default action; default: repeat and random."
        ),
    ] = None,
    work: Work,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder of the runs and the tables; default: runs/reproduce."),
    ] = None,
    dry_run: grid.DryRun = False,
    as_json: options.Json = False,
    **settings: Any,
) -> None:
    """Play the paper's evaluation again: its tables, with its numbers beside ours."""
    changed = options.given(settings)
    with shared.progress_bars("estimating" if dry_run else "starting") as progress:
        work.check(changed)
        wanted = wanted_for(tasks or [], policy or [], repeats, default_action or [], changed)
        planned_work = _work(wanted, grid.grid_call(work, progress, out))
        planned = grid.estimated(planned_work) if dry_run else None
        found = None if dry_run else _carry_out(wanted, planned_work)
    if planned is not None:
        grid.show_planned(planned, as_json)
    elif found is not None:
        show_reproduction(found, as_json)
        if found.failed:
            raise typer.Exit(grid.FAILED)


def wanted_for(
    tasks: Sequence[str],
    policies: Sequence[str],
    repeats: int | None,
    default_actions: Sequence[str],
    settings: dict[str, Any],
) -> Wanted:
    """Return what was asked for; every name in it is checked."""
    from rpd_studies.grids.paper import ACTIONS, paper_tasks
    from rpd_studies.reproduce import REPEATS, SHIPPED, Wanted, policies_for

    known = {name.lower() for name in paper_tasks()}
    named: dict[str, Any] = {}
    for text in policies:
        task, equals, spec = text.partition("=")
        if equals and task.lower() in known:
            named[task] = spec
        else:
            named |= policies_for(tasks, text)
    chosen = tuple(tasks) or tuple(named) or SHIPPED
    repeats = REPEATS if repeats is None else repeats
    return Wanted(chosen, named, repeats, tuple(default_actions) or ACTIONS, settings)


def _work(wanted: Wanted, call: Call) -> GridWork:
    from rpd_studies.reproduce import work_for_paper

    return work_for_paper(wanted, call)


def _carry_out(wanted: Wanted, work: GridWork) -> Reproduction:
    """Play it; when interrupted, tell how to go on."""
    from rpd_studies.reproduce import play_paper

    with shared.resumable(work.folder, same_command=True):
        return play_paper(wanted, work)


def show_reproduction(found: Reproduction, as_json: bool) -> None:
    """Print the tables, and where their files are."""
    from rpd_core.store.codec import to_plain
    from rpd_studies.grids.reproduced_page import JSON, MARKDOWN, PAGE
    from rpd_studies.grids.reproduced_text import print_reproduction

    if as_json:
        shared.print_json(to_plain(found))
        return
    print_reproduction(shared.answers(), found)
    folder = Path(found.folder)
    grid.show_files(folder / PAGE, folder / MARKDOWN, folder / JSON)
