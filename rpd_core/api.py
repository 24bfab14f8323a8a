"""The public Python interface: `run()`, `open_run()` and what they return."""

from __future__ import annotations

import dataclasses
import inspect
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ParamSpec

import numpy as np

from rpd_core import pipeline
from rpd_core.analysis.holding import Lists
from rpd_core.analysis.pilot import find_rate, known_rate
from rpd_core.config.configuration import Configuration
from rpd_core.config.resolve import RESERVED, Setup, choose, resolve
from rpd_core.config.settings import Request, declared
from rpd_core.errors import ConfigError, RpdError, nearest
from rpd_core.execute.running import can_be_shipped
from rpd_core.play.recipe import recipe_of
from rpd_core.plugin.protocols import Executor, Measure
from rpd_core.plugin.registry import installed
from rpd_core.report.benching import (
    BENCHED,
    Bench,
    BenchQuestion,
    Criterion,
    SeedFigures,
    bench_of,
    choosing_seeds,
    looked_up,
    seed_figures,
)
from rpd_core.report.opened import Run
from rpd_core.report.sensitivity import Sensitivity, changes_of
from rpd_core.report.sensitivity import vary as vary_list
from rpd_core.report.stored import stored_request
from rpd_core.report.validation import Validation
from rpd_core.report.validation import validate as validate_list
from rpd_core.store.directory import RunDirectory
from rpd_core.store.files import file_stem
from rpd_core.store.session import Note, Progress, Session, writing

P = ParamSpec("P")


def _silent(stage: str, done: int, total: int) -> None:
    """Show no progress."""


def _logged(text: str) -> None:
    """Log what the user should know; Python shows it on standard error."""
    logging.getLogger("rpd").warning(text)


@dataclass(frozen=True)
class Call(Request):
    """A request with how it is carried out; the arguments of `run`."""

    out: str | os.PathLike[str] | None = field(default=None, kw_only=True)
    """The run directory; none: one in `runs/` with a readable name."""
    workers: int = field(default=1, kw_only=True)
    """Worker processes."""
    executor: str | Executor = field(default="local", kw_only=True)
    """Who does the work: a spec string or an executor."""
    trust_policy: bool = field(default=False, kw_only=True)
    """Let policy files run code of their authors'; never stored."""
    analysis: str | None = field(default=None, kw_only=True)
    """Name of the analysis; none: one that says what is asked."""
    progress: Progress = field(default=_silent, kw_only=True)
    """Told (stage, done, total) as work is finished."""
    note: Note = field(default=_logged, kw_only=True)
    """Told what the user should know, for example that an old id was renamed."""


def _with_signature(of: Callable[P, object]) -> Callable[[Callable[..., Run]], Callable[P, Run]]:
    """Decorate a function with the arguments of another, for type checkers and for `help`."""

    def decorate(function: Callable[..., Run]) -> Callable[P, Run]:
        parameters = inspect.signature(of).parameters.values()
        signature = inspect.Signature(list(parameters), return_annotation="Run")
        function.__signature__ = signature  # type: ignore[attr-defined]
        return function

    return decorate


@_with_signature(Call)
def run(*args: Any, **keywords: Any) -> Run:
    """Build a suite, rank the decisions, prune the policy; continue if `out` holds a part of it.

    `env`, `policy` and the other components are spec strings, recipes, or functions of your own:
    a factory of Gymnasium environments, a function from a batch of observations to a batch of
    actions, from observations to abstract states, from a `Moment` to actions, from `Evidence` to
    scores, from `Episodes` to weights.
    """
    return carry_out(Call(*args, **_tidy("run", keywords)))


def _tidy(function: str, keywords: dict[str, Any], *others: str) -> dict[str, Any]:
    """Return the keywords of a function in plain types; refuse any that a call does not have."""
    known = {*inspect.signature(Call).parameters} - {*others}
    for name in keywords:
        if name not in known:
            raise ConfigError(f"{function}() has no argument {name!r}.{nearest(name, known)}")
    return {name: _tidied(name, value) for name, value in keywords.items()}


def _tidied(name: str, value: Any) -> Any:
    """Return numbers of NumPy as Python's, and one choice of several as a tuple."""
    if isinstance(value, np.generic):
        return value.item()
    setting = declared().get(name)
    several = setting is not None and name in ("abstraction", "measures", "shares")
    if several and (isinstance(value, str) or not isinstance(value, list | tuple)):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


def carry_out(call: Call) -> Run:
    """Do a whole run."""
    with session_for(call) as session:
        summary = pipeline.run(session, call.analysis)
    return Run(session.directory.path, summary.analysis, session.setup)


