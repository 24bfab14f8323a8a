"""`rpd reproduce`: the paper's tables, with its numbers beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.options import whole_option
from rpd_core.cli.work import Work, plays
from rpd_core.errors import ConfigError
from rpd_studies.grid_command import FAILED, DryRun, show_estimate, show_files

if TYPE_CHECKING:
    from rpd_studies.paper import Reproduction


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
    dry_run: DryRun = False,
    as_json: options.Json = False,
    **settings: Any,
) -> None:
    """Play the paper's evaluation again: its tables, with its numbers beside ours."""
    changed = options.given(settings)
    work.check(changed)
    from rpd_studies.paper import ACTIONS

    asked: dict[str, Any] = {
        "policy": _policies(policy or []),
        "default_actions": default_action or ACTIONS,
        "settings": changed,
        **({} if repeats is None else {"repeats": repeats}),
    }
    if dry_run:
        from rpd_studies.reproduce import wanted_of

        show_estimate(wanted_of(tasks or (), **asked).plan(), work, out, as_json)
        return
    with shared.progress_bars() as progress:
        from rpd_studies.reproduce import reproduce  # it takes a while

        found = reproduce(*(tasks or ()), **asked, out=out, **work.how(progress))
    show_reproduction(found, as_json)
    if found.failed:
        raise typer.Exit(FAILED)


def _policies(texts: list[str]) -> dict[str, str] | str | None:
    """Return the policies by task, or the only one where that names none."""
    from rpd_studies.paper import paper_tasks

    known = {name.lower() for name in paper_tasks()}
    pairs = [(text.partition("=")[0], text.partition("=")[2]) for text in texts]
    if len(texts) == 1 and pairs[0][0].lower() not in known:
        return texts[0]
    for (task, _), text in zip(pairs, texts, strict=True):
        if task.lower() not in known:
            raise ConfigError(f"--policy {text!r} names no task: write TASK=SPEC for each")
    return dict(pairs) or None


def show_reproduction(found: Reproduction, as_json: bool) -> None:
    """Print the tables, and where their files are."""
    from rpd_studies.pages import REPRODUCTION_FILES
    from rpd_studies.reproduction_tables import print_reproduction

    if as_json:
        shared.print_json(found)
        return
    print_reproduction(shared.answers(), found)
    show_files(found.folder, *REPRODUCTION_FILES)
