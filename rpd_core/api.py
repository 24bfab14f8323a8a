"""The public Python interface: `run()`, `open_run()` and what they return."""

from __future__ import annotations

import inspect
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ParamSpec, TypedDict, TypeVar, Unpack

import numpy as np

from rpd_core import pipeline
from rpd_core.config.objects import cannot_take, taken
from rpd_core.config.resolve import Setup, resolve
from rpd_core.config.settings import Request, Values, declared
from rpd_core.config.trust import check_trust
from rpd_core.config.typed import PartRange, parse_parts
from rpd_core.errors import ConfigError, RpdError, brief, nearest, one_line
from rpd_core.execute.items import can_be_shipped
from rpd_core.execute.progress import Note, Progress, check_told, shown
from rpd_core.pilot import find_rate, known_rate
from rpd_core.play.profile import Profiler
from rpd_core.play.recipe import recipe_of
from rpd_core.plugin.blame import unmet
from rpd_core.plugin.discovery import BUNDLED
from rpd_core.plugin.registry import finishing, installed
from rpd_core.results.like import Like, learned_suffix, request_like, with_what_was_learned
from rpd_core.results.requests import stored_request
from rpd_core.results.run import Run, as_run
from rpd_core.results.run import open_run as open_run
from rpd_core.run_names import default_directory
from rpd_core.store import merge
from rpd_core.store.directory import PROCESS, RunDirectory
from rpd_core.store.files import path_of
from rpd_core.store.session import Session, writing

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound="Call")
Guard = Callable[[str], AbstractContextManager[object]]
LONGEST_NAME = 150
"""Characters of an analysis's name; those that rpd makes by itself are shorter."""
_FINISH = ("draw",)
"""What is done at the end of a run in Python, unless something else is asked for."""


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
    executor: Any = field(default="local", kw_only=True)
    """Who does the work: a spec string, an executor, or what a plugin takes: a client of Dask."""
    trust_policy: bool = field(default=False, kw_only=True)
    """Let policy files run code of their authors'; never stored."""
    analysis: str | None = field(default=None, kw_only=True)
    """Name of the analysis; none: one that says what is asked."""
    like: Like | None = field(default=None, kw_only=True)
    """A run to be compared with: its task, states, default action, rate and condition are used."""
    finish: tuple[str, ...] = field(default=_FINISH, kw_only=True)
    """Commands whose own work at the end of a run is done, where they are installed."""
    progress: Progress | bool = field(default=True, kw_only=True)
    """Bars in notebooks and terminals, or not; or a function told (stage, done, total)."""
    note: Note = field(default=_logged, kw_only=True)
    """Told what the user should know, for example that an old id was renamed."""
    guard: Guard = field(default=nullcontext, kw_only=True)
    """Entered, with a label, around what is done in this process and may hang."""

    def __post_init__(self) -> None:
        check_trust(self.trust_policy)
        check_told("note", self.note, "a text")
        check_told("guard", self.guard, "a label")
        if self.out is not None:
            path_of(self.out, "out", "the path of a folder")


@dataclass(frozen=True)
class SuiteCall(Call):
    """The arguments of `build_suite`."""

    parts: str | tuple[int, int] | None = field(default=None, kw_only=True)
    """A range of parts to build, `"0:5"` or `(0, 5)`; none: all."""


class Playing(TypedDict, total=False):
    """The keywords of functions that play more of a stored run, as for `run`."""

    workers: int
    executor: object
    trust_policy: bool
    progress: Progress | bool
    note: Note


def with_signature(
    of: Callable[P, object], *but: str
) -> Callable[[Callable[..., R]], Callable[P, R]]:
    """Decorate a function with the arguments of a call, for type checkers and for `help`.

    `help` leaves out those named in `but`, which the function refuses.
    """

    def decorate(function: Callable[..., R]) -> Callable[P, R]:
        known = inspect.signature(of).parameters
        parameters = [one for name, one in known.items() if name not in but]
        returned = function.__annotations__["return"]
        signature = inspect.Signature(parameters, return_annotation=returned)
        function.__signature__ = signature  # type: ignore[attr-defined]
        return function

    return decorate


