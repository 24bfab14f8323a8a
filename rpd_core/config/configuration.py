"""A resolved configuration, and the identity of its components: what is stored and compared."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rpd_core.config.settings import ASKED, AUTO, Settings
from rpd_core.errors import SpecError, nearest_file
from rpd_core.plugin.protocols.optional import HasSources, ReadsFiles
from rpd_core.plugin.registry import Registry
from rpd_core.plugin.specs import nested_components, nested_kind, type_hints
from rpd_core.untrusted.files import open_regular

Json = dict[str, Any]  # what a JSON file holds: plain values by their names
_CONTENTS = {"inputs": "the content of its file", "sources": "the text of its module"}
"""What identities hold as digests, which mean nothing to a reader."""
_TOLD = 5  # differences that a message names


def component_identity(kind: str, recipe: object, registry: Registry) -> Json:
    """Return kind, name and every parameter of a recipe; a file counts by its content."""
    # The name is the one it is registered under, so that moving a class to another module changes
    # nothing. A recipe that is not registered is known by its class.
    registration = registry.registration_of(kind, recipe)
    name = registration.component.name if registration else _qualified_name(type(recipe))
    identity: Json = {"kind": kind, "name": name}
    if dataclasses.is_dataclass(recipe):
        hints = type_hints(recipe.__class__)
        values: Json = {}
        for item in dataclasses.fields(recipe):
            if item.metadata.get("not_identity"):
                continue
            value, inner = getattr(recipe, item.name), nested_kind(hints.get(item.name))
            if inner and value is not None:
                values[item.name] = component_identity(inner, value, registry)
            else:
                values[item.name] = _plain(value)
        identity |= {"parameters": values} if values else {}
    if isinstance(recipe, ReadsFiles):
        identity["inputs"] = [file_digest(path) for path in recipe.inputs()]
    if isinstance(recipe, HasSources):
        identity["sources"] = [file_digest(path) for path in recipe.sources()]
    return identity


def _plain(value: object) -> object:
    if isinstance(value, Path):
        return file_digest(value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in sorted(value.items())}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if callable(value):
        return _qualified_name(value)
    return str(value)


def _qualified_name(value: object) -> str:
    """Return module and name of a function or class; of another object those of its class."""
    if isinstance(value, functools.partial):
        return _qualified_name(value.func)
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"


def holds_functions(recipe: object) -> bool:
    """Return whether a recipe holds a live function, which only this Python process knows."""
    if not dataclasses.is_dataclass(recipe):
        return True
    values = [getattr(recipe, item.name) for item in dataclasses.fields(recipe)]
    inner = [value for _, value in nested_components(recipe)]
    live = [v for v in values if callable(v) and not dataclasses.is_dataclass(v)]
    return bool(live) or any(holds_functions(value) for value in inner)


def input_paths(recipe: object, place: str) -> dict[str, Path]:
    """Return the files that a recipe reads, by the place of the field that names each."""
    extra = recipe.inputs() if isinstance(recipe, ReadsFiles) else ()
    paths = {f"{place}.inputs.{i}": Path(path).absolute() for i, path in enumerate(extra)}
    if dataclasses.is_dataclass(recipe):
        for item in dataclasses.fields(recipe):
            value = getattr(recipe, item.name)
            if isinstance(value, Path):
                paths[f"{place}.{item.name}"] = value.absolute()
            elif dataclasses.is_dataclass(value) and not isinstance(value, type):
                paths |= input_paths(value, f"{place}.{item.name}")
    return paths


def file_digest(path: Path) -> str:
    """Return the digest of an input file's content, or raise where there is none."""
    try:
        stat = os.stat(path)
    except OSError as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else error.strerror
        hint = nearest_file(path)
        raise SpecError(f"{str(path)!r} {reason}: check the path{hint and f'.{hint}'}") from None
    if not path.is_file():
        what = "is a directory, not a file" if path.is_dir() else "is not an ordinary file"
        raise SpecError(f"{str(path)!r} {what}: check the path")
    if stat.st_size == 0:
        raise SpecError(f"{str(path)!r} is empty: save the file again")
    return _digest_of(str(path), stat.st_mtime_ns, stat.st_size, stat.st_ino)


