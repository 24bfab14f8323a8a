"""Recipes made in Python -> the spec strings that would have made them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rpd_core.plugin.specs import Field, Spec, nested_kind

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
