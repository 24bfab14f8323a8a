"""`rpd report`, the page of a run, and `rpd explain`, everything known about one decision."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rpd_core.cli import options, shared

if TYPE_CHECKING:
    from rpd_core.results.run import Run
    from rpd_core.store.session import Session


def report_command(
    run: options.RunPath = None,
    analysis: options.AnalysisName = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The page; default: report.html in RUN.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Write the page of a run: one file that needs no network."""
    from rpd_core.cli.text import say
    from rpd_report.page import write_page
    from rpd_report.top import faults_of

    opened = shared.opened_run(shared.chosen_run(run), analysis)
    written = write_page(opened, out)
    if opened.name is None and not as_json:
        shared.show_note(
            f"{str(opened.path)!r} has no finished analysis: the page says how far it is"
        )
    for fault in faults_of(opened):
        shared.show_note(fault)
    if as_json:
        shared.print_json({"page": str(written), "bytes": written.stat().st_size})
    else:
        say(shared.answers(), str(written), copied=True)


def write_after_run(session: Session, run: Run) -> Path:
    """Write the page at the end of a run, and return where it is."""
    from rpd_report.page import write_page

    return write_page(run)


def explain_command(
    run: options.RunPath = None,
    state: Annotated[
        str | None,
        typer.Argument(
            metavar="STATE|RANK", help="Rank in the list, key, or a part of the state's words."
        ),
    ] = None,
    analysis: options.AnalysisName = None,
    as_json: options.Json = False,
) -> None:
    """Show everything known about one decision; plays nothing."""
    from rpd_report.explanation import explain
    from rpd_report.explanation_text import print_explanation

    path, wanted = shared.run_and(run, state, "STATE or RANK", "rpd explain RUN 1")
    opened = shared.opened_run(path, analysis)
    explanation = explain(opened, wanted)
    if opened.standing:
        shared.show_note(opened.standing)
    if as_json:
        shared.print_json(explanation)
    else:
        print_explanation(shared.answers(), explanation)
