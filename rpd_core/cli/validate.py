"""`rpd validate`: single states mutated alone, and other rates and default actions."""

from __future__ import annotations

from typing import Annotated

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.numbers import whole_option
from rpd_core.cli.run import check_early, executor_for, resolved


@shared.reporting
def validate_command(
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
    workers: options.Workers = None,
    executor: options.ExecutorName = "local",
    stall_timeout: options.StallTimeout = None,
    trust_policy: options.TrustPolicy = False,
    as_json: options.Json = False,
) -> None:
    """Check a list: single decisions mutated alone, other mutation rates or default actions."""
    run = shared.chosen_run(run)
    with shared.progress_bars() as progress:
        for one in default_action or ():
            check_early({"default_action": one})
        from rpd_core.api import Varied, session_for, stored_call, validate_session, vary_session
        from rpd_core.report.sensitivity_text import print_sensitivity
        from rpd_core.report.validation_text import print_validation
        from rpd_core.store.codec import to_plain

        how = {
            "workers": shared.check_workers(workers),
            "executor": executor_for(executor, stall_timeout),
            "progress": progress,
            "note": shared.show_note,
        }
        call = stored_call(run, analysis, trust_policy, **how)
        setup = resolved(call)
        with shared.resumable(run, same_command=True), session_for(call, setup) as session:
            if rates or default_action:
                varied = vary_session(session, call, Varied(rates, tuple(default_action or ())))
            else:
                found = validate_session(session, call, states, episodes, reached)
    if as_json:
        shared.print_json(to_plain(varied if rates or default_action else found))
    elif rates or default_action:
        print_sensitivity(shared.answers(), varied)
    else:
        print_validation(shared.answers(), found)