@functools.lru_cache(maxsize=64)
def _digest_of(path: str, changed: int, size: int, inode: int) -> str:
    """Hash a file once for as long as it stays as it is."""
    try:
        with open_regular(Path(path), "check the path") as stream:
            return "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise SpecError(f"cannot read {path!r}: {error.strerror}") from error


def short_digest(value: object) -> str:
    """Return eight hexadecimal digits that stand for a JSON value."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def differences(stored: object, asked: object, at: str = "") -> list[str]:
    """List where two JSON values differ, as `name: stored X, asked Y`."""
    if isinstance(stored, Mapping) and isinstance(asked, Mapping):
        found = []
        for key in sorted({*stored, *asked}):
            inner = f"{at}.{key}" if at else str(key)
            found += differences(stored.get(key), asked.get(key), inner)
        return found
    if stored == asked:
        return []
    owner, _, name = at.rpartition(".")
    if name in _CONTENTS and stored and asked:
        return [f"{owner}: {_CONTENTS[name]} has changed"]
    return [f"{at}: stored {stored!r}, asked {asked!r}"]


def in_short(found: list[str]) -> str:
    """Return the first differences as a message names them, and how many more there are."""
    more = [f"and {len(found) - _TOLD} more"] if len(found) > _TOLD else []
    return "; ".join(found[:_TOLD] + more)


def stored_fields(link: Any) -> Json:
    """Return the fields of a fitted abstraction that are stored.

    All but the files it reads and the components it names, which its spec tells.
    """
    fields = {item.name: getattr(link, item.name) for item in dataclasses.fields(link)}
    inner = {id(component) for _, component in nested_components(link)}
    return {
        name: value
        for name, value in fields.items()
        if not isinstance(value, Path) and id(value) not in inner
    }


def learned_as_tuples(fields: Mapping[str, object]) -> Json:
    """Return stored fields as a component has them: tuples where JSON has lists."""
    return {name: _tuples(value) for name, value in fields.items()}


def _tuples(value: object) -> object:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


@dataclass(frozen=True)
class Configuration:
    """A whole run, with every setting resolved and every component as text."""

    env: str
    policy: str
    max_steps: int
    settings: Settings
    components: Mapping[str, Any] = field(default_factory=dict)
    """Identity of the environment, policy, abstractions and default action."""
    live: bool = False
    """Whether a component is a function that only the Python process that made it knows."""

    open_rate: bool = False
    """Whether a pilot is still to find the mutation rate; the one in the settings stands in."""

    def digest(self) -> str:
        """Return a short name for what fixes every episode."""
        return short_digest(self.identity())

    def identity(self) -> Json:
        """Return what must be equal for two suites to hold the same episodes."""
        exact = {key: getattr(self.settings, key) for key in ("mutation_rate", "lanes", "seed")}
        if self.open_rate:
            exact["mutation_rate"] = AUTO
        if self.settings.names:  # they stand in the words of every state
            exact["names"] = self.settings.names
        return plain({**exact, "max_steps": self.max_steps, **self.components})

    def suite_json(self) -> Json:
        """Return what `run.json` holds."""
        return plain(
            {
                "env": self.env,
                "policy": self.policy,
                "max_steps": self.max_steps,
                "settings": self.settings.of_scope("suite", "size"),
                "components": self.components,
                "live": self.live,
            }
        )

    def analysis_json(self) -> Json:
        """Return what `analysis.json` holds: what is asked of the suite."""
        return plain(self.settings.of_scope(*ASKED))


def plain(value: Mapping[str, object]) -> Json:
    """Return a table as JSON has it: lists for tuples, text for keys."""
    as_json: Json = json.loads(json.dumps(value))
    return as_json
