"""(kind, name) -> component: what is installed, what state it is in, and how to make one."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import typing
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from rpd_core.errors import ComponentError, RpdError, SpecError, nearest, one_line
from rpd_core.plugin import specs
from rpd_core.plugin.descriptions import Description, describe_target, source_file
from rpd_core.plugin.discovery import BUNDLED, Plugin, find_plugins
from rpd_core.plugin.protocols import KINDS, Component
from rpd_core.plugin.specs import Spec


@dataclass(frozen=True)
class Registration:
    """A component with where it comes from and whether it can be used."""

    kind: str
    component: Component
    plugin: str
    distribution: str
    version: str
    status: str
    """`ready`, `needs ...`, `broken`, `clash` or `wrong API`."""
    reason: str = ""
    """What is wrong and what to do, if not ready."""

    @property
    def ready(self) -> bool:
        return self.status == "ready"

    def as_row(self) -> dict[str, str]:
        """Give what `rpd list-plugins --json` prints."""
        return {
            "kind": self.kind,
            "name": self.component.name,
            "plugin": self.plugin,
            "distribution": self.distribution,
            "version": self.version,
            "status": self.status,
            "summary": self.component.summary,
            "reason": self.reason,
        }


class Registry:
    """All components of a set of plugins."""

    def __init__(self, plugins: Iterable[Plugin]) -> None:
        self.registrations: list[Registration] = []
        taken: dict[tuple[str, str], Registration] = {}
        for plugin in plugins:
            for registration in _register(plugin):
                key = registration.kind, registration.component.name
                if registration.ready and key in taken:
                    registration = self._clash(registration, taken[key])
                elif registration.ready:
                    taken[key] = registration
                self.registrations.append(registration)

    def _clash(self, later: Registration, earlier: Registration) -> Registration:
        """Keep a bundled name working; of two strangers neither wins by the order of loading."""
        if earlier.distribution != BUNDLED and earlier in self.registrations:
            self.registrations[self.registrations.index(earlier)] = _marked(earlier, later)
        return _marked(later, earlier)

    def of_kind(self, kind: str) -> list[Registration]:
        """Give the registrations of one kind."""
        return [found for found in self.registrations if found.kind == kind]

    def find(self, kind: str, name: str) -> Registration:
        """Give a usable registration, or say why there is none."""
        named = [found for found in self.of_kind(kind) if found.component.name == name]
        for found in named:
            if found.ready:
                return found
        if named:
            raise ComponentError(f"{kind} {name!r} is {named[0].status}: {named[0].reason}")
        known = [found.component.name for found in self.of_kind(kind)]
        broken = [f.plugin for f in self.registrations if f.kind == "plugin"]
        hint = nearest(name, known) or f" Known: {', '.join(sorted(known))}."
        also = f" (plugin {', '.join(broken)} could not be loaded)" if broken else ""
        raise SpecError(f"no {kind} is called {name!r}.{hint}{also}")

    def describe(self, kind: str, name: str) -> Description:
        """Read a component's documentation from its source."""
        return describe_target(self.find(kind, name).component.target)

    def parse(self, kind: str, text: str) -> Spec:
        """Read a spec string; nothing is imported."""
        expanded = specs.expand_comparison(text) if kind == "condition" else text
        name, rest = specs.split_name(expanded, kind)
        spec = specs.parse(name, rest, self.describe(kind, name).parameters)
        return replace(spec, comparison=kind == "condition" and specs.is_comparison(spec))

    def make(self, kind: str, chosen: str | Spec) -> Any:
        """Give the recipe that a spec selects."""
        spec = self.parse(kind, chosen) if isinstance(chosen, str) else chosen
        target = self.resolve(kind, spec.name)
        _refuse_learned(kind, spec, target)
        hints = typing.get_type_hints(target) if isinstance(target, type) else {}
        values = {}
        for key, text in spec.values.items():
            try:
                values[key] = specs.convert(text, hints.get(key, str), self.make)
            except ValueError as error:
                other, equals, _ = text.partition("=")
                wrong = equals and other.isidentifier()
                hint = f"; {other!r} is no parameter of it" if wrong else ""
                raise SpecError(f"{kind} {spec.name!r}: {key} {error}{hint}") from None
        return self._instantiate(kind, spec, target, values)

    def _instantiate(self, kind: str, spec: Spec, target: Any, values: dict[str, Any]) -> Any:
        parameters = self.describe(kind, spec.name).parameters
        missing = [p.name for p in parameters if p.default is None and p.name not in values]
        if missing:
            raise SpecError(
                f"{kind} {spec.name!r} needs {missing[0]!r}: write {spec.name}:<{missing[0]}>"
            )
        try:
            return target(**values)
        except RpdError:
            raise
        except (TypeError, ValueError) as error:
            raise SpecError(f"{kind} {str(spec)!r}: {one_line(error)}") from error

    def resolve(self, kind: str, name: str) -> Any:
        """Import the target of a component."""
        found = self.find(kind, name)
        module, _, attribute = found.component.target.partition(":")
        try:
            return getattr(importlib.import_module(module), attribute)
        except (Exception, SystemExit) as error:  # a stranger's module may raise anything
            raise ComponentError(
                f"{kind} {name!r} of plugin {found.plugin!r} is broken: {one_line(error)}"
            ) from error


