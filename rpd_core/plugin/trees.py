"""Components inside components: a default action that is a policy, a policy inside another."""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Hashable, Iterator

from rpd_core.plugin.specs import nested_kind


def nested_components(recipe: object) -> Iterator[tuple[str, object]]:
    """Yield (kind, recipe) of the components among a recipe's fields, at any depth."""
    if not dataclasses.is_dataclass(recipe):
        return
    hints = type_hints(recipe.__class__)
    for item in dataclasses.fields(recipe):
        value = getattr(recipe, item.name)
        kind = nested_kind(hints.get(item.name))
        if kind and not isinstance(value, str):
            yield kind, value
            yield from nested_components(value)


@functools.lru_cache(maxsize=256)
def type_hints(target: Hashable) -> dict[str, object]:
    """Return the annotations of a class, resolved; none where they cannot be."""
    try:
        return typing.get_type_hints(target)
    except Exception:  # annotations of a stranger's class; then nothing in it is nested
        return {}
