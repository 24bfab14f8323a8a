"""`rpd show`: the answer again, or how far a run is."""

from __future__ import annotations

from typing import Annotated

import typer

from rpd_core.cli import options, shared


def show_command(
    run: options.RunPath = None,
    analysis: options.AnalysisName = None,
    full: Annotated[bool, typer.Option("--full", help="Everything: all tables.")] = False,
    as_json: options.Json = False,
) -> None:
    """Print the answer of a run again, or how far an unfinished run is."""
    from rpd_core.cli.run import show
    from rpd_core.cli.text import print_progress

    run = shared.chosen_run(run)
    opened = shared.opened_run(run, analysis)
    done, asked = opened.progress
    if opened.name is not None:
        if opened.standing and not as_json:
            shared.show_note(opened.standing)
        show(opened, as_json, full)
        return
    missing = opened.missing
    state = {"finished": False, "episodes_done": done, "episodes": asked, "missing": missing}
    if as_json:
        shared.print_json(state)
    else:
        print_progress(shared.answers(), run, (done, asked), missing)
