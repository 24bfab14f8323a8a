"""What may run code, and what the user permits: never stored, given anew each time."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from rpd_core.errors import ConfigError, SpecError, brief
from rpd_core.plugin.registry import Registry
from rpd_core.plugin.specs import nested_components

if TYPE_CHECKING:
    from rpd_core.config.resolve import Selection


def check_trust(trust: object, name: str = "trust_policy") -> bool:
    """Return what the user permits, or refuse what is not plainly a yes or a no."""
    if not isinstance(trust, bool):
        raise ConfigError(f"{name} must be True or False, got {brief(trust)}")
    return trust


def permitted(chosen: Selection, trust: bool) -> Selection:
    """Return a choice whose loader, or the loader inside it, may run code if that is permitted."""
    check_trust(trust)
    for recipe in (chosen.recipe, *(inner for _, inner in nested_components(chosen.recipe))):
        if dataclasses.is_dataclass(recipe) and not isinstance(recipe, type):
            for item in dataclasses.fields(recipe):
                if item.name == "trust" and item.metadata.get("not_identity"):
                    check_trust(getattr(recipe, item.name), f"trust of {type(recipe).__name__}")
    return dataclasses.replace(chosen, recipe=with_trust(chosen.recipe)) if trust else chosen


def with_trust(recipe: object, trust: bool = True) -> Any:
    """Return a recipe with its field `trust` set, and those of recipes inside it."""
    if not dataclasses.is_dataclass(recipe) or isinstance(recipe, type):
        return recipe
    inner = {id(value) for _, value in nested_components(recipe)}
    changes: dict[str, Any] = {}
    for item in dataclasses.fields(recipe):
        value = getattr(recipe, item.name)
        if item.name == "trust" and item.metadata.get("not_identity"):
            changes["trust"] = trust
        elif id(value) in inner:
            changes[item.name] = with_trust(value, trust)
    return dataclasses.replace(recipe, **changes) if changes else recipe


def runs_code(kind: str, recipe: object, registry: Registry) -> bool:
    """Return whether a component, with these parameters, may run code that nobody installed."""
    registration = registry.registration_of(kind, recipe)
    if registration is None or registration.component.runs_code:
        return True
    if getattr(recipe, "runs_code", False):
        return True
    return any(runs_code(inner, value, registry) for inner, value in nested_components(recipe))


TRUST = "If you trust whoever made it, add --trust-policy"


def refuse_code(kind: str, text: str, registry: Registry, named_by: str, instead: str = "") -> Any:
    """Return the recipe of a spec that a file names, unless it may run code."""
    try:
        registration = registry.find(kind, registry.name_in(kind, text))
    except SpecError as error:
        raise SpecError(
            f"{error} It is named by {named_by}: install the plugin that offers it"
            f"{f', or {instead}' if instead else ''}"
        ) from error
    if not registration.component.runs_code:
        recipe = registry.make(kind, text)
        if not runs_code(kind, recipe, registry):
            return recipe
    raise SpecError(
        f"{named_by} names the {kind} {text!r}, which may run code that came with it: refused. "
        f"{f'{instead[0].upper()}{instead[1:]}' if instead else TRUST}"
    )
