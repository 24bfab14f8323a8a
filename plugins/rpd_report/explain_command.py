"""`rpd explain`: everything known about one decision; plays, locks and writes nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from rpd_core.cli import options, shared


@shared.reporting
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
    from rpd_core.store.codec import to_plain
    from rpd_report.explanation import explain
    from rpd_report.explanation_text import print_explanation

    path, wanted = shared.run_and(run, state, "STATE or RANK", "rpd explain RUN 1")
    opened = shared.opened_run(path, analysis)
    explanation = explain(opened, wanted)
    if opened.standing:
        shared.show_note(opened.standing)
    if as_json:
        shared.print_json(to_plain(explanation))
    else:
        print_explanation(shared.answers(), explanation)
