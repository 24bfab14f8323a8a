"""The record by which a plugin offers a component, fields with a meaning, and commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, runtime_checkable

T = TypeVar("T")


@dataclass(frozen=True)
class Component:
    """One thing a plugin offers: what it is called, where it lives, what it needs."""

    name: str
    """The word users type, for example `tarantula`: letters, digits, `-`, `_` and `.`, a letter
    first."""
    target: str
    """`module:attribute` of the recipe, imported only on use."""
    summary: str
    """One line for `rpd list-plugins`."""
    requires: tuple[str, ...] = ()
    """Import names that must be installed for it to work."""
    install: str = ""
    """What to `pip install` if one of them is missing."""
    runs_code: bool = True
    """Whether its input can make it run code that its user did not install.

    Input means parameters, files that they name, and data it is given. Only a component that
    states False is used on behalf of a file or a run directory without `--trust-policy`. One that
    runs none by default, but does with some parameters, states False here and has an attribute or
    property `runs_code` on its recipe that is true for those parameters.
    """
    looks_like: str = ""
    """A regular expression of values that people type without the name before them.

    What is no spec but matches it is refused with this component as a suggestion: `dqn.zip` with
    `sb3:dqn.zip`.
    """
    recognises: str = ""
    """Of a policy loader: `module:attribute` of a function that knows its files by their content.

    It is given `Contents` and returns whether the loader is made for such a file; its module
    imports nothing heavy. A bare path, `--policy model.onnx`, then finds the loader, and another
    loader that cannot use the file names this one.
    """
    takes: tuple[str, ...] = ()
    """Classes, as `module.Class`, whose objects its target's `from_object` makes recipes of.

    Of several, the one nearest to the object's own class counts.
    """
    group: str = ""
    """Of a command: the heading that `rpd --help` lists it under; none: Other."""
    after_run: str = ""
    """Of a command: `module:attribute` of a function called when a run has its answer.

    It is given the `Session` of the run, still open, and the `Run`, and returns a file to look at
    or None. `rpd run` gets an option to do without it, named after the command; where it fails, a
    note is shown and the answer stands.
    """


@dataclass(frozen=True)
class Contents:
    """What tells a file's format: how it begins, and what is in it if it is a zip."""

    start: bytes
    """The first 4096 bytes; fewer where the file is shorter."""
    members: tuple[str, ...] = ()
    """Names of the members of a zip file."""
    read: Callable[[str], bytes] = field(default=lambda name: b"", repr=False, compare=False)
    """Returns the content of a member; empty where it is missing, damaged or beyond 16 MB."""


def learned(default: T) -> T:
    """Return a dataclass field that only `fit` sets: not a parameter, and refused in specs."""
    return field(default=default, metadata={"learned": True})


def further() -> tuple[str, ...]:
    """Return a field that takes, as `key=value`, every item of a spec whose key is no field."""
    return field(default=(), metadata={"further": True})


def permission() -> bool:
    """Return a field for what the user permits each time anew: never stored, not identity."""
    return field(default=False, metadata={"not_identity": True})


@runtime_checkable
class Command(Protocol):
    """A function whose keywords are typed for Typer; its docstring is the help.

    Its module imports nothing heavy: completion and `--help` import it. An `RpdError` that it
    raises is shown as one line, with exit code 2. `rpd_core.cli` offers what commands share: where
    answers and notes go, progress, stored runs, and the `options` of other commands.
    """

    def __call__(self, *args: Any, **options: Any) -> None:
        """Do what was typed."""
        ...
