"""`rpd draw`: figures, films and traces as files, and the pictures stored with a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.run import executor_for, resolved
from rpd_core.cli.streams import output_for_the_answer
from rpd_core.errors import ConfigError
from rpd_pictures.subjects import NAMES, SUBJECTS, subject_of, target_file, unfit

if TYPE_CHECKING:
    from rpd_core.results.pictures import Pictures
    from rpd_pictures.film import Film


@shared.reporting
def draw_command(
    run: options.RunPath = None,
    what: Annotated[str | None, typer.Argument(metavar="WHAT", help=f"One of: {NAMES}.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="File: .png, .svg or .pdf; films .webp or .mp4, traces .webp or .png."
        ),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option("--measure", help="Of curves, scores: only this one; repeatable."),
    ] = None,
    count: Annotated[
        int | None, typer.Option("--count", help="Of decisions: how many; default 15.")
    ] = None,
    pair: Annotated[
        str | None, typer.Option("--pair", help="Of map: two entries of a state, X,Y.")
    ] = None,
    episode: Annotated[
        str | None,
        typer.Option(
            "--episode", help="Of film, trace: suite:17, unmutated:3, original:3, pruned:3, ..."
        ),
    ] = None,
    decision: Annotated[
        str | None,
        typer.Option(
            "--decision", help="Of film: rank or key; policy against default from the same step."
        ),
    ] = None,
    keep: Annotated[
        float | None,
        typer.Option("--keep", help="Of film, trace: share of states that keep the policy."),
    ] = None,
    find: Annotated[
        str | None,
        typer.Option("--find", help="Of film, trace: the first that is failing, or passing."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            help="Of film, trace: beside it, original (default), pruned, default or none.",
        ),
    ] = None,
    frames: Annotated[
        int | None,
        typer.Option("--frames", help="Of film, trace: steps drawn at most; default 200."),
    ] = None,
    analysis: options.AnalysisName = None,
    workers: options.Workers = None,
    executor: options.ExecutorName = "local",
    stall_timeout: options.StallTimeout = None,
    trust_policy: options.TrustPolicy = False,
    as_json: options.Json = False,
) -> None:
    """Draw a figure, a film or a trace of a run, or the pictures that are stored with it."""
    asked: dict[str, Any] = {
        "measure": measure,
        "count": count,
        "pair": _two(pair),
        "episode": episode,
        "decision": decision,
        "keep": keep,
        "find": find,
        "against": against,
        "frames": frames,
        "workers": workers,
        "executor": None if executor == "local" else executor,
        "trust_policy": trust_policy or None,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    where, name = shared.run_and(run, what, "WHAT", "rpd draw RUN curves")
    subject = subject_of(name, given)
    if stall_timeout is not None and not subject.plays:
        raise unfit("stall_timeout", name, [one for one in SUBJECTS if SUBJECTS[one].plays])
    if name == "pictures":
        if out is not None:
            target_file(name, out, name)
        how = {
            "workers": shared.check_workers(workers),
            "executor": executor_for(executor, stall_timeout),
        }
        _print_pictures(_take(where, analysis, trust_policy, how), where, as_json)
    elif subject.plays:
        with output_for_the_answer(), shared.watched(episode or "a decision", stall_timeout):
            film = _drawn(where, analysis, name, out, given)
        _print_film(film, as_json)
    else:
        path = target_file(name, out, name)  # before the work
        _drawn(where, analysis, name, path, given)
        _print({"file": str(path)}, [str(path)], as_json)


def _two(pair: str | None) -> tuple[str, str] | None:
    entries = () if pair is None else tuple(pair.split(","))
    if pair is not None and len(entries) != 2:
        raise ConfigError(f"--pair takes two entries with a comma between, got {pair!r}")
    return (entries[0], entries[1]) if entries else None


def _drawn(
    where: Path, analysis: str | None, name: str, out: Path | None, given: dict[str, Any]
) -> Any:
    from rpd_core.api import open_run
    from rpd_pictures.drawing import draw

    return draw(open_run(where, analysis), name, out, **given)


def _take(where: Path, analysis: str | None, trust: bool, how: dict[str, Any]) -> Pictures:
    """Take pictures as at the end of a run; when interrupted, show how to go on."""
    from rpd_core.api import session_for, stored_call
    from rpd_core.pipeline import prepare_run
    from rpd_core.results.run import Run
    from rpd_pictures.panels import gather_for
    from rpd_pictures.pictures import take_pictures

    with shared.progress_bars() as progress:
        call = stored_call(where, analysis, trust, **how, progress=progress, note=shared.show_note)
        setup = resolved(call)
        with shared.resumable(where, same_command=True), session_for(call, setup) as session:
            prepare_run(session)
            opened = Run(session.directory.path, call.analysis, session.setup)
            return take_pictures(session, opened, again=True, gather=gather_for(session, opened))


def _print_pictures(made: Pictures, where: Path, as_json: bool) -> None:
    if made.missing:
        shared.show_note(made.missing)
    states, clips, folder = len(made.states), len(made.clips), str(where / "pictures")
    text = f"{states} pictures of states and {clips} pairs of clips are in {folder}"
    _print({"folder": folder, "states": states, "clips": clips}, [text], as_json)


def _print_film(made: Film, as_json: bool) -> None:
    for note in made.notes:
        shared.show_note(note)
    shown = [vars(one) for one in made.shown]
    lines = [
        f"{one.title}: return {one.total_return:g} in {one.length} steps" for one in made.shown
    ]
    lines.append(f"{made.episode} is in {made.path}")
    _print({"file": str(made.path), "episode": made.episode, "shown": shown}, lines, as_json)


def _print(plain: dict[str, Any], lines: list[str], as_json: bool) -> None:
    if as_json:
        shared.print_json(plain)
        return
    for line in lines:
        shared.answers().print(line, markup=False, soft_wrap=True)
