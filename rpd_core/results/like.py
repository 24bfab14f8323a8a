"""A run like another: its task, states, default action, rate and condition, as they were resolved.

Two runs can be compared only over the same states, so what the other run's abstraction and
condition have learned is taken over as it is stored, and nothing is learned anew.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rpd_core.analysis.analysis import CONDITIONS
from rpd_core.config.configuration import Json, short_digest
from rpd_core.config.resolve import Selection, Setup, choose
from rpd_core.config.settings import BEST, Request, Values, as_tuple, declared
from rpd_core.errors import ConfigError, StoreError
from rpd_core.play import prepare
from rpd_core.plugin.protocols.optional import LearnsFromEpisodes
from rpd_core.plugin.registry import installed
from rpd_core.results.requests import stored_request
from rpd_core.results.run import Run, as_run
from rpd_core.store.directory import RunDirectory
from rpd_core.store.prepared import PREPARED

if TYPE_CHECKING:
    from rpd_core.store.session import Session

_FIXED = {
    "env": ("environment", "--env"),
    "abstraction": ("abstraction", "--abstraction"),
    "default_action": ("default-action", "--default-action"),
    "mutation_rate": ("", "--mutation-rate"),
    "condition": ("condition", "--condition"),
}
"""What both runs must have in common: kind of component, and the option that would change it."""


Like = Run | str | os.PathLike[str]
"""A run that another one is to be like."""


def request_like(other: Like, asked: Request, trust: bool) -> Request:
    """Return the request for a run like another; what is asked for comes first.

    What would keep the two from being compared is refused, and so is asking for the same run.
    """
    like = as_run(other)
    typed = {"env": asked.env, "policy": asked.policy}
    typed = {name: value for name, value in typed.items() if value is not None} | asked.given()
    values = _values(like, typed, trust)
    grown = {name for name, one in declared().items() if one.scope == "growth"}
    return Request(
        **{name: one for name, one in values.items() if name in typed or name not in grown}
    )


def _values(like: Run, typed: Mapping[str, object], trust: bool) -> Values:
    """Return the arguments of a call for a run like another."""
    directory = like.directory
    stored, latest = directory.stored(), directory.latest()
    if not {"policy", "seed"} & {*typed}:
        raise ConfigError(
            f"this would be {str(like.path)!r} once more: name another policy or seed beside --like"
        )
    if like.setup is not None:
        values = {**_live_request(like.setup), **typed}
    else:
        values = stored_request(directory, latest, trust, dict(typed))
    known = {"env": stored.env, **stored.settings.given()}
    asked = directory.analysis(latest).settings if latest else directory.question()
    known |= asked.given() if asked is not None else {}
    for name, (kind, option) in _FIXED.items():
        if name not in typed or name not in known:
            continue
        texts = typed[name]
        if kind:  # it may only be written otherwise
            registry = installed()
            texts = tuple(choose(registry, kind, one).text for one in as_tuple(texts))
        if as_tuple(texts) != as_tuple(known[name]):
            shown = " ".join(map(str, as_tuple(known[name])))
            raise ConfigError(
                f"{str(like.path)!r} has {option} {shown}, and runs that differ in it cannot be "
                f"compared: leave {option} out, or leave --like out"
            )
    return values


def _live_request(setup: Setup) -> Values:
    """Return what a run of this process was asked for, with its own functions."""
    settings, chain = setup.config.settings, setup.abstraction
    named = {name: Selection(one, name) for name, one in setup.measures.items()}
    pairs = zip(chain.links, settings.abstraction, strict=True)
    headline = settings.headline
    return {
        **settings.given(),
        "env": Selection(setup.environment, setup.config.env),
        "policy": Selection(setup.policy, setup.config.policy),
        "abstraction": tuple(Selection(link, text) for link, text in pairs),
        "default_action": Selection(setup.default_action, settings.default_action),
        "condition": Selection(setup.condition, settings.condition),
        "measures": tuple(named.values()),
        "list_by": named[settings.list_by],
        "headline": BEST if headline == BEST else named[headline],
    }


def learned_suffix(like: Like | None) -> str:
    """Return what tells apart the names of runs that took over different things; '' for nothing."""
    if like is None:
        return ""
    directory = as_run(like).directory
    learned = [directory.read_json(name) for name in (PREPARED, CONDITIONS)]
    return f"_like-{short_digest(learned)}" if any(learned) else ""


@contextmanager
def with_what_was_learned(session: Session, like: Like | None) -> Iterator[None]:
    """Take over what another run has learned; a first try that fails leaves nothing of it."""
    written = [] if like is None else _take_over(session, as_run(like).directory)
    try:
        yield
    except BaseException:
        played = ("suite", "unmutated", "pruning")
        if not any((session.directory.path / name).exists() for name in played):
            for name in written:
                (session.directory.path / name).unlink(missing_ok=True)
        raise


def _take_over(session: Session, like: RunDirectory) -> list[str]:
    """Copy fitted abstractions and the condition; return the files that were not there before."""
    wanted: dict[str, Json] = {}
    fitted = like.read_json(PREPARED)
    if fitted is not None:
        wanted[PREPARED] = fitted
    elif prepare.needs_fit(session.recipe):
        raise StoreError(
            f"{str(like.path)!r} has not fitted its abstraction yet: let it finish first"
        )
    if isinstance(session.setup.condition, LearnsFromEpisodes):
        text = session.setup.config.settings.condition
        learned = (like.read_json(CONDITIONS) or {}).get(text)
        if learned is None:
            raise StoreError(
                f"{str(like.path)!r} has not learned its condition {text!r} yet: let it finish "
                "first"
            )
        wanted[CONDITIONS] = {**(session.directory.read_json(CONDITIONS) or {}), text: learned}
    fresh, directory = [], session.directory
    for name, value in wanted.items():
        held = directory.read_json(name)
        if held is not None and any(held[key] != value.get(key) for key in held):
            raise StoreError(
                f"{str(directory.path)!r} has learned otherwise than {str(like.path)!r}: choose "
                "another --out"
            )
        if held != value:
            directory.write_json(name, value)
        fresh += [name] if held is None else []
    return fresh
