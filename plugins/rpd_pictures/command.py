"""`rpd draw`: figures, films and paths as files, and the pictures stored with a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.streams import output_for_the_answer
from rpd_core.cli.work import Work, plays
from rpd_core.errors import ConfigError
from rpd_core.results.words import few
from rpd_pictures.subjects import NAMES, SUBJECTS, subject_of, target_file, unfit

if TYPE_CHECKING:
    from rpd_pictures.film import Film
    from rpd_pictures.stored import Pictures


def _figure_option(flag: str, text: str) -> Any:
    return typer.Option(flag, help=text, rich_help_panel="Figures")


def _film_option(flag: str, text: str) -> Any:
    return typer.Option(flag, help=text, rich_help_panel="Films and paths")


@plays
def draw_command(
    *,
    run: options.RunPath = None,
    what: Annotated[str | None, typer.Argument(metavar="WHAT", help=f"One of: {NAMES}.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="File: .png, .svg or .pdf; films .webp, .mp4, .gif; paths .webp, .png.",
        ),
    ] = None,
    measure: Annotated[
        list[str] | None,
        _figure_option("--measure", "Of curves, scores: only this one; repeatable."),
    ] = None,
    count: Annotated[
        int | None, _figure_option("--count", "Of decisions: how many; default 15.")
    ] = None,
    pair: Annotated[
        str | None, _figure_option("--pair", "Of map: two of its variables, X,Y.")
    ] = None,
    episode: Annotated[
        str | None,
        _film_option("--episode", "suite:17, pruned:3, ...; of trace: whole, smallest:3."),
    ] = None,
    decision: Annotated[
        str | None,
        _film_option("--decision", "Of film: rank or key; an episode with and without it."),
    ] = None,
    keep: Annotated[
        float | None, _film_option("--keep", "Share of states that keep the policy.")
    ] = None,
    find: Annotated[
        str | None, _film_option("--find", "The first that is failing, or passing.")
    ] = None,
    against: Annotated[
        str | None,
        _film_option("--against", "Beside it: original (default), pruned, default or none."),
    ] = None,
    frames: Annotated[
        int | None, _film_option("--frames", "Steps that are drawn at most; default 200.")
    ] = None,
    analysis: options.AnalysisName = None,
    work: Work,
    as_json: options.Json = False,
) -> None:
    """Draw a figure, a film or a path of a run, or the pictures that are stored with it."""
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
        "workers": work.workers,
        "executor": None if work.executor == "local" else work.executor,
        "trust_policy": work.trust_policy or None,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    where, name = shared.run_and(run, what, "WHAT", "rpd draw RUN curves")
    subject = subject_of(name, given)
    if work.stall_timeout is not None and not subject.plays:
        raise unfit("stall_timeout", name, [one for one in SUBJECTS if SUBJECTS[one].plays])
    if out is not None or not subject.plays:
        out = target_file(name, out, name)  # before the work
    if name == "pictures":
        with shared.progress_bars() as progress, shared.resumable(where, same_command=True):
            made = _drawn(where, analysis, name, None, work.how(progress))
        _print_pictures(made, where, as_json)
    elif subject.plays:
        with (
            output_for_the_answer(),
            work.guard(episode or ("a decision" if decision else name)),
        ):
            film = _drawn(where, analysis, name, out, given)
        _print_film(film, as_json)
    else:
        _drawn(where, analysis, name, out, given)
        _print({"file": str(out)}, [str(out)], as_json)


def _two(pair: str | None) -> tuple[str, str] | None:
    entries = () if pair is None else tuple(pair.split(","))
    if pair is not None and len(entries) != 2:
        raise ConfigError(f"--pair takes two entries with a comma between, got {pair!r}")
    return (entries[0], entries[1]) if entries else None


def _drawn(
    where: Path, analysis: str | None, name: str, out: Path | None, given: dict[str, Any]
) -> Any:
    from rpd_core.results.run import open_run
    from rpd_pictures.drawing import draw

    return draw(open_run(where, analysis), name, out, **given)


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
        f"{one.title}: return {few(one.total_return)} in {one.length} steps" for one in made.shown
    ]
    lines.append(f"{made.episode} is in {made.path}")
    _print({"file": str(made.path), "episode": made.episode, "shown": shown}, lines, as_json)


def _print(plain: dict[str, Any], lines: list[str], as_json: bool) -> None:
    if as_json:
        shared.print_json(plain)
        return
    for line in lines:
        shared.answers().print(line, markup=False, soft_wrap=True)
