"""`rpd runs`, `rpd merge` and `rpd verify`: which runs there are, joined, and checked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.completion import complete_run
from rpd_core.config.settings import as_tuple
from rpd_core.errors import StoreError, counted, shell_word
from rpd_core.results.runs import RUNS, RunRow, age_in_words, list_runs, size_in_words

if TYPE_CHECKING:
    from rpd_core.store.merge import Merged

FAULTS = 3
"""Exit code of `rpd verify` where something is wrong."""


def runs_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder that holds them.")] = RUNS,
    as_json: options.Json = False,
) -> None:
    """List runs: what differs between them, how far each is, its age and its size."""
    if not folder.is_dir():
        raise StoreError(f"there is no folder {str(folder)!r}: name the one that holds your runs")
    rows = list_runs(folder)
    if as_json:
        shared.print_json(rows)
    elif not rows:
        shared.answers().print(f"There is no run in {folder}.", markup=False)
    else:
        _print_runs(rows)


def _print_runs(rows: list[RunRow]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("run", "state", "age", "size", "differs in"):
        right = heading in ("age", "size")
        table.add_column(heading, justify="right" if right else "left", overflow="fold")
    for row in rows:
        several = {n: "+".join(map(str, as_tuple(value))) for n, value in row.differs.items()}
        differs = ", ".join(f"{name}={value}" for name, value in several.items())
        cells = (row.path, row.state, age_in_words(row.changed), size_in_words(row.bytes))
        table.add_row(*map(Text, (*cells, row.problem or differs)))
    shared.answers().print(table)


def merge_command(
    out: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="Run to join them in: a new one, or one of theirs."),
    ],
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...", help="Runs that are read, and stay.", autocompletion=complete_run
        ),
    ],
    as_json: options.Json = False,
) -> None:
    """Join the episodes of runs of the same configuration; plays nothing."""
    with shared.progress_bars("comparing") as progress:
        from rpd_core.store.directory import RunDirectory
        from rpd_core.store.merge import merge_directories

        with shared.resumable(out, same_command=True):
            found = merge_directories(
                RunDirectory(out), [RunDirectory(run) for run in runs], progress, shared.show_note
            )
    if as_json:
        shared.print_json({"out": str(out), **vars(found)})
    else:
        _print_merged(out, found)


def _print_merged(out: Path, found: Merged) -> None:
    from rpd_core.cli.text import say
    from rpd_core.results.words import ranges_in_words

    console = shared.answers()
    held = f" ({found.held} {'was' if found.held == 1 else 'were'} there already)"
    unmutated = f", {found.unmutated} of unmutated episodes" if found.unmutated else ""
    say(
        console,
        f"{counted(found.parts, 'part')} added{unmutated}{held if found.held else ''}: "
        f"{found.episodes_done} of {found.episodes} mutant episodes are in {out}.",
    )
    if found.missing:
        say(console, f"Not complete: {ranges_in_words(found.missing)} missing.")
    config = shell_word(out / "run.json")
    say(console, f"Go on with: rpd run --config {config} --out {shell_word(out)}", copied=True)


def verify_command(run: options.RunPath = None, as_json: options.Json = False) -> None:
    """Check every file of a run; exit code 3 if one is not what it should be."""
    from rpd_core.results.verification import verify
    from rpd_core.store.directory import RunDirectory

    run = shared.chosen_run(run)
    verdict = verify(RunDirectory(run))
    if as_json:
        shared.print_json(verdict)
    else:
        state = counted(len(verdict.faults), "fault") if verdict.faults else "ok"
        analyses = counted(verdict.analyses, "analysis", "analyses")
        last = f"{state}: {counted(verdict.parts, 'part')} and {analyses} in {run}"
        for line in (*map(shared.tidied, verdict.faults), last):
            shared.answers().print(line, markup=False, soft_wrap=True)
    if verdict.faults:
        raise typer.Exit(FAULTS)
