"""The parameters of a component, read off its class."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable

from rpd_core.plugin.specs import Field


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