@contextmanager
def session_for(call: Call, setup: Setup | None = None) -> Iterator[Session]:
    """Open the run that a call asks for, in its directory, with its workers."""
    setup = setup or resolve_call(call)
    registry = installed()
    executor = call.executor
    if isinstance(executor, str):
        executor = registry.make("executor", executor)
    workers = call.workers if can_be_shipped(recipe_of(setup)) else 1
    directory = directory_for(call, setup)
    heard = {"progress": call.progress, "note": call.note}
    setup = known_rate(setup, directory)
    with writing(setup, directory, registry, executor, workers, find_rate, **heard) as session:
        yield session


def resolve_call(call: Call) -> Setup:
    """Resolve what a call asks for, and pass on what its task wants known."""
    if isinstance(call.workers, bool) or not isinstance(call.workers, int) or call.workers < 1:
        raise ConfigError(f"workers must be a whole number of at least 1, got {call.workers!r}")
    registry = installed()
    if isinstance(call.executor, str):
        registry.find("executor", registry.name_in("executor", call.executor))
    if call.analysis is not None:
        check_name(call.analysis)
    setup = resolve(call, registry, call.trust_policy)
    for note in setup.task.notes:
        call.note(note)
    return setup


def stored_call(
    path: str | os.PathLike[str], analysis: str | None, trust: bool, **how: Any
) -> Call:
    """Return the call that goes on with a stored analysis; none named: the latest."""
    directory = RunDirectory(Path(path))
    directory.stored()  # raises where it is not a run
    name = directory.choose_analysis(analysis)
    stored = stored_request(directory, name, trust, {})
    return Call(**stored, **how, out=directory.path, analysis=name, trust_policy=trust)


@dataclass(frozen=True)
class Varied:
    """What of a suite is varied."""

    rates: bool = False
    """Half and double the mutation rate."""
    default_actions: tuple[str, ...] = ()
    """Other default actions."""


def vary(
    run: Run | str | os.PathLike[str],
    rates: bool = False,
    default_actions: Sequence[str] = (),
    trust_policy: bool = False,
    **how: Any,
) -> Sensitivity:
    """Compare a stored list with those of suites at other mutation rates and default actions.

    `rates` asks for half and double the rate. `workers`, `executor`, `progress` and `note` are as
    for `run`.
    """
    asked = Varied(rates, tuple(default_actions))
    with _continued(run, trust_policy, how) as (session, call):
        return vary_session(session, call, asked)


def vary_session(session: Session, call: Call, asked: Varied) -> Sensitivity:
    """Vary the suite of the analysis that a call goes on with."""
    if not asked.rates and not asked.default_actions:
        raise ConfigError("nothing is varied: ask for rates, default actions or both")
    pipeline.prepare_run(session)
    opened = Run(session.directory.path, call.analysis, session.setup)
    changes = changes_of(session, asked.rates, asked.default_actions, call.trust_policy)
    return vary_list(session, opened, changes)


@contextmanager
def _continued(
    run: Run | str | os.PathLike[str], trust: bool, how: dict[str, Any]
) -> Iterator[tuple[Session, Call]]:
    """Open a stored run for more playing, with the components of this process if it made them."""
    opened = run if isinstance(run, Run) else open_run(run)
    if opened.setup is not None:
        call = Call(opened.setup.config.env, out=opened.path, analysis=opened.name, **how)
    else:
        call = stored_call(opened.path, opened.name, trust, **how)
    with session_for(call, opened.setup) as session:
        yield session, call


def validate(
    run: Run | str | os.PathLike[str],
    states: int = 10,
    episodes: int = 400,
    reached: bool = False,
    trust_policy: bool = False,
    **how: Any,
) -> Validation:
    """Mutate single states of a stored list alone, and compare with what the suite says of them.

    `states` per group (top, middle, harmless, random), tried on `episodes` unmutated episodes;
    `reached` chooses only what these reach. `workers`, `executor`, `progress` and `note` are as
    for `run`.
    """
    with _continued(run, trust_policy, how) as (session, call):
        return validate_session(session, call, states, episodes, reached)


def validate_session(
    session: Session, call: Call, states: int, episodes: int, reached: bool
) -> Validation:
    """Validate the list of the analysis that a call goes on with."""
    opened = Run(session.directory.path, call.analysis, session.setup)
    pipeline.prepare_run(session)
    return validate_list(session, opened, states, episodes, reached)


def bench(
    env: Any,
    policy: Any = None,
    *,
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4),
    choose_on: tuple[int, ...] | None = None,
    base: str = "tarantula",
    criterion: Criterion = "both",
    all_measures: bool = False,
    **more: Any,
) -> Bench:
    """Compare measures on the same suites and test episodes, one suite per seed.

    The best by `criterion` is chosen on the seeds `choose_on`; figures and differences to `base`
    come from the others. `out` is the folder of the run directories; the rest is as for `run`.
    """
    judges = choosing_seeds(seeds) if choose_on is None else tuple(choose_on)
    asked = BenchQuestion(tuple(seeds), judges, base, criterion, all_measures)
    call = heard_once(Call(env, policy, **_tidy("bench", more, "seed", "analysis")))
    return compare_measures(call, asked, bench_folder(call, resolve_call(call)), resolve_call)


