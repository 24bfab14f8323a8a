"""`rpd validate`: single states mutated alone, and other rates and default actions."""

from __future__ import annotations

from typing import Annotated

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.options import whole_option
from rpd_core.cli.work import Work, check_typed_early, plays


@plays
def validate_command(
    *,
    run: options.RunPath = None,
    analysis: options.AnalysisName = None,
    states: Annotated[
        int, whole_option("--states", "States per group: top, middle, harmless, random.")
    ] = 10,
    episodes: Annotated[
        int, whole_option("--episodes", "Unmutated episodes that each state is tried on.")
    ] = 400,
    reached: Annotated[
        bool, typer.Option("--reached", help="Choose only what the unmutated policy reaches.")
    ] = False,
    rates: Annotated[
        bool, typer.Option("--rates", help="Instead: compare with half and double mutation rate.")
    ] = False,
    default_action: Annotated[
        list[str] | None,
        options.spec_option(
            "--default-action", "default-action", "Instead: compare with this one; repeatable."
        ),
    ] = None,
    work: Work,
    as_json: options.Json = False,
) -> None:
    """Check a list: single decisions mutated alone, other mutation rates or default actions."""
    run = shared.chosen_run(run)
    with shared.progress_bars() as progress:
        for one in default_action or ():
            check_typed_early({"default_action": one})
        from rpd_core.results.run import open_run
        from rpd_studies.sensitivity import Sensitivity, vary
        from rpd_studies.validation import Validation, validate
        from rpd_studies.validation_tables import print_found

        opened, how = open_run(run, analysis), work.how(progress)
        found: Sensitivity | Validation
        with shared.resumable(run, same_command=True):
            if rates or default_action:
                found = vary(opened, rates, tuple(default_action or ()), **how)
            else:
                found = validate(opened, states, episodes, reached, **how)
    if as_json:
        shared.print_json(found)
    else:
        print_found(shared.answers(), found)
