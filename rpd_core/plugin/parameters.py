"""The parameters of a component: read off its class, written as a spec, components among them."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rpd_core.plugin.specs import Field, Spec, nested_kind


def fields_of(target: Callable[..., object]) -> tuple[Field, ...]:
    """Return the parameters of a recipe's class, or of a function that builds one."""
    if not dataclasses.is_dataclass(target):
        return _arguments_of(target)
    hints = typing.get_type_hints(target)
    return tuple(
        Field(
            item.name,
            hints[item.name],
            item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING,
            bool(item.metadata.get("not_identity")) and hints[item.name] is bool,
            bool(item.metadata.get("further")),
        )
        for item in dataclasses.fields(target)
        if item.init and not item.metadata.get("learned")
    )


def learned_names(target: object) -> set[str]:
    """Return the names of the fields that only `fit` sets."""
    if not dataclasses.is_dataclass(target):
        return set()
    return {item.name for item in dataclasses.fields(target) if item.metadata.get("learned")}


def _arguments_of(function: Callable[..., object]) -> tuple[Field, ...]:
    hints = typing.get_type_hints(function)
    return tuple(
        Field(name, hints.get(name, str), one.default is inspect.Parameter.empty)
        for name, one in inspect.signature(function).parameters.items()
        if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
    )


Nested = Callable[[str, Any], str]
"""Writes the component of a nested field: (kind, recipe) -> text."""


def spec_of(name: str, recipe: Any, fields: Sequence[Field], nested: Nested) -> Spec | None:
    """Return the spec of a recipe, without what is left at its default; None: it has no text."""
    defaults = {item.name: item.default for item in dataclasses.fields(recipe)}
    values = {}
    for field in fields:
        value = getattr(recipe, field.name)
        if field.permission or value == defaults[field.name]:
            continue
        kind = nested_kind(field.annotation)
        text = nested(kind, value) if kind and not isinstance(value, str) else _written(value)
        if text is None:
            return None
        values[field.name] = text
    first = fields[0] if fields else None
    within = first is not None and bool(nested_kind(first.annotation))
    return Spec(name, values, first.name if first else "", within)


def _written(value: object) -> str | None:
    """Return a parameter as a spec string has it; None where it has no text."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float | Path):
        return str(value)
    if isinstance(value, tuple | list):
        parts = [_written(one) for one in value]
        return None if None in parts else "+".join(str(part) for part in parts)
    if callable(value):
        named = value if hasattr(value, "__qualname__") else type(value)
        return f"{named.__module__}:{named.__qualname__}"
    return None


def nested_components(recipe: object) -> Iterator[tuple[str, object]]:
    """Yield (kind, recipe) of the components among a recipe's fields, at any depth."""
    if not dataclasses.is_dataclass(recipe):
        return
    hints = type_hints(recipe.__class__)
    for item in dataclasses.fields(recipe):
        value = getattr(recipe, item.name)
        kind = nested_kind(hints.get(item.name))
        if kind and value is not None and not isinstance(value, str):
            yield kind, value
            yield from nested_components(value)


@functools.lru_cache(maxsize=256)
def type_hints(target: Hashable) -> dict[str, object]:
    """Return the annotations of a class, resolved; none where they cannot be."""
    try:
        return typing.get_type_hints(target)
    except Exception:  # annotations of a stranger's class; then nothing in it is nested
        return {}
