"""`rpd pictures`: draw and film the first decisions of a stored list, and store that."""

from __future__ import annotations

from rpd_core.cli import options, shared
from rpd_core.cli.work import Work, plays


@shared.reporting
@plays
def pictures_command(
    *,
    run: options.RunPath = None,
    analysis: options.AnalysisName = None,
    work: Work,
) -> None:
    """Draw the first decisions of a list and film a few; stored with the run."""
    from rpd_core.api import open_run
    from rpd_pictures.taking import draw_run

    run = shared.chosen_run(run)
    opened = open_run(run, analysis)
    with shared.progress_bars() as progress, shared.resumable(run, same_command=True):
        made = draw_run(opened, **work.how(progress))
    if made.missing:
        shared.show_note(made.missing)
    shared.answers().print(
        f"{len(made.states)} pictures of states and {len(made.clips)} pairs of clips are in "
        f"{run / 'pictures' / str(opened.name)}",
        markup=False,
        soft_wrap=True,
    )
