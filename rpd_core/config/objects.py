"""What people hold in Python -> recipes: models, modules and environments that are objects."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from rpd_core.config.settings import Values
from rpd_core.errors import ComponentError, ConfigError, RpdError, brief, nearest, one_line
from rpd_core.plugin.kinds import KINDS
from rpd_core.plugin.parameters import fields_of
from rpd_core.plugin.registry import Registration, Registry
from rpd_core.plugin.specs import convert

_EXPECTED = {
    "environment": "a spec string, a gymnasium.Env, a function that makes one, or a recipe",
    "policy": "a spec string, a model of stable-baselines3, a torch module, a function from a "
    "batch of observations to a batch of actions, an object with predict, act or get_action for "
    "such a batch, or a recipe",
}
"""What can be handed over, by kind; of the others a spec string, a recipe or a function."""


def taken(registry: Registry, kind: str, thing: object) -> Any | None:
    """Return the recipe that a plugin makes of an object; None if none takes such objects."""
    registration = _taker(registry, kind, thing)
    if registration is None:
        return None
    target = registry.resolve(kind, registration.component.name)
    try:
        recipe = target.from_object(thing, stage)
    except RpdError:
        raise
    except Exception as error:  # of a stranger's object, or of a stranger's plugin
        raise ComponentError(
            f"{kind} {registration.component.name!r} cannot take this "
            f"{type(thing).__name__}: {one_line(error)}"
        ) from error
    return recipe


def _taker(registry: Registry, kind: str, thing: object) -> Registration | None:
    """Find the component that takes objects of this class, or of the nearest one above it."""
    offers = [one for one in registry.of_kind(kind) if one.ready and one.component.takes]
    for above in type(thing).__mro__:
        name = f"{above.__module__}.{above.__qualname__}"
        for one in offers:
            if name in one.component.takes:
                return one
    return None


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
    """Return whether a file is there only until its run has a directory."""
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
    """Return the error for something that is not a component and cannot be made one."""
    expected = _EXPECTED.get(kind, "a spec string, a recipe or a function")
    hint = _hint(kind, thing) or f"; a recipe has {KINDS[kind].method}"
    return ConfigError(f"{kind} must be {expected}, got {brief(thing, 80)}{hint}")


def _hint(kind: str, thing: object) -> str:
    if isinstance(thing, type):
        return ", which is a class: make an object of it"
    if isinstance(thing, dict):
        return ", which may be weights: hand over the module that they belong to"
    return ""
