"""`rpd show`: the answer again, or how far a run is."""

from __future__ import annotations

from typing import Any

from rpd_core.cli import shared


def _answers(summary: dict[str, Any], config: dict[str, Any]) -> bool:
    """Tell whether a summary answers what the run was last asked."""
    told = summary.get("configuration") or {}
    return bool(
        told.get("analysis") == config["analysis"] and told.get("episodes") == config["episodes"]
    )


@shared.reporting
def show_command(run: shared.RunPath, as_json: shared.Json = False) -> None:
    """Print the answer of a run again, or how far an unfinished run is."""
    from rpd_core.cli.render import print_answer, print_progress
    from rpd_core.store.directory import RunDirectory

    directory = RunDirectory(run)
    config = directory.config()
    summary = directory.read_json("summary.json")
    if summary is not None and _answers(summary, config.as_json()):
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