def compare_measures(
    call: Call, asked: BenchQuestion, folder: Path, resolving: Callable[[Call], Setup]
) -> Bench:
    """Sweep over every measure on every seed, each in a run directory of its own in a folder."""
    others, left_out = _further_measures(asked.all_measures)
    figures: dict[str, list[SeedFigures]] = {}
    lists: dict[int, Lists] = {}
    conditions = set()
    for seed in asked.seeds:
        one = _call_of_seed(call, seed, folder)
        setup = resolving(one)
        if asked.base not in {*setup.measures, *others}:
            raise ConfigError(f"the base {asked.base!r} is not compared: add it with --measure")
        with session_for(one, setup) as session:
            swept = pipeline.sweep_measures(session, others)
        left_out |= swept.left_out
        lists[seed] = swept.lists
        conditions.add(swept.analysis.condition_text)
        found = seed_figures(seed, swept.sweep, swept.references, swept.stability)
        for name, row in found.items():
            figures.setdefault(name, []).append(row)
    complete = {
        name: looked_up(name, rows, lists, asked)
        for name, rows in figures.items()
        if len(rows) == len(asked.seeds)
    }
    config = session.setup.config
    condition = conditions.pop() if len(conditions) == 1 else str(config.settings.condition)
    return bench_of(config, condition, asked, complete, left_out)


def _call_of_seed(call: Call, seed: int, folder: Path) -> Call:
    """Return the call that plays one seed, with progress that names it."""

    def progress(stage: str, done: int, total: int) -> None:
        call.progress(f"{stage} {seed}", done, total)

    return dataclasses.replace(call, seed=seed, out=folder / f"seed-{seed}", progress=progress)


def heard_once(call: Call) -> Call:
    """Return a call whose notes are passed on once, however many seeds they come from."""
    heard: set[str] = set()

    def note(text: str) -> None:
        if text not in heard:
            heard.add(text)
            call.note(text)

    return dataclasses.replace(call, note=note)


def _further_measures(everything: bool) -> tuple[dict[str, Measure], dict[str, str]]:
    """Return measures to try beside the standard ones, and why some cannot be made."""
    registry = installed()
    names = list(BENCHED)
    if everything:
        names += [one.component.name for one in registry.of_kind("measure")]
    found: dict[str, Measure] = {}
    left_out = {}
    for name in dict.fromkeys(names):
        if name in (*RESERVED, "python"):
            continue
        try:
            found[name] = choose(registry, "measure", name).recipe
        except RpdError as error:
            left_out[name] = str(error)
    return found, left_out


def bench_folder(call: Call, setup: Setup) -> Path:
    """Return the folder of the runs of a comparison: the one asked for, or a readable one."""
    if call.out is not None:
        return Path(call.out)
    settings = dataclasses.replace(setup.config.settings, seed=0)  # it stays when seeds are added
    name = default_directory(dataclasses.replace(setup.config, settings=settings)).name
    return Path("runs") / f"bench_{name.replace('_seed0_', '_')}"


def check_name(name: str) -> str:
    """Return the name of an analysis, or refuse one that is not a plain file name."""
    if not name or file_stem(name) != name:
        raise ConfigError(
            f"an analysis cannot be called {name!r}: use letters, digits, '-', '_' and '.'"
        )
    return name


def directory_for(call: Call, setup: Setup) -> RunDirectory:
    """Return the directory of a run: the one asked for, or one with a readable name."""
    path = Path(call.out) if call.out is not None else default_directory(setup.config)
    return RunDirectory(path)


def default_directory(config: Configuration) -> Path:
    """Return a directory named after environment, policy and seed, told apart by a digest."""

    def words(text: str) -> str:
        text = text.replace("\\", "/").rsplit("/", 1)[-1]
        return "".join(c if c.isalnum() or c in ".-" else "-" for c in text).strip("-.")[:60]

    name = f"{words(config.env)}_{words(config.policy)}_seed{config.settings.seed}"
    return Path("runs") / f"{name}_{config.digest()}"


def open_run(path: str | os.PathLike[str], analysis: str | None = None) -> Run:
    """Open a stored run for reading: nothing is played, locked or written.

    Neither the policy nor the environment need be there. `analysis` names one of those stored;
    none: the latest. A run without a finished analysis can be opened, too.
    """
    directory = RunDirectory(Path(path))
    directory.stored()  # raises where it is not a run
    return Run(directory.path, directory.choose_analysis(analysis))
