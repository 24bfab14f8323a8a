"""`rpd rank`: a new question to stored episodes; plays, locks and writes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.options import number_option, whole_option
from rpd_core.cli.work import check_typed_early


def rank_command(
    run: options.RunPath = None,
    measure: options.Measure = None,
    condition: options.Condition = None,
    analysis: options.AnalysisName = None,
    top: Annotated[int, whole_option("--top", "Decisions to show.", least=1)] = 10,
    everything: Annotated[
        bool, typer.Option("--all", help="List states without enough episodes, too.")
    ] = False,
    reached: Annotated[
        bool, typer.Option("--reached", help="List only what the unmutated policy reaches.")
    ] = False,
    evidence: Annotated[
        int | None, whole_option("--evidence", "Episodes in each arm that a state needs.")
    ] = None,
    margin: Annotated[
        float | None, number_option("--margin", "Effect below which a decision is harmless.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option("--export", help="Write the whole ranking: .csv or .parquet.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """List effects in the mutated policy, as in the paper, by any measure; plays nothing."""
    check_typed_early(options.given({"measures": measure, "condition": condition}))
    if export is not None:
        shared.check_export(export, (".csv", ".parquet"), "in .csv or .parquet")
    from rpd_core.cli.listing import Asked, show_lists  # numerical

    asked = Asked(top, everything, reached, evidence, margin)
    opened = shared.opened_run(shared.chosen_run(run), analysis)
    show_lists(opened, measure or [], condition, asked, export, as_json)