@with_signature(Call)
def run(*args: Any, **keywords: Any) -> Run:
    """Build a suite, rank the decisions, prune the policy; continue if `out` holds a part of it.

    `env` is a spec string, a Gymnasium environment or a function that makes one; `policy` a spec
    string, a model of stable-baselines3, a torch module, or a function from a batch of observations
    to a batch of actions. The other components are spec strings or functions: from observations to
    abstract states, from a `Moment` to actions, from `Evidence` to scores, from `Episodes` to
    weights. Recipes do everywhere.
    """
    return carry_out(call_of("run", Call, args, keywords))[0]


def call_of(function: str, kind: type[C], args: Sequence[object], keywords: Values, *but: str) -> C:
    """Return the call with these arguments, in plain types; refuse any that the function lacks."""
    known = {*inspect.signature(kind).parameters} - {*but}
    for name in keywords:
        if name not in known:
            raise ConfigError(f"{function}() has no argument {name!r}.{nearest(name, known)}")
    return kind(*args, **{name: _tidied(name, value) for name, value in keywords.items()})


def _tidied(name: str, value: object) -> Any:
    """Return numbers of NumPy as Python's, and one choice of several as a tuple."""
    if isinstance(value, np.generic | np.ndarray) and name != "trust_policy":
        value = value.tolist()
    setting = declared().get(name)
    several = setting is not None and name in ("abstraction", "measures", "shares")
    if several and (isinstance(value, str) or not isinstance(value, list | tuple)):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


def carry_out(
    call: Call,
    setup: Setup | None = None,
    before: Callable[[Session], None] | None = None,
    profiler: Profiler | None = None,
) -> tuple[Run, dict[str, Path]]:
    """Do a whole run; return it, and the files to look at by the command that made them."""
    with session_for(call, setup, profiler) as session:
        if before is not None:
            before(session)
        answer = pipeline.run(session, call.analysis)
        finished = Run(session.directory.path, answer.analysis, session.setup)
        return finished, _finish_run(session, finished, call.finish)


def _finish_run(session: Session, run: Run, names: Sequence[str]) -> dict[str, Path]:
    """Do what commands add to a finished run, which has its answer whatever becomes of it."""
    made: dict[str, Path] = {}
    for one in session.registry.of_kind("command"):
        name = one.component.name
        if not (one.wanted and one.component.after_run and name in names):
            continue
        with session.stage(name):
            try:
                file = session.registry.after_run(name)(session, run)
            except (Exception, SystemExit) as error:  # a stranger's command may raise anything
                needs = unmet(error)
                outside = needs or isinstance(error, RpdError | OSError)
                if one.distribution == BUNDLED and not outside:
                    raise  # a defect of ours keeps its traceback
                told = f"it {needs}" if needs else one_line(error)
                session.note(f"the run has its answer, but rpd {name} failed: {told}")
            else:
                made |= {} if file is None else {name: file}
    return made


_NO_SUITE = ("analysis", "finish")
"""Arguments of `run` that say nothing about a suite."""


@with_signature(SuiteCall, *_NO_SUITE)
def build_suite(*args: Any, **keywords: Any) -> Run:
    """Play the mutant episodes of a run, and those of the policy as it is, and nothing else.

    `parts` is a range of parts to build, `"0:5"` or `(0, 5)`; `merge_runs` joins what was built
    elsewhere. The rest is as for `run`.
    """
    call = call_of("build_suite", SuiteCall, args, keywords, *_NO_SUITE)
    return play_suite_of(call, None, None if call.parts is None else parse_parts(call.parts))


def play_suite_of(
    call: Call,
    setup: Setup | None,
    parts: PartRange | None,
    before: Callable[[Session], None] | None = None,
) -> Run:
    """Play the suite that a call asks for; `before` is called when all is ready for that."""
    with session_for(call, setup) as session:
        pipeline.prepare_run(session)
        if before is not None:
            before(session)
        pipeline.build_parts(session, parts)
        return Run(session.directory.path, session.directory.latest(), session.setup)


