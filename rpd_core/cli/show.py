"""`rpd show`, `rpd rank` and `rpd replay`: the answer, a list, a stored episode."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.options import number_option, whole_option
from rpd_core.cli.streams import output_for_the_answer
from rpd_core.cli.work import check_typed_early, guarded, loading_seconds
from rpd_core.errors import counted

if TYPE_CHECKING:
    from rpd_core.play.profile import Profile
    from rpd_core.results.replay import Replay
    from rpd_core.results.run import Run

DIFFERS = 3
"""Exit code of `rpd replay` where the return is not the stored one."""
_LONGEST = 200
"""Characters of a state in the table of an episode; JSON has all."""


def show_command(
    run: options.RunPath = None,
    analysis: options.AnalysisName = None,
    full: Annotated[bool, typer.Option("--full", help="Everything: all tables.")] = False,
    keep: Annotated[
        int | None,
        whole_option(
            "--keep", "A policy with at most N decisions, of those on the way to the smallest."
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Print the answer of a run again, or how far an unfinished run is."""
    run = shared.chosen_run(run)
    opened = shared.opened_run(run, analysis)
    if keep is not None:
        _show_choice(opened, keep, as_json)
    elif opened.name is not None:
        if opened.standing and not as_json:
            shared.show_note(opened.standing)
        show_answer(opened, as_json, full)
    else:
        _show_progress(opened, as_json)


def _show_choice(opened: Run, keep: int, as_json: bool) -> None:
    from rpd_core.cli.screen import print_choice
    from rpd_core.results.kept import choose_from_front

    chosen = choose_from_front(opened, keep)
    if as_json:
        shared.print_json(chosen)
    else:
        print_choice(shared.answers(), opened.summary, chosen)


def _show_progress(opened: Run, as_json: bool) -> None:
    from rpd_core.cli.text import print_progress

    done, asked = opened.progress
    missing = opened.missing
    if as_json:
        shared.print_json(
            {"finished": False, "episodes_done": done, "episodes": asked, "missing": missing}
        )
    else:
        print_progress(shared.answers(), opened.path, (done, asked), missing)


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

    if as_json:
        timed = {} if profile is None else {"profile": profile}
        shared.print_json({**vars(finished.summary), **timed})
    else:
        others = finished.analyses
        print_answer(shared.answers(), finished.summary, finished.path, others, full, made)
    for line in [] if profile is None else profile_lines(profile):
        shared.errors().print(f"rpd: {line}", markup=False, soft_wrap=True)


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


def replay_command(
    run: options.RunPath = None,
    episode: Annotated[
        str | None,
        typer.Argument(
            help="suite:17, unmutated:3, original:3, default:3, pruned:3 or MEASURE@KEPT:3."
        ),
    ] = None,
    analysis: options.AnalysisName = None,
    trust_policy: options.TrustPolicy = False,
    stall_timeout: options.StallTimeout = None,
    load_timeout: options.LoadTimeout = None,
    as_json: options.Json = False,
) -> None:
    """Play a stored episode again, step by step; exit code 3 if its return differs."""
    from rpd_core.results.run import open_run

    path, wanted = shared.run_and(run, episode, "EPISODE", "rpd replay RUN suite:0")
    with output_for_the_answer(), guarded(wanted, stall_timeout):
        opened, seconds = open_run(path, analysis), loading_seconds(load_timeout)
        played = opened.replay(wanted, trust_policy=trust_policy, load_timeout=seconds)
    if as_json:
        steps = [{k: v for k, v in vars(step).items() if k != "frame"} for step in played.steps]
        told = ("episode", "seed", "total_return", "stored_return")
        shared.print_json({**{name: getattr(played, name) for name in told}, "steps": steps})
    else:
        _print_episode(played)
    if not played.agrees:
        shared.show_note(played.difference)
        raise typer.Exit(DIFFERS)


def _print_episode(played: Replay) -> None:
    from rich.markup import escape
    from rich.table import Table  # `rpd list-plugins` does not need it

    from rpd_core.results.words import cut

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("step", "state", "decided by", "action", "the other", "reward"):
        table.add_column(heading, justify="right" if heading in ("step", "reward") else "left")
    for step in played.steps:
        state = cut(step.state, _LONGEST)
        cells = (str(step.number), state, step.decided_by, step.action, step.other)
        table.add_row(*map(escape, cells), f"{step.reward:g}")
    console = shared.answers()
    console.print(table)
    same = "as stored" if played.stored_return is not None else "never played before"
    console.print(
        f"{played.episode}: return {played.total_return:g} in {counted(len(played.steps), 'step')} "
        f"({same if played.agrees else 'stored: ' + format(played.stored_return, 'g')})",
        markup=False,
    )
