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
        from rpd_core.api import session_for, stored_call
        from rpd_core.pipeline import prepare_run
        from rpd_core.results.run import Run
        from rpd_core.store.codec import to_plain
        from rpd_studies.sensitivity import changes_of, vary_session
        from rpd_studies.sensitivity_text import print_sensitivity
        from rpd_studies.validation import validate_session
        from rpd_studies.validation_text import print_validation

        how = {
            "workers": shared.check_workers(workers),
            "executor": executor_for(executor, stall_timeout),
            "progress": progress,
            "note": shared.show_note,
        }
        call = stored_call(run, analysis, trust_policy, **how)
        setup = resolved(call)
        with shared.resumable(run, same_command=True), session_for(call, setup) as session:
            prepare_run(session)
            opened = Run(session.directory.path, call.analysis, session.setup)
            if rates or default_action:
                others = tuple(default_action or ())
                changes = changes_of(session, rates, others, call.trust_policy)
                varied = vary_session(session, opened, changes)
            else:
                found = validate_session(session, opened, states, episodes, reached)
    if as_json:
        shared.print_json(to_plain(varied if rates or default_action else found))
    elif rates or default_action:
        print_sensitivity(shared.answers(), varied)
    else:
        print_validation(shared.answers(), found)
