"""`rpd show`: the answer again, or how far a run is."""

from __future__ import annotations

from rpd_core.cli import shared


@shared.reporting
def show_command(run: shared.RunPath, as_json: shared.Json = False) -> None:
    """Print the answer of a run again, or how far an unfinished run is."""
    from rpd_core.cli.render import print_answer, print_progress
    from rpd_core.store import RunDirectory

    directory = RunDirectory(run)
    config = directory.config()
    summary = directory.read_json("summary.json")
    if summary is not None and summary["suite"]["episodes"] >= config.episodes:
        if as_json:
            shared.print_json(summary)
        else:
            print_answer(shared.answers(), summary, run)
        return
    done = sum(last - first + 1 for first, last in directory.suite.covered())
    state = {"finished": False, "episodes_done": done, "episodes": config.episodes}
    if as_json:
        shared.print_json(state)
    else:
        print_progress(shared.answers(), run, done, config.episodes)
