"""`rpd run`: everything, from episodes to the answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.config_file import is_toml
from rpd_core.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from rpd_core.api import Call
    from rpd_core.cli.cost import Cost
    from rpd_core.cli.progress import Display
    from rpd_core.config.resolve import Setup
    from rpd_core.play.profile import Profile, Profiler
    from rpd_core.results.run import Run
    from rpd_core.store.session import Session

ISOLATE = True
"""Whether one worker is a process of its own, which can be ended when it hangs."""


@shared.reporting
@options.with_settings("suite", "size", "analysis", "growth")
@options.with_finish
def run_command(
    env: options.Env = None,
    policy: options.Policy = None,
    workers: options.Workers = None,
    executor: options.ExecutorName = "local",
    stall_timeout: options.StallTimeout = None,
    trust_policy: options.TrustPolicy = False,
    out: options.Out = None,
    analysis: Annotated[
        str | None, typer.Option("--analysis", help="Name of the analysis; default: readable.")
    ] = None,
    config: options.Config = None,
    like: Annotated[
        Path | None,
        typer.Option("--like", help="Run to compare with: its task, states, rate, condition, ..."),
    ] = None,
    yes: options.Yes = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the configuration and an estimate, then stop.")
    ] = False,
    profile: Annotated[
        bool, typer.Option("--profile", help="Show where the time went, on standard error.")
    ] = False,
    as_json: options.Json = False,
    **settings: Any,
) -> None:
    """Rank a policy's decisions and prove the ranking by pruning the policy."""
    finish = options.taken_finish(settings)
    typed = options.given({"env": env, "policy": policy, **settings})
    how = {
        "executor": executor,
        "stall": stall_timeout,
        "workers": workers,
        "out": out,
        "analysis": analysis,
        "like": like,
        "finish": finish,
    }
    with shared.progress_bars("estimating" if dry_run else "starting") as progress:
        call = call_for(typed, config, trust_policy, {**how, "progress": progress})
        estimated = estimate_of(call) if dry_run else None
        profiler = profiler_for(profile and not dry_run)
        asking = None if yes else progress
        done = None if dry_run else carry_out(call, ask=asking, profiler=profiler)
    if estimated is not None:
        show_estimate(*estimated, as_json)
    elif done is not None:
        finished, made = done
        found = None if profiler is None else profiler.found()
        show(finished, as_json, page=made.get("report"), profile=found)


def profiler_for(wanted: bool) -> Profiler | None:
    """Return what times a run, if somebody wants to know."""
    from rpd_core.play.profile import Profiler

    return Profiler() if wanted else None


def call_for(typed: dict[str, Any], config: Path | None, trust: bool, how: dict[str, Any]) -> Call:
    """Join what was typed with the stored configuration it is based on, if any."""
    check_early(typed, how)
    repeated, like = config is not None and not is_toml(config), how.get("like") is not None
    if repeated and like:
        raise ConfigError("--config and --like are two different runs to start from: give one")
    if not repeated and not like and "env" not in typed:
        raise ConfigError("no environment given: name one, for example --env cartpole")
    from rpd_core.api import Call

    if config is not None and not is_toml(config):
        typed = based_on(config, trust, typed)
    how["workers"] = shared.check_workers(how.get("workers"))
    how["executor"] = executor_for(how["executor"], how.pop("stall", None))
    return Call(**typed, **how, trust_policy=trust, note=shared.show_note)


def check_early(typed: dict[str, Any], how: Mapping[str, Any] = MappingProxyType({})) -> None:
    """Refuse what can be seen to be wrong before anything is imported that takes long."""
    from rpd_core.config.typed import check_typed
    from rpd_core.plugin.registry import installed

    registry = installed()
    check_typed(typed, registry)
    workers = how.get("workers")
    if workers is not None and workers < 1:
        raise ConfigError(f"workers must be at least 1, got {workers}")
    registry.find("executor", registry.name_in("executor", how.get("executor", "local")))


def executor_for(text: str, stall_timeout: float | None) -> Any:
    """Return the executor; local work gets a process of its own, which can be ended."""
    from rpd_core.plugin.registry import installed

    executor = installed().make("executor", text)
    wanted = {"isolate": ISOLATE, "stall_timeout": stall_timeout}
    known = {item.name for item in dataclasses.fields(executor)}
    if stall_timeout is not None and "stall_timeout" not in known:
        raise ConfigError(f"the executor {text!r} has no stall_timeout: leave --stall-timeout out")
    changes = {k: v for k, v in wanted.items() if k in known and v is not None}
    return dataclasses.replace(executor, **changes)


