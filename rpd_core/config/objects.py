"""What people hold -> recipes: models and functions of Python, and files known by content."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from rpd_core.config.settings import Values
from rpd_core.errors import (
    ComponentError,
    ConfigError,
    RpdError,
    SpecError,
    brief,
    nearest,
    one_line,
)
from rpd_core.plugin.hookspecs import KINDS
from rpd_core.plugin.protocols import Contents
from rpd_core.plugin.registry import Registration, Registry, installed
from rpd_core.plugin.specs import convert, fields_of, is_on_hub, split_items, unquote
from rpd_core.untrusted.files import open_regular

_EXPECTED = {
    "environment": "a spec string, a gymnasium.Env, a function that makes one, or a recipe",
    "policy": "a spec string, a model of stable-baselines3, a torch module, a function from a "
    "batch of observations to a batch of actions, an object with predict, act or get_action for "
    "such a batch, or a recipe",
}
"""What can be handed over, by kind; of the others a spec string, a recipe or a function."""


def taken(registry: Registry, kind: str, thing: object) -> Any | None:
    """Return the recipe that a plugin makes of an object; None if none takes such objects."""
    offers = [one for one in registry.of_kind(kind) if one.ready and one.component.takes]
    above = [f"{one.__module__}.{one.__qualname__}" for one in type(thing).__mro__]
    takers = (one for name in above for one in offers if name in one.component.takes)
    registration = next(takers, None)  # of the object's own class, or of the nearest one above it
    if registration is None:
        return None
    target = registry.resolve(kind, registration.component.name)
    try:
        return target.from_object(thing, stage)
    except RpdError:
        raise
    except Exception as error:  # of a stranger's object, or of a stranger's plugin
        raise ComponentError(
            f"{kind} {registration.component.name!r} cannot take this "
            f"{type(thing).__name__}: {one_line(error)}"
        ) from error


_ASKED = ("predict", "act", "get_action", "forward")
"""Methods that take a batch of observations and return a batch of actions, the likeliest first."""


def as_function(kind: str, thing: Any) -> Callable[..., Any] | None:
    """Return the function that an object is, or the method by which a policy is asked."""
    if dataclasses.is_dataclass(thing) or (isinstance(thing, type) and kind == "policy"):
        return None
    methods = [getattr(thing, name, None) for name in _ASKED] if kind == "policy" else []
    functions: list[Any] = [one for one in (thing, *methods) if callable(one)]
    return functions[0] if functions else None


def stage(name: str, content: bytes) -> Path:
    """Keep what an object was saved as until its run has a directory; same content, same name."""
    stem, dot, suffix = name.partition(".")
    digest = hashlib.sha256(content).hexdigest()[:12]
    path = Path(_staging().name) / f"{stem}-{digest}{dot}{suffix}"
    if not path.is_file():
        path.write_bytes(content)
    return path


def is_staged(path: Path) -> bool:
    return path.parent == Path(_staging().name)


@lru_cache(maxsize=1)
def _staging() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="rpd-objects-")  # removed when the process ends


def with_parameters(registry: Registry, kind: str, recipe: Any, given: Values) -> Any:
    """Return a recipe with some of its parameters set; texts are read as in a spec string."""
    if not given:
        return recipe
    known = {field.name: field.annotation for field in fields_of(type(recipe))}
    values = {}
    for key, value in given.items():
        if key not in known:
            hint = nearest(key, known) or f" It takes {', '.join(known) or 'none'}."
            raise ConfigError(f"{key!r} is not a parameter of this {kind}.{hint}")
        try:
            text = isinstance(value, str)
            values[key] = convert(value, known[key], registry.make) if text else value
        except ValueError as error:
            raise ConfigError(f"{kind}: {key} {error}") from None
    return dataclasses.replace(recipe, **values)


def fits(kind: str, thing: object) -> bool:
    """Return whether an object can be a recipe; a path is none, although it can be opened, too."""
    return not isinstance(thing, type | os.PathLike) and isinstance(thing, KINDS[kind].protocol)


def cannot_take(kind: str, thing: object) -> ConfigError:
    expected = _EXPECTED.get(kind, "a spec string, a recipe or a function")
    hint = f"; a recipe has {KINDS[kind].method}"
    if isinstance(thing, type):
        hint = ", which is a class: make an object of it"
    elif isinstance(thing, dict):
        hint = ", which may be weights: hand over the module that they belong to"
    return ConfigError(f"{kind} must be {expected}, got {brief(thing, 80)}{hint}")


_START = 4096
_MEMBER = 2**24  # bytes of all members that may be looked into


def spelled_out(registry: Registry, kind: str, text: str) -> str:
    """Return a spec as it was typed, or, of a bare path, with the loader that its content tells."""
    name = text.partition(":")[0].strip()
    if kind != "policy" or any(one.component.name == name for one in registry.of_kind("policy")):
        return text
    path = _path_in(text)
    names = [one.component.name for one in takers(registry, path)] if path else []
    if path and len(names) > 1:
        specs = " or ".join(f"{name}:{path}" for name in names)
        raise SpecError(f"{path.name!r} is a file for several loaders: write {specs}")
    return f"{names[0]}:{text}" if names else text


def _path_in(text: str) -> Path | None:
    if is_on_hub(text):
        from rpd_core.plugin import hub  # few specs name a file of the hub

        return hub.local(split_items(text)[0])
    with suppress(OSError, ValueError, RuntimeError, SpecError):
        path = Path(unquote(split_items(text)[0])).expanduser()
        return path if path.is_file() else None
    return None


def takers(registry: Registry, path: Path) -> list[Registration]:
    """Return the loaders that a file's content is made for, also those that lack a package."""
    usable = [one for one in registry.of_kind("policy") if one.wanted]
    contents = look_into(path)
    found = []
    for one in usable:
        with suppress(Exception):  # a stranger's function may raise anything
            found += [one] if registry.recognises(one, contents) else []
    return found


def look_into(path: Path) -> Contents:
    """Return how a file begins and, if it is a zip, what it holds; little of it is read."""
    with open_regular(path, "name a file") as stream:
        start = stream.read(_START)
    if start[:2] != b"PK":
        return Contents(start)
    from rpd_core.untrusted.boundary import Budget
    from rpd_core.untrusted.zips import BoundedZip  # whoever only looks at a run needs no zipfile

    try:
        with open_regular(path, "name a file") as stream:
            members = tuple(BoundedZip(stream, Budget(0)).names)
    except Exception:  # a damaged zip makes zipfile raise anything; its loader says what is wrong
        return Contents(start)

    def read(name: str) -> bytes:
        with suppress(Exception), open_regular(path, "name a file") as stream:
            return BoundedZip(stream, Budget(_MEMBER)).read(name)
        return b""

    return Contents(start, members, read)


@contextmanager
def advised(loader: object) -> Iterator[None]:
    """Where a loader cannot use a file that is made for another one, name that one instead."""
    try:
        yield
    except RpdError as error:
        registry, path = installed(), getattr(loader, "path", None)
        own = registry.registration_of("policy", loader)
        others: list[Registration] = []
        if own is not None and own.component.recognises and isinstance(path, Path):
            with suppress(OSError):
                others = takers(registry, path) if path.is_file() else []  # a pipe never ends
        if own is None or not isinstance(path, Path) or not others or own in others:
            raise
        names = [one.component.name for one in others]
        raise type(error)(
            f"{path.name!r} is not a file for {own.component.name!r}: by its content it is for "
            f"{names[0]!r} ({others[0].component.summary}). Write "
            f"{' or '.join(f'{name}:{path}' for name in names)}"
        ) from error
