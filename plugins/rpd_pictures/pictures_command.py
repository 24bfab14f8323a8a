"""`rpd pictures`: draw and film the first decisions of a stored list, and store that."""

from __future__ import annotations

from rpd_core.cli import options, shared
from rpd_core.cli.run import executor_for, resolved


@shared.reporting
def pictures_command(
    run: options.RunPath = None,
    analysis: options.AnalysisName = None,
    workers: options.Workers = None,
    executor: options.ExecutorName = "local",
    stall_timeout: options.StallTimeout = None,
    trust_policy: options.TrustPolicy = False,
) -> None:
    """Draw the first decisions of a list and film a few; stored with the run."""
    from rpd_core.api import session_for, stored_call
    from rpd_core.pipeline import prepare_run
    from rpd_core.results.run import Run
    from rpd_pictures.gathering import gather_for
    from rpd_pictures.pictures import take_pictures

    run = shared.chosen_run(run)
    with shared.progress_bars() as progress:
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
            made = take_pictures(session, opened, again=True, gather=gather_for(session, opened))
    if made.missing:
        shared.show_note(made.missing)
    shared.answers().print(
        f"{len(made.states)} pictures of states and {len(made.clips)} pairs of clips are in "
        f"{run / 'pictures' / str(call.analysis)}",
        markup=False,
        soft_wrap=True,
    )
