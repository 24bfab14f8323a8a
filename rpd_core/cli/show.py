"""`rpd show`: the answer again, or how far a run is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rpd_core.cli import options, shared

if TYPE_CHECKING:
    from rpd_core.play.profile import Profile
    from rpd_core.results.run import Run


def show_command(
    run: options.RunPath = None,
    analysis: options.AnalysisName = None,
    full: Annotated[bool, typer.Option("--full", help="Everything: all tables.")] = False,
    keep: Annotated[
        int | None,
        options.whole_option(
            "--keep", "A policy with at most N decisions, of those on the way to the smallest."
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Print the answer of a run again, or how far an unfinished run is."""
    from rpd_core.cli.text import print_progress

    run = shared.chosen_run(run)
    opened = shared.opened_run(run, analysis)
    done, asked = opened.progress
    if keep is not None:
        _show_choice(opened, keep, as_json)
        return
    if opened.name is not None:
        if opened.standing and not as_json:
            shared.show_note(opened.standing)
        show_answer(opened, as_json, full)
        return
    missing = opened.missing
    state = {"finished": False, "episodes_done": done, "episodes": asked, "missing": missing}
    if as_json:
        shared.print_json(state)
    else:
        print_progress(shared.answers(), run, (done, asked), missing)


def _show_choice(opened: Run, keep: int, as_json: bool) -> None:
    """Print a policy of the front and its states."""
    from rpd_core.cli.full import print_choice
    from rpd_core.results.front import choose_from_front
    from rpd_core.store.codec import to_plain

    chosen = choose_from_front(opened, keep)
    if as_json:
        shared.print_json(to_plain(chosen))
    else:
        print_choice(shared.answers(), opened.summary, chosen)


def show_answer(
    finished: Run,
    as_json: bool,
    full: bool = False,
    made: Sequence[Path] = (),
    profile: Profile | None = None,
) -> None:
    """Print the answer, what was just made to look at, and where the time went."""
    from rpd_core.cli.screen import print_answer
    from rpd_core.cli.text import profile_lines
    from rpd_core.store.codec import to_plain

    if as_json:
        timed = {} if profile is None else {"profile": to_plain(profile)}
        shared.print_json({**to_plain(finished.summary), **timed})
    else:
        others = finished.analyses
        print_answer(shared.answers(), finished.summary, finished.path, others, full, made)
    for line in [] if profile is None else profile_lines(profile):
        shared.errors().print(f"rpd: {line}", markup=False, soft_wrap=True)