def based_on(config: Path, trust: bool, typed: dict[str, Any]) -> dict[str, Any]:
    """Return what was typed over the settings of a stored run, with what was asked of it last."""
    from rpd_core.results.requests import stored_request
    from rpd_core.store.directory import RunDirectory

    if config.name != "run.json" or not config.is_file():
        raise StoreError(
            f"{str(config)!r} is neither the run.json of a run nor a TOML file (.toml)"
        )
    directory = RunDirectory(config.parent)
    return stored_request(directory, None, trust, typed)


def resolved(call: Call) -> Setup:
    """Resolve what is asked for; the environment is made for that, and may hang."""
    from rpd_core.api import resolve_call

    stall_timeout = getattr(call.executor, "stall_timeout", None)
    with shared.watched("the environment, which is made and closed to look at it", stall_timeout):
        return resolve_call(call)


def carry_out(
    call: Call,
    grow: bool = True,
    ask: Display | None = None,
    profiler: Profiler | None = None,
) -> tuple[Run, dict[str, Path]]:
    """Do a whole run; when interrupted, show how to go on.

    With `ask`, somebody is asked before work that takes long.
    """
    from rpd_core import api

    def before(session: Session) -> None:
        if ask is not None:
            with session.stage("estimating"):
                consider_run(session, call, ask)

    setup = resolved(call)
    with shared.resumable(api.directory_for(call, setup).path):
        return api.carry_out(call, setup, grow, before, profiler)


def consider_run(session: Session, call: Call, display: Display) -> None:
    """Ask before a whole run that takes long, unless its answer is there already."""
    from rpd_core.cli.caution import consider
    from rpd_core.cli.cost import work_left
    from rpd_core.pipeline import analysis_name, prepare_run

    name = call.analysis or analysis_name(session)
    if name not in session.directory.analyses():
        if call.analysis is not None:
            session.directory.refuse_taken(call.analysis, session.setup.config)
        prepare_run(session)
        work = work_left(session.setup.config.settings, session.directory)
        consider(session, work, call.workers, display)


def show(
    finished: Run,
    as_json: bool,
    full: bool = False,
    page: Path | None = None,
    profile: Profile | None = None,
) -> None:
    """Print the answer, where its page is if one was just written, and where the time went."""
    from rpd_core.cli.profile_text import profile_lines
    from rpd_core.cli.screen import print_answer
    from rpd_core.store.codec import to_plain

    if as_json:
        timed = {} if profile is None else {"profile": to_plain(profile)}
        shared.print_json({**to_plain(finished.summary), **timed})
    else:
        others = finished.analyses
        print_answer(shared.answers(), finished.summary, finished.path, others, full, page)
    for line in [] if profile is None else profile_lines(profile):
        shared.errors().print(f"rpd: {line}", markup=False, soft_wrap=True)


def estimate_of(call: Call) -> tuple[dict[str, Any], Cost]:
    """Return the resolved configuration and what the run would cost."""
    from rpd_core.api import directory_for
    from rpd_core.cli.cost import estimate, work_left
    from rpd_core.pilot import known_rate

    setup = resolved(call)
    directory = directory_for(call, setup)
    setup = known_rate(setup, directory)
    directory.check(setup.config)
    surplus = directory.surplus(setup.config)
    if surplus:
        shared.show_note(surplus)
    with shared.watched("an estimate", getattr(call.executor, "stall_timeout", None)):
        work = work_left(setup.config.settings, directory)
        cost = estimate(setup, call.workers, work)
    config = {"suite": setup.config.suite_json(), "analysis": setup.config.analysis_json()}
    return {"config": config, "out": str(directory.path)}, cost


def show_estimate(plain: dict[str, Any], cost: Cost, as_json: bool) -> None:
    """Print a configuration and its cost."""
    from rpd_core.cli.text import print_estimate

    if as_json:
        shared.print_json({**plain, "estimate": dataclasses.asdict(cost)})
    else:
        print_estimate(shared.answers(), plain, cost)
