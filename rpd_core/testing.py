"""The conformance kit: what every component promises, checked on the real thing.

`rpd check-plugin NAME` runs it over an installed plugin; in a test of your own, call
`check_component("measure", "mine")` and assert that it gives no faults.
"""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable, Iterator
from typing import Any

from rpd_core.components import PROTOCOLS
from rpd_core.conformance import environments, pure, runners
from rpd_core.errors import RpdError, one_line
from rpd_core.registry import Registration, Registry, installed

Check = Callable[[Any], Iterator[str]]

_BY_KIND: dict[str, Check] = {
    "environment": environments.check_environment,
    "policy": environments.check_policy,
    "abstraction": environments.check_abstraction,
    "default-action": environments.check_default_action,
    "measure": pure.check_measure,
    "condition": pure.check_condition,
    "executor": runners.check_executor,
}


def check_component(kind: str, spec: str, registry: Registry | None = None) -> list[str]:
    """Give the faults of a component selected by a spec string; an empty list is a pass."""
    registry = registry or installed()
    found = registry.find(kind, registry.parse(kind, spec).name)
    return [*_check_paper(registry, found), *_check_made(kind, registry.make(kind, spec))]


def check_recipe(kind: str, recipe: Any) -> list[str]:
    """Give the faults of a recipe made in Python, for components that need parameters."""
    return _check_made(kind, recipe)


def check_registration(registry: Registry, registration: Registration) -> list[str]:
    """Give the faults of a registered component, made without parameters where it allows that."""
    if not registration.ready:
        return [f"{registration.status}: {registration.reason}"]
    kind, name = registration.kind, registration.component.name
    faults = _check_paper(registry, registration)
    required = [p.name for p in registry.describe(kind, name).parameters if p.default is None]
    if required:
        return faults  # cannot be made from its name alone; check_recipe takes an instance
    try:
        return [*faults, *_check_made(kind, registry.make(kind, name))]
    except RpdError as error:
        return [*faults, f"cannot be made from its name: {one_line(error)}"]


def _check_paper(registry: Registry, registration: Registration) -> list[str]:
    """Check what can be read off without making the component."""
    faults = []
    description = registry.describe(registration.kind, registration.component.name)
    if not registration.component.summary:
        faults.append("its Component record has no summary")
    if not description.doc:
        faults.append("its class has no docstring")
    for parameter in description.parameters:
        if not parameter.help:
            faults.append(f"parameter {parameter.name!r} has no line of documentation under it")
        if parameter.name == "needs":
            faults.append("'needs' is a field, so users could set it: annotate it with ClassVar")
    return faults


def _check_made(kind: str, recipe: Any) -> list[str]:
    faults = list(_check_recipe_shape(kind, recipe))
    if faults:
        return faults
    try:
        return list(_BY_KIND[kind](recipe))
    except Exception as error:  # a stranger's component may raise anything
        return [f"raised {one_line(error)}"]


def _check_recipe_shape(kind: str, recipe: Any) -> Iterator[str]:
    protocol = next(protocol for protocol, name in PROTOCOLS.items() if name == kind)
    if not isinstance(recipe, protocol):
        yield f"does not follow the protocol {protocol.__name__}"
    if not dataclasses.is_dataclass(recipe):
        yield "is not a dataclass"
    elif not getattr(recipe, "__dataclass_params__").frozen:  # noqa: B009 (unknown to mypy)
        yield "is not frozen: write @dataclass(frozen=True)"
    try:
        if pickle.loads(pickle.dumps(recipe)) != recipe:
            yield "is not equal to itself after pickling"
    except Exception as error:
        yield f"cannot be pickled: {one_line(error)}"
