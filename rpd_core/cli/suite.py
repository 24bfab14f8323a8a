"""`rpd suite`: mutant episodes, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.completion import complete_run
from rpd_core.cli.run import call_for
from rpd_core.cli.work import Work, plays
from rpd_core.config.typed import parse_parts
from rpd_core.errors import ConfigError

if TYPE_CHECKING:
    from rpd_core.store.session import Session


@options.with_settings("suite", "size")
@plays
def suite_command(
    *,
    run: Annotated[
        Path | None,
        typer.Argument(metavar="RUN", help="Run to continue.", autocompletion=complete_run),
    ] = None,
    env: options.Env = None,
    policy: options.Policy = None,
    parts: Annotated[
        str | None,
        typer.Option("--parts", help="Build only the parts from A on and before B: A:B."),
    ] = None,
    work: Work,
    out: options.Out = None,
    yes: options.Yes = False,
    as_json: options.Json = False,
    **settings: Any,
) -> None:
    """Play mutant episodes into a run directory: a new one, or RUN, which may grow."""
    chosen = None if parts is None else parse_parts(parts)
    if run is not None and out is not None:
        raise ConfigError(f"{run} is continued where it is: leave --out {out} out")
    typed = options.given({"env": env, "policy": policy, **settings})
    with shared.progress_bars() as progress:
        work.check(typed)
        from rpd_core.api import directory_for, play_suite_of, resolve_call
        from rpd_core.cli.cost import consider, work_left
        from rpd_core.cli.text import print_suite
        from rpd_core.pipeline import stored_suite_facts
        from rpd_core.store.codec import to_plain

        config = None if run is None else stored_config(run)
        call = call_for(typed, config, work, progress, {"out": run or out})
        setup = resolve_call(call)
        path = directory_for(call, setup).path
        if chosen is not None:
            chosen.episodes(setup.config.settings)  # refuses parts that there are not

        def ask(session: Session) -> None:
            if not yes:
                left = work_left(session.setup.config.settings, session.directory, chosen)
                consider(session, replace(left, pruned=0), call.workers, progress)

        with shared.resumable(path):
            played = play_suite_of(call, setup, chosen, ask)
    facts, return_mean = stored_suite_facts(played.directory)
    missing = played.missing
    if as_json:
        found = {**to_plain(facts), "return_mean": return_mean, "missing": missing}
        shared.print_json({"out": str(path), **found})
    else:
        print_suite(shared.answers(), facts, return_mean, path, missing)


def stored_config(run: Path) -> Path:
    """Return the run.json of a run directory, or raise where it is none."""
    from rpd_core.store.directory import RunDirectory

    RunDirectory(run).stored()
    return run / "run.json"
