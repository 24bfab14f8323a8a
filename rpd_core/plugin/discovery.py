"""Entry points -> records of plugins, each fault captured where it happens."""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pluggy

from rpd_core.errors import ComponentError, nearest, one_line
from rpd_core.plugin import hookspecs
from rpd_core.plugin.hookspecs import API_VERSION, ENTRY_POINT_GROUP, KINDS
from rpd_core.plugin.protocols import Component
from rpd_core.plugin.specs import NAME

BUNDLED = "ranking-policy-decisions"
"""The distribution whose components win when a name is taken twice."""


@dataclass(frozen=True)
class Plugin:
    """One entry point: what it offers, or why it offers nothing."""

    name: str
    distribution: str
    version: str
    components: tuple[tuple[str, Component], ...] = ()
    """(kind, component) pairs."""
    fault: str = ""
    """Why the plugin as a whole cannot be used; empty if it can."""
    status: str = "ready"
    """`ready`, `broken` or `wrong API`."""
    notes: tuple[str, ...] = ()
    """What of it is ignored, while the rest can be used."""


def find_plugins() -> list[Plugin]:
    """Load every installed plugin; a broken one becomes a record that says so."""
    # With RPD_STRICT_PLUGINS=1 in the environment the first fault is raised instead.
    plugins = load_plugins(importlib.metadata.entry_points(group=ENTRY_POINT_GROUP))
    if os.environ.get("RPD_STRICT_PLUGINS") == "1":
        for plugin in plugins:
            if plugin.fault:
                raise ComponentError(f"plugin {plugin.name!r}: {plugin.fault}")
    return plugins


def load_plugins(entry_points: Iterable[Any]) -> list[Plugin]:
    """Load the given entry points, bundled ones first, then by distribution and name."""
    known: dict[int, tuple[str, str]] = {}  # reading a distribution's metadata takes a while
    unique: dict[tuple[str, str, str], Any] = {}
    for point in entry_points:
        if id(point.dist) not in known:
            known[id(point.dist)] = _origin(point)
        unique[*known[id(point.dist)], point.name] = point
    order = sorted(unique, key=lambda key: (key[0] != BUNDLED, *key))
    return [load_plugin(unique[key], key[:2]) for key in order]


def load_plugin(entry_point: Any, origin: tuple[str, str] | None = None) -> Plugin:
    name = entry_point.name
    distribution, version = origin or _origin(entry_point)
    try:
        module = entry_point.load()
        api = getattr(module, "RPD_API", 1)
        if not isinstance(api, int) or api < 1:
            raise ComponentError(f"RPD_API must be a whole number such as {API_VERSION}: {api!r}")
        if api < API_VERSION:
            fault = f"written for plugin API {api}, this rpd has {API_VERSION}"
            return Plugin(name, distribution, version, fault=fault, status="wrong API")
        components = tuple(_collect(module, name))
        notes = tuple(_ignored_hooks(module, api))
        if api > API_VERSION and not components and not notes:
            notes = (f"written for plugin API {api}: it offers nothing that this rpd knows",)
    except BaseException as error:  # a stranger's module may raise anything
        if isinstance(error, KeyboardInterrupt):
            raise
        return Plugin(name, distribution, version, fault=one_line(error), status="broken")
    return Plugin(name, distribution, version, components, notes=notes)


def _origin(entry_point: Any) -> tuple[str, str]:
    if entry_point.dist is None:
        return "", ""
    name = re.sub(r"[-_.]+", "-", entry_point.dist.name).lower()
    return name, entry_point.dist.version


def _collect(module: ModuleType, name: str) -> Iterator[tuple[str, Component]]:
    manager = pluggy.PluginManager("rpd")  # one of its own, so that faults stay its own
    manager.add_hookspecs(hookspecs)
    manager.register(module, name)
    for kind in KINDS.values():
        hook = kind.hook
        for returned in getattr(manager.hook, hook)():
            if not isinstance(returned, list | tuple):
                raise ComponentError(f"{hook} must return a list of Component, got {returned!r}")
            for component in returned:
                if not isinstance(component, Component):
                    raise ComponentError(f"{hook} must return Component records, got {component!r}")
                _check_component(hook, component)
                yield kind.name, component


def _check_component(hook: str, component: Component) -> None:
    """Refuse a record that no spec string could select or that is typed wrongly."""
    if not isinstance(component.name, str) or not NAME.fullmatch(component.name):
        raise ComponentError(f"{hook} offers a component whose name is {component.name!r}")
    of = f"of {component.name!r}"
    texts = ("target", "summary", "install", "looks_like", "recognises", "group", "after_run")
    for name in texts:
        value = getattr(component, name)
        if not isinstance(value, str):
            raise ComponentError(f"{hook}: {name} {of} must be text, got {value!r}")
        if name in ("summary", "group") and not value.isprintable():
            raise ComponentError(f"{hook}: {name} {of} must be one line of plain text")
    try:
        re.compile(component.looks_like)
    except re.error as error:
        wrong = f"is not a regular expression ({error}): {component.looks_like!r}"
        raise ComponentError(f"{hook}: looks_like {of} {wrong}") from error
    for name in ("requires", "takes"):
        names = getattr(component, name)
        several = isinstance(names, tuple | list)
        if not several or not all(isinstance(one, str) and one for one in names):
            raise ComponentError(
                f"{hook}: {name} {of} must be a tuple of import names, got {names!r}"
            )


def _ignored_hooks(module: ModuleType, api: int) -> Iterator[str]:
    """Yield why hooks of a module are ignored; refuse one that is only misspelt."""
    known = {kind.hook for kind in KINDS.values()}
    newer = api > API_VERSION
    for name, value in vars(module).items():
        marked = getattr(value, "rpd_impl", None)
        if name in known and callable(value) and marked is None:
            yield f"{name} is not decorated with @hookimpl and is ignored"
        if marked is None or name in known:
            continue
        if not newer and not marked["optionalhook"]:
            raise ComponentError(f"there is no hook {name!r}.{nearest(name, known)}")
        contract = f"plugin API {api}" if newer else "another version"
        yield f"{name} is a hook of {contract}, which this rpd does not have; it is ignored"
