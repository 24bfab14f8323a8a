"""`rpd replay`: a stored episode again, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from rpd_core.cli import options, shared
from rpd_core.cli.streams import output_for_the_answer
from rpd_core.cli.work import guarded, loading_seconds
from rpd_core.errors import counted

if TYPE_CHECKING:
    from rpd_core.results.replay import Replay

DIFFERS = 3
"""Exit code where the return is not the stored one."""
_LONGEST = 200
"""Characters of a state in the table; JSON has all."""


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
        shared.print_json(_plain(played))
    else:
        _print(played)
    if not played.agrees:
        shared.show_note(played.difference)
        raise typer.Exit(DIFFERS)


def _plain(played: Replay) -> dict[str, object]:
    steps = [{k: v for k, v in vars(step).items() if k != "frame"} for step in played.steps]
    return {
        "episode": played.episode,
        "seed": played.seed,
        "total_return": played.total_return,
        "stored_return": played.stored_return,
        "steps": steps,
    }


def _print(played: Replay) -> None:
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
