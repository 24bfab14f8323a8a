"""`rpd merge`: runs of equal configuration, built in parts anywhere, joined into one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.completion import complete_run
from rpd_core.errors import counted, shell_word

if TYPE_CHECKING:
    from rpd_core.store.merge import Merged


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
        from rpd_core.store.codec import to_plain
        from rpd_core.store.directory import RunDirectory
        from rpd_core.store.merge import merge_directories

        with shared.resumable(out, same_command=True):
            found = merge_directories(
                RunDirectory(out), [RunDirectory(run) for run in runs], progress, shared.show_note
            )
    if as_json:
        shared.print_json({"out": str(out), **to_plain(found)})
    else:
        _print(out, found)


def _print(out: Path, found: Merged) -> None:
    from rpd_core.cli.text import say
    from rpd_core.results.words import ranges_in_words

    console = shared.answers()
    held = f" ({found.held} {'was' if found.held == 1 else 'were'} there already)"
    held = held if found.held else ""
    unmutated = f", {found.unmutated} of unmutated episodes" if found.unmutated else ""
    say(
        console,
        f"{counted(found.parts, 'part')} added{unmutated}{held}: {found.episodes_done} of "
        f"{found.episodes} mutant episodes are in {out}.",
    )
    if found.missing:
        say(console, f"Not complete: {ranges_in_words(found.missing)} missing.")
    config = shell_word(out / "run.json")
    say(console, f"Go on with: rpd run --config {config} --out {shell_word(out)}", copied=True)