@lru_cache(maxsize=1)
def installed() -> Registry:
    """Give the registry of everything installed, found once per process."""
    return Registry(find_plugins())


def _refuse_learned(kind: str, spec: Spec, target: Any) -> None:
    """Refuse values for fields that only `fit` sets, however they are marked in the source."""
    fields = dataclasses.fields(target) if dataclasses.is_dataclass(target) else ()
    for item in fields:
        if item.metadata.get("learned") and item.name in spec.values:
            raise SpecError(
                f"{kind} {spec.name!r}: {item.name!r} is learned from the policy's episodes and "
                "is no parameter: leave it out"
            )


def _marked(loser: Registration, other: Registration) -> Registration:
    reason = (
        f"{other.plugin!r} ({other.distribution}) offers the same name; rename or uninstall one"
    )
    return Registration(
        loser.kind,
        loser.component,
        loser.plugin,
        loser.distribution,
        loser.version,
        "clash",
        reason,
    )


def _register(plugin: Plugin) -> Iterable[Registration]:
    origin = plugin.name, plugin.distribution, plugin.version
    if plugin.fault:
        blank = Component(plugin.name, "", "could not be loaded")
        yield Registration("plugin", blank, *origin, plugin.status, plugin.fault)
    for note in plugin.notes:
        yield Registration("plugin", Component(plugin.name, "", note), *origin, "broken", note)
    for kind, component in plugin.components:
        yield Registration(kind, component, *origin, *_status(component))


def _status(component: Component) -> tuple[str, str]:
    """Tell whether a component could be used, without importing what it needs."""
    for module in component.requires:
        if importlib.util.find_spec(module.partition(".")[0]) is None:
            install = component.install or module
            return f"needs {module}", f"pip install {install}"
    module, _, attribute = component.target.partition(":")
    path = source_file(module)
    if path is None:
        return "broken", f"there is no module {module!r}"
    try:
        source = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return "broken", f"the source of {module!r} cannot be read"
    starts = (f"\n{word} {attribute}{end}" for word in ("class", "def") for end in "(:[")
    if not attribute or not any(start in f"\n{source}" for start in starts):
        return "broken", f"{module!r} defines no {attribute!r}"
    return "ready", ""


def check_kind(kind: str) -> str:
    """Give a kind back, or say which there are."""
    if kind not in KINDS:
        hint = nearest(kind, KINDS) or f" Kinds: {', '.join(KINDS)}."
        raise SpecError(f"no kind of component is called {kind!r}.{hint}")
    return kind