def merge_runs(
    out: str | os.PathLike[str],
    *runs: Run | str | os.PathLike[str],
    progress: Progress | bool = True,
    note: Note = _logged,
) -> Run:
    """Join the episodes of runs of the same configuration into `out`; they are only read.

    `out` may be new, or hold a run of that configuration. Parts that two runs hold with different
    content are refused.
    """
    check_told("note", note, "a text")
    target = RunDirectory(path_of(out, "out", "the path of a folder"))
    given = [
        RunDirectory(run.path if isinstance(run, Run) else path_of(run, "run", "the folder of one"))
        for run in runs
    ]
    with shown(progress) as telling:
        merge.merge_directories(target, given, telling, note)
    return open_run(out)


@contextmanager
def session_for(
    call: Call, setup: Setup | None = None, profiler: Profiler | None = None
) -> Iterator[Session]:
    """Open the run that a call asks for, in its directory, with its workers."""
    setup = setup or resolve_call(call)
    registry = installed()
    executor: Any = call.executor
    if isinstance(executor, str):
        executor = registry.make("executor", executor)
    else:
        recipe = taken(registry, "executor", executor)
        if isinstance(executor, os.PathLike):  # which can be opened, too
            raise cannot_take("executor", executor)
        executor = executor if recipe is None else recipe
    workers = call.workers if can_be_shipped(recipe_of(setup)) else 1
    directory = directory_for(call, setup)
    setup = known_rate(setup, directory)
    with shown(call.progress) as progress:
        heard = {"progress": progress, "note": call.note, "profiler": profiler}
        with (
            writing(setup, directory, registry, executor, workers, find_rate, **heard) as session,
            with_what_was_learned(session, call.like),
        ):
            yield session


def resolve_call(call: Call) -> Setup:
    """Resolve what a call asks for, and pass on what its task wants known."""
    if isinstance(call.workers, bool) or not isinstance(call.workers, int) or call.workers < 1:
        raise ConfigError(f"workers must be a whole number of at least 1, got {call.workers!r}")
    registry = installed()
    if isinstance(call.executor, str):
        registry.find("executor", registry.name_in("executor", call.executor))
    if not isinstance(call.finish, tuple) or not all(isinstance(one, str) for one in call.finish):
        raise ConfigError(f"finish must be names of commands, got {call.finish!r}")
    for name in call.finish if call.finish != _FINISH else ():
        if name not in (known := finishing(registry)):
            raise ConfigError(f"nothing called {name!r} is done after a run.{nearest(name, known)}")
    if call.analysis is not None:
        check_name(call.analysis)
    asked = call if call.like is None else request_like(call.like, call, call.trust_policy)
    with call.guard("the environment, which is made and closed to look at it"):
        setup = resolve(asked, registry, call.trust_policy)
    for note in setup.task.notes:
        call.note(note)
    return setup


@contextmanager
def continued(
    run: Run | str | os.PathLike[str], **how: Unpack[Playing]
) -> Iterator[tuple[Session, Run]]:
    """Open a stored run for more playing, with the components of this process if it made them."""
    opened = as_run(run)
    if opened.setup is not None:
        call = Call(opened.setup.config.env, out=opened.path, analysis=opened.name, **how)
    else:
        opened.directory.stored()  # raises where it is not a run
        name = opened.directory.choose_analysis(opened.name)
        trust = how.get("trust_policy", False)
        stored = stored_request(opened.directory, name, trust, {})
        call = Call(**stored, **how, out=opened.path, analysis=name)
    with session_for(call, opened.setup) as session:
        pipeline.prepare_run(session)
        yield session, Run(session.directory.path, call.analysis, session.setup)


def check_name(name: object) -> str:
    """Return the name of an analysis, or refuse one that is not a plain file name."""
    text = name if isinstance(name, str) and len(name) <= LONGEST_NAME else ""
    plain = text.isascii() and all(c.isalnum() or c in "-._" for c in text)
    if not plain or not text.strip("-.") == text != "":
        raise ConfigError(
            f"an analysis cannot be called {brief(name, 200)}: use letters, digits, '-', '_' "
            "and '.'"
        )
    return text


def directory_for(call: Call, setup: Setup) -> RunDirectory:
    """Return the directory of a run: the one asked for, or one with a readable name."""
    if call.out is not None:
        return RunDirectory(Path(call.out))
    path = default_directory(setup)
    path = path.with_name(path.name + learned_suffix(call.like))
    if setup.config.live:  # no other process may go on with it: a notebook begins anew
        path = path.with_name(f"{path.name}_{PROCESS[:8]}")
    return RunDirectory(path)
