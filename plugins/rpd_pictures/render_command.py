"""`rpd render`: an episode or a decision as a film."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.streams import output_for_the_answer

if TYPE_CHECKING:
    from rpd_pictures.film import Rendered


@shared.reporting
def render_command(
    run: options.RunPath = None,
    episode: Annotated[
        str | None,
        typer.Option("--episode", help="suite:17, unmutated:3, original:3, pruned:3, ..."),
    ] = None,
    decision: Annotated[
        str | None,
        typer.Option("--decision", help="Rank or key: policy against default from the same step."),
    ] = None,
    keep: Annotated[
        float | None, typer.Option("--keep", help="Share of states that keep the policy.")
    ] = None,
    find: Annotated[
        str | None, typer.Option("--find", help="The first that is failing, or passing.")
    ] = None,
    against: Annotated[
        str, typer.Option("--against", help="Beside it: original, pruned, default or none.")
    ] = "original",
    trace: Annotated[
        bool, typer.Option("--trace", help="One picture with the agent's path.")
    ] = False,
    frames: Annotated[int, typer.Option("--frames", help="Steps that are drawn at most.")] = 200,
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write: .webp, .mp4; traces also .png.")
    ] = None,
    analysis: options.AnalysisName = None,
    trust_policy: options.TrustPolicy = False,
    stall_timeout: options.StallTimeout = None,
    as_json: options.Json = False,
) -> None:
    """Draw an episode, or a decision against the default, as a film."""
    from rpd_core.api import open_run
    from rpd_pictures.film import render_run

    wanted: dict[str, Any] = {"decision": decision, "keep": keep, "find": find}
    wanted |= {"against": against, "trace": trace, "frames": frames}
    with output_for_the_answer(), shared.watched(episode or "a decision", stall_timeout):
        opened = open_run(shared.chosen_run(run), analysis)
        made = render_run(opened, episode, out, trust_policy, **wanted)
    for note in made.notes:
        shared.show_note(note)
    if as_json:
        shared.print_json(_plain(made))
    else:
        _print(made)


def _plain(made: Rendered) -> dict[str, object]:
    shown = [vars(one) for one in made.shown]
    return {"file": str(made.path), "episode": made.episode, "shown": shown}


def _print(made: Rendered) -> None:
    console = shared.answers()
    for one in made.shown:
        text = f"{one.title}: return {one.total_return:g} in {one.length} steps"
        console.print(text, markup=False)
    console.print(f"{made.episode} is in {made.path}", markup=False, soft_wrap=True)
