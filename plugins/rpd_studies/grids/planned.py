"""The runs of a grid before they are played, as a table on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rpd_core.cli.text import say
from rpd_core.errors import counted
from rpd_core.execute.progress import in_words

if TYPE_CHECKING:
    from rpd_studies.estimate import PlannedGrid, PlannedRun

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


def _cells(run: PlannedRun) -> tuple[str, ...]:
    told = ", ".join(f"{name}={value}" for name, value in run.settings.items())
    if run.problem:
        return str(run.cell), str(run.seed), told, f"would fail: {run.problem}", "", "", ""
    about = "finished" if run.finished else in_words(run.seconds or 0.0)
    counts = str(run.suite_episodes), str(run.pruning_episodes)
    return str(run.cell), str(run.seed), told, run.path, *counts, about
