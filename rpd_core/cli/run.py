"""`rpd run`, `rpd suite` and `rpd prune`: everything, from episodes to the answer."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.completion import complete_run
from rpd_core.cli.options import is_toml
from rpd_core.cli.show import show_answer
from rpd_core.cli.work import Work, plays
from rpd_core.config.typed import parse_parts
from rpd_core.errors import ConfigError, StoreError, shell_word

if TYPE_CHECKING:
    from rpd_core.api import Call
    from rpd_core.cli.console import Display
    from rpd_core.cli.cost import Cost
    from rpd_core.play.profile import Profiler
    from rpd_core.results.run import Run
    from rpd_core.store.directory import RunDirectory
    from rpd_core.store.session import Session


@options.with_settings("suite", "size", "analysis", "answer", "growth")
@options.with_finish
@plays
def run_command(
    *,
    env: options.Env = None,
    policy: options.Policy = None,
    out: options.Out = None,
    config: options.Config = None,
    like: Annotated[
        Path | None,
        options.option(
            "--like",
            "Run to compare with: its task, states, rate, condition, ...",
            options.WHAT,
            metavar="RUN",
        ),
    ] = None,
    work: Work,
    analysis: options.NewAnalysisName = None,
    yes: options.Yes = False,
    dry_run: Annotated[
        bool,
        options.option(
            "--dry-run", "Show the configuration and an estimate, then stop.", options.WHERE
        ),
    ] = False,
    profile: Annotated[
        bool,
        options.option("--profile", "Show where the time went, on standard error.", options.WHERE),
    ] = False,
    as_json: options.Json = False,
    **settings: Any,
) -> None:
    """Find the few decisions that a policy needs, prove that they are enough, and weigh each."""
    finish = options.taken_finish(settings)
    typed = options.given({"env": env, "policy": policy, **settings})
    asked = {"out": out, "analysis": analysis, "like": like, "finish": finish}
    from rpd_core.play.profile import Profiler

    with shared.progress_bars("estimating" if dry_run else "starting") as progress:
        call = call_for(typed, config, work, progress, asked)
        estimated = _estimate_of(call) if dry_run else None
        profiler = Profiler() if profile and not dry_run else None
        asking = None if yes or typed.get("quick") else progress
        done = None if dry_run else play_call(call, ask=asking, profiler=profiler)
    if estimated is not None:
        from rpd_core.cli.text import print_estimate

        plain, cost = estimated
        if as_json:
            shared.print_json({**plain, "estimate": cost})
        else:
            print_estimate(shared.answers(), plain, cost)
    elif done is not None:
        finished, made = done
        found = None if profiler is None else profiler.found()
        show_answer(finished, as_json, made=tuple(made.values()), profile=found)


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
        options.option("--parts", "Build only the parts from A on and before B: A:B."),
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
        from rpd_core.store.directory import RunDirectory

        if run is not None:
            RunDirectory(run).stored()  # raises where it is not a run
        config = None if run is None else run / "run.json"
        call = call_for(typed, config, work, progress, {"out": run or out})
        setup = resolve_call(call)
        path = directory_for(call, setup).path
        if chosen is not None:
            chosen.episodes(setup.config.settings)  # refuses parts that there are not

        def ask(session: Session) -> None:
            if not yes:
                left = work_left(session.setup.config.settings, session.directory, chosen)
                consider(
                    session,
                    dataclasses.replace(left, pruned=0, minimising=0),
                    call.workers,
                    progress,
                )

        with shared.resumable(path):
            played = play_suite_of(call, setup, chosen, ask)
    facts, return_mean = stored_suite_facts(played.directory)
    missing = played.missing
    if as_json:
        found = {**vars(facts), "return_mean": return_mean, "missing": missing}
        shared.print_json({"out": str(path), **found})
    else:
        print_suite(shared.answers(), facts, return_mean, path, missing)


@options.with_settings("analysis", "answer")
@options.with_finish
@plays
def prune_command(
    *,
    run: options.RunPath = None,
    work: Work,
    analysis: options.NewAnalysisName = None,
    export: Annotated[
        Path | None,
        options.option(
            "--export",
            "Write the smallest policy: a .zip to load, or its rules alone as .json or .py.",
        ),
    ] = None,
    fraction: Annotated[
        float | None, options.number_option("--fraction", "Which of the targets is exported.")
    ] = None,
    as_json: options.Json = False,
    **settings: Any,
) -> None:
    """Prune the policy by the rankings of a stored suite; plays no mutant episode."""
    finish = options.taken_finish(settings)
    work.check(options.given(settings))
    from rpd_core.plugin.registry import installed
    from rpd_core.store.directory import RunDirectory

    run = shared.chosen_run(run)
    directory = RunDirectory(run)
    held, asked = directory.suite().count(), directory.stored().settings.episodes
    if held < asked and directory.latest() is None:
        raise StoreError(
            f"{str(run)!r} holds {held} of {asked} episodes, and pruning plays no mutant episode: "
            f"finish the suite first with rpd suite {shell_word(run)}"
        )
    if export is not None:
        pruned = installed().resolve("policy", "pruned")  # whoever reads exported policies writes
        endings = (f"in {' or '.join(ends)} ({what})" for what, ends in pruned.exports.items())
        known = [one for ends in pruned.exports.values() for one in ends]
        shared.check_export(export, known, " or ".join(endings))
    wanted = {"analysis": analysis, "finish": finish}
    with shared.progress_bars() as progress:
        typed = {**of_the_latest(directory), **options.given(settings)}
        call = call_for(typed, run / "run.json", work, progress, {**wanted, "out": run})
        finished, made = play_call(call)
    told = [] if export is None else pruned.export(finished, export, fraction)
    show_answer(finished, as_json, made=tuple(made.values()))
    for line in told:
        shared.errors().print(f"rpd: {line}", markup=False)


def of_the_latest(directory: RunDirectory) -> dict[str, int]:
    """Return the size of the latest analysis where the suite is not as large as was asked for."""
    name = directory.latest()
    complete = directory.suite().count() >= directory.stored().settings.episodes
    return {} if complete or name is None else {"episodes": directory.analysis(name).episodes}


def call_for(
    typed: dict[str, Any], config: Path | None, work: Work, progress: Any, asked: dict[str, Any]
) -> Call:
    """Join what was typed with the stored configuration it is based on, if any."""
    work.check(typed)
    repeated, like = config is not None and not is_toml(config), asked.get("like") is not None
    if repeated and like:
        raise ConfigError("--config and --like are two different runs to start from: give one")
    if not repeated and not like and "env" not in typed:
        raise ConfigError("no environment given: name one, for example --env cartpole")
    from rpd_core.api import Call

    if config is not None and not is_toml(config):
        typed = _based_on(config, work.trust_policy, typed)
    return Call(**typed, **asked, **work.how(progress))


def _based_on(config: Path, trust: bool, typed: dict[str, Any]) -> dict[str, Any]:
    """Return what was typed over the settings of a stored run, with what was asked of it last."""
    from rpd_core.results.requests import stored_request
    from rpd_core.store.directory import RunDirectory

    if config.name != "run.json" or not config.is_file():
        raise StoreError(
            f"{str(config)!r} is neither the run.json of a run nor a TOML file (.toml)"
        )
    directory = RunDirectory(config.parent)
    return stored_request(directory, None, trust, typed)


def play_call(
    call: Call, ask: Display | None = None, profiler: Profiler | None = None
) -> tuple[Run, dict[str, Path]]:
    """Do a whole run; when interrupted, show how to go on."""
    from rpd_core import api, pipeline
    from rpd_core.cli.console import Display
    from rpd_core.cli.cost import consider, stages_of, work_left
    from rpd_core.play.prepare import needs_growth
    from rpd_core.pruning.growing import STAGE, most_episodes

    def before(session: Session) -> None:
        directory, config = session.directory, session.setup.config
        if isinstance(call.progress, Display):  # the bars know what is to come
            grows = needs_growth(session.recipe)
            grown = [(STAGE, round(most_episodes(config.settings)))] if grows else []
            call.progress.pace.plan = [*grown, *stages_of(config.settings)]
        name = call.analysis or pipeline.analysis_name(session)
        if ask is None or name in directory.analyses():
            return
        with session.stage("estimating"):
            if call.analysis is not None:
                directory.refuse_taken(call.analysis, config)
            pipeline.prepare_run(session)
            consider(session, work_left(config.settings, directory), call.workers, ask)

    setup = api.resolve_call(call)
    with shared.resumable(api.directory_for(call, setup).path):
        return api.carry_out(call, setup, before, profiler)


def _estimate_of(call: Call) -> tuple[dict[str, Any], Cost]:
    from rpd_core.api import directory_for, resolve_call
    from rpd_core.cli.cost import estimate, with_growing, work_left
    from rpd_core.pilot import known_rate

    setup = resolve_call(call)
    directory = directory_for(call, setup)
    setup = known_rate(setup, directory)
    directory.check(setup.config)
    surplus = directory.surplus(setup.config)
    if surplus:
        shared.show_note(surplus)
    with call.guard("an estimate"):
        work = work_left(setup.config.settings, directory)
        if directory.read_json("prepared.json") is None:
            work = with_growing(work, setup)
        cost = estimate(setup, call.workers, work)
    config = {"suite": setup.config.suite_json(), "analysis": setup.config.analysis_json()}
    return {"config": config, "out": str(directory.path)}, cost
