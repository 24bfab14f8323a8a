"""Components inside components: a default action that is a policy, a policy inside another."""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Iterator
from typing import Any

from rpd_core.plugin.specs import nested_kind


def nested_components(recipe: Any) -> Iterator[tuple[str, Any]]:
    """Yield (kind, recipe) of the components among a recipe's fields, at any depth."""
    if not dataclasses.is_dataclass(recipe):
        return
    kind_of: Any = type(recipe)
    hints = type_hints(kind_of)
    for item in dataclasses.fields(recipe):
        value = getattr(recipe, item.name)
        kind = nested_kind(hints.get(item.name))
        if kind and not isinstance(value, str):
            yield kind, value
            yield from nested_components(value)


@functools.lru_cache(maxsize=256)
def type_hints(target: Any) -> dict[str, Any]:
    """Return the annotations of a class, resolved; none where they cannot be."""
    try:
        return typing.get_type_hints(target)
    except Exception:  # annotations of a stranger's class; then nothing in it is nested
        return {}
