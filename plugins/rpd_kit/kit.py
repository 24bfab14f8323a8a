"""The conformance kit: what every component promises, checked on the real thing.

`rpd check-plugin NAME` runs it over an installed plugin; in a test of your own, call
`check_component("measure", "mine")` and assert that it gives no faults. Policies, abstractions and
default actions are checked in environments that the kit imagines. One that fits none of them is
checked in an environment of yours: `check_component("policy", "mine", environment="gym:Mine-v0")`,
or `environment=Imagined(observation_space, action_space)` where there are only spaces.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rpd_core.errors import ComponentError, RpdError, one_line
from rpd_core.plugin.blame import class_lacks, lacks_of_kind
from rpd_core.plugin.protocols import Environment
from rpd_core.plugin.registry import Registration, Registry, installed
from rpd_kit import abstractions, commands, environments, executors, measures, panels, policies
from rpd_kit.faults import Unchecked, check_pickling
from rpd_kit.scenes import KIT_SCENES, Imagined, Played, Scene

__all__ = ["Imagined", "Report", "check_component", "check_recipe", "check_registration"]

Where = str | Environment | Imagined | None
"""An environment to check in: a spec string, a recipe, spaces; None: those of the kit."""

_ALONE: dict[str, Callable[[Any], Iterator[str]]] = {
    "environment": environments.check_environment,
    "measure": measures.check_measure,
    "condition": measures.check_condition,
    "executor": executors.check_executor,
}
_IN_SCENES: dict[str, Callable[[Any, Sequence[Scene]], Iterator[str]]] = {
    "policy": policies.check_policy,
    "abstraction": abstractions.check_abstraction,
    "default-action": policies.check_default_action,
    "panel": panels.check_panel,
}


@dataclass(frozen=True)
class Report:
    """What the kit has to say about a registered component."""

    faults: list[str]
    """Promises that it breaks."""
    notes: list[str]
    """What could not be checked, and how to have it checked."""


def check_component(
    kind: str, spec: str, registry: Registry | None = None, *, environment: Where = None
) -> list[str]:
    """Return the faults of a component selected by a spec string; an empty list is a pass.

    That it fits no environment, so that nothing could be checked, counts as a fault.
    """
    registry = registry or installed()
    if kind == "command":
        return _check_command(registry, registry.find(kind, spec)).faults
    found = registry.find(kind, registry.parse(kind, spec).name)
    scenes = _scenes(registry, environment)
    return [
        *_check_declaration(registry, found),
        *_check_made(kind, registry.make(kind, spec), scenes),
    ]


def check_recipe(kind: str, recipe: Any, *, environment: Where = None) -> list[str]:
    """Return the faults of a recipe made in Python, for components that need parameters."""
    return _check_made(kind, recipe, _scenes(installed(), environment))


def check_registration(
    registry: Registry, registration: Registration, *, environment: Where = None
) -> Report:
    """Check a registered component, made without parameters; note it where that cannot be done."""
    if not registration.ready:
        return Report([f"{registration.status}: {registration.reason}"], [])
    kind, name = registration.kind, registration.component.name
    try:
        registry.resolve(kind, name)
    except ComponentError as error:
        return Report([one_line(error)], [])
    if kind == "command":
        return _check_command(registry, registration)
    faults = _check_declaration(registry, registration)
    required = [p.name for p in registry.describe(kind, name).parameters if p.default is None]
    if required:
        faults += _check_class(kind, registry.resolve(kind, name))
        return Report(faults, [_needs_parameters(registration, required)])
    try:
        found = _check_made(kind, registry.make(kind, name), _scenes(registry, environment))
    except RpdError as error:
        return Report([*faults, f"cannot be made from its name: {one_line(error)}"], [])
    return _report([*faults, *found])


def _check_command(registry: Registry, registration: Registration) -> Report:
    """Check a command, which is a function and takes no parameters in a spec."""
    faults = _check_declaration(registry, registration)
    return _report([*faults, *commands.check_command(registry, registration)])


def _report(found: list[str]) -> Report:
    notes: list[str] = [line for line in found if isinstance(line, Unchecked)]
    return Report([line for line in found if line not in notes], notes)


def _needs_parameters(registration: Registration, required: list[str]) -> str:
    name = registration.component.name
    example = ",".join(f"{parameter}=..." for parameter in required)
    return (
        f"needs {', '.join(required)}, so only its class was checked. All of it: "
        f"rpd check-plugin {registration.plugin} --spec {name}:{example}"
    )


def _scenes(registry: Registry, environment: Where) -> Sequence[Scene]:
    if environment is None:
        return KIT_SCENES
    if isinstance(environment, Imagined):
        return (environment,)
    if isinstance(environment, str):
        return (Played(registry.make("environment", environment)),)
    return (Played(environment),)


def _check_declaration(registry: Registry, registration: Registration) -> list[str]:
    """Check what can be read off without making the component."""
    faults = []
    description = registry.describe(registration.kind, registration.component.name)
    if not registration.component.summary:
        faults.append("its Component record has no summary")
    if not description.doc:
        what = "function" if registration.kind == "command" else "class"
        faults.append(f"its {what} has no docstring")
    target = registry.resolve(registration.kind, registration.component.name)
    if registration.component.takes and not callable(getattr(target, "from_object", None)):
        faults.append("its Component record states takes, but its class has no from_object")
    for parameter in description.parameters:
        if not parameter.help:
            faults.append(f"parameter {parameter.name!r} has no line of documentation under it")
        if parameter.name == "needs":
            faults.append("'needs' is a field, so users could set it: annotate it with ClassVar")
    return faults


def _check_made(kind: str, recipe: Any, scenes: Sequence[Scene]) -> list[str]:
    faults = list(_check_recipe_shape(kind, recipe))
    if faults:
        return faults
    try:
        if kind in _IN_SCENES:
            return list(_IN_SCENES[kind](recipe, scenes))
        return list(_ALONE[kind](recipe))
    except RpdError as error:  # which says who did what
        return [one_line(error)]
    except Exception as error:  # a stranger's component may raise anything
        return [f"raised {one_line(error)}"]


def _check_class(kind: str, target: object) -> Iterator[str]:
    """Check what can be read off the class of a component that needs parameters."""
    missing = class_lacks(kind, target)
    if missing:
        yield missing
    yield from _check_frozen(target)


def _check_frozen(recipe: object) -> Iterator[str]:
    if not dataclasses.is_dataclass(recipe):
        yield "is not a dataclass"
    elif not getattr(recipe, "__dataclass_params__").frozen:  # noqa: B009 (unknown to mypy)
        yield "is not frozen: write @dataclass(frozen=True)"


def _check_recipe_shape(kind: str, recipe: Any) -> Iterator[str]:
    missing = lacks_of_kind(kind, recipe)
    if missing:
        yield missing
    yield from _check_frozen(recipe)
    if kind != "executor":  # they stay where they are, and may hold a live client
        yield from check_pickling(recipe)
