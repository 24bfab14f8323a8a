"""(kind, name) -> component: what is installed, what state it is in, and how to make one."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

from rpd_core.errors import ComponentError, RpdError, SpecError, files_called, nearest, one_line
from rpd_core.plugin import specs
from rpd_core.plugin.discovery import BUNDLED, Plugin, find_plugins
from rpd_core.plugin.hookspecs import KINDS
from rpd_core.plugin.importing import Description, defines, describe_target, is_installed
from rpd_core.plugin.protocols import Component, Contents
from rpd_core.plugin.specs import Field, Spec, fields_of, is_on_hub, learned_names, spec_of

_MANY = 25  # names that a message lists at most


@dataclass(frozen=True)
class Registration:
    """A component with where it comes from and whether it can be used."""

    kind: str
    component: Component
    plugin: str
    distribution: str
    version: str
    status: str
    """`ready`, `needs ...`, `broken`, `clash`, `wrong API` or `note`."""
    reason: str = ""
    """What is wrong and what to do, if not ready."""

    @property
    def ready(self) -> bool:
        return self.status == "ready"

    @property
    def lacking(self) -> bool:
        """Whether all that is wrong is that something has to be installed."""
        return self.status.startswith("needs ")

    @property
    def wanted(self) -> bool:
        """Whether it can be used, or could with what has to be installed."""
        return self.ready or self.lacking

    @property
    def whose(self) -> str:
        """The distribution of a stranger's component, in brackets; nothing for bundled ones."""
        known = f"{self.distribution} {self.version}".strip() or f"plugin {self.plugin!r}"
        return "" if self.distribution == BUNDLED else f" ({known})"

    @property
    def described(self) -> str:
        """What messages call it, with where it is from."""
        whose = self.distribution or "no distribution"
        return f"{self.kind} {self.component.name!r} of plugin {self.plugin!r} ({whose})"

    def without(self, faults: Mapping[str, str]) -> Registration:
        """Return what a component is where some packages cannot be imported, each with why."""
        for module in self.component.requires if self.ready else ():
            if module in faults:
                install = self.component.install or module
                reason = f"pip install --force-reinstall {install} ({faults[module]})"
                return replace(self, status=f"needs {module}", reason=reason)
        return self

    def as_row(self) -> dict[str, str]:
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
                    earlier = taken[key]  # of two strangers neither wins by the order of loading
                    if earlier.distribution != BUNDLED and earlier in self.registrations:
                        place = self.registrations.index(earlier)
                        self.registrations[place] = _marked(earlier, registration)
                    registration = _marked(registration, earlier)
                elif registration.ready:
                    taken[key] = registration
                self.registrations.append(registration)

    def of_kind(self, kind: str) -> list[Registration]:
        return [one for one in self.registrations if one.kind == kind]

    def find(self, kind: str, name: str, text: str = "") -> Registration:
        """Return a usable registration, or raise with the reason why there is none."""
        # `text` is the whole spec, for a suggestion that is one.
        named = [one for one in self.of_kind(kind) if one.component.name == name]
        for registration in named:
            if registration.ready:
                return registration
        if named:
            how = "is broken" if named[0].status == "broken" else "cannot be used"
            how = named[0].status if named[0].lacking else how
            raise ComponentError(f"{kind} {name!r}{named[0].whose} {how}: {named[0].reason}")
        known = [one.component.name for one in self.of_kind(kind)]
        broken = [
            one.plugin
            for one in self.registrations
            if one.kind == "plugin" and one.status != "note"
        ]
        hints = self._meant(kind, text or name), self._described(kind, name) or nearest(name, known)
        first, second = hints if ":" not in text else hints[::-1]  # sb4:a.zip is a misspelt name
        there = f" Known: {', '.join(sorted(known))}."
        if len(known) > _MANY:
            there = f" rpd list-plugins --kind {kind} lists the {len(known)} there are."
        hint = first or second or there
        also = f" (plugin {', '.join(broken)} could not be loaded: rpd list-plugins)"
        raise SpecError(f"no {kind} is called {name!r}.{hint}{also if broken else ''}")

    def _meant(self, kind: str, text: str) -> str:
        """Return ' Did you mean ...?' with the components that take such a value, if any do."""
        value, comma, further = text.strip().partition(",")
        takers = [one.component for one in self.of_kind(kind) if one.component.looks_like]
        for values in ((value,), files_called(value)):
            pairs = [
                (one.name, v) for v in values for one in takers if re.fullmatch(one.looks_like, v)
            ]
            if pairs:
                meant = dict.fromkeys(f"{name}:{v}{comma}{further}" for name, v in pairs)
                absent = kind == "policy" and not os.path.exists(os.path.expanduser(pairs[0][1]))
                there = " There is no such file." if absent else ""
                return f" Did you mean {' or '.join(map(repr, meant))}?{there}"
        if takers and os.path.isfile(value):
            names = ", ".join(one.name for one in takers)
            return f" None of {names} recognises this file; name one to let it try: NAME:{value}"
        return ""

    def _described(self, kind: str, word: str) -> str:
        """Return ' Did you mean ...?' with the one component whose summary has such a word."""
        word = rf"\b{re.escape(word)}\b"
        found = [one.component.name for one in self.of_kind(kind)
                 if re.search(word, one.component.summary, re.IGNORECASE)]  # fmt: skip
        return f" Did you mean {found[0]!r}?" if len(found) == 1 else ""

    def _split(self, kind: str, text: str) -> tuple[str, str | None]:
        expanded = specs.expand_comparison(text) if KINDS[kind].short_form else text
        try:
            return specs.split_name(expanded, kind)
        except SpecError as error:
            raise SpecError(f"{error}{self._meant(kind, text)}") from None

    def find_described(self, kind: str, name: str) -> Registration:
        """Return a registration that is usable, or would be with what it needs."""
        named = [one for one in self.of_kind(kind) if one.component.name == name]
        described = [one for one in named if one.ready] or [one for one in named if one.lacking]
        return described[0] if described else self.find(kind, name)

    def describe(self, kind: str, name: str) -> Description:
        """Read a component's documentation from its source; nothing is imported."""
        return describe_target(self.find_described(kind, name).component.target)

    def name_in(self, kind: str, text: str) -> str:
        return self._split(kind, text)[0]

    def parse(self, kind: str, text: str) -> Spec:
        """Read a spec string: the name by the catalogues, then the parameters by the class."""
        short_form = KINDS[kind].short_form
        name, rest = self._split(kind, text)
        self.find(kind, name, text)
        learned = learned_names(self.resolve(kind, name))
        spec = specs.parse(name, rest, self.fields(kind, name), learned)
        return replace(spec, comparison=short_form and specs.is_comparison(spec))

    def pinned(self, kind: str, spec: Spec) -> Spec:
        """Return a spec whose files on the Hugging Face hub are named with their commits."""
        paths = {
            one.name
            for one in self.fields(kind, spec.name)
            if Path in (one.annotation, *get_args(one.annotation))
        }
        there = {k: text for k, text in spec.values.items() if k in paths and is_on_hub(text)}
        if not there:
            return spec
        from rpd_core.plugin import hub  # few specs name a file of the hub

        looks_like = self.find(kind, spec.name).component.looks_like
        known = {key: hub.pinned(text, looks_like) for key, text in there.items()}
        return replace(spec, values={**spec.values, **known})

    def fields(self, kind: str, name: str) -> tuple[Field, ...]:
        target = self.resolve(kind, name)
        try:
            return fields_of(target)
        except Exception as error:  # annotations of a stranger's class may raise anything
            origin = self.find(kind, name).described
            raise ComponentError(
                f"{origin} is broken: its annotations cannot be read ({one_line(error)})"
            ) from error

    def text(self, kind: str, spec: Spec) -> str:
        """Return a spec as it is stored: without what is permitted each time anew."""
        fields = {field.name: field for field in self.fields(kind, spec.name)}
        permitted = {key for key, field in fields.items() if field.permission}
        values = {key: text for key, text in spec.values.items() if key not in permitted}
        if spec.nested and spec.first in values:
            inner_kind = specs.nested_kind(fields[spec.first].annotation)
            inner = self.pinned(inner_kind, self.parse(inner_kind, values[spec.first]))
            values[spec.first] = self.text(inner_kind, inner)
        return str(replace(spec, values=values))

    def text_of(self, kind: str, recipe: object) -> str:
        """Return the text of a recipe made in Python; its class where no spec would make it."""
        registration = self.registration_of(kind, recipe)
        if registration is None:
            named = type(recipe)
            return (
                str(getattr(recipe, "known_as", "")) or f"{named.__module__}.{named.__qualname__}"
            )
        name = registration.component.name
        spec = spec_of(name, recipe, self.fields(kind, name), self.text_of)
        return name if spec is None else str(spec)

    def make(self, kind: str, chosen: str | Spec) -> Any:
        spec = self.parse(kind, chosen) if isinstance(chosen, str) else chosen
        spec = self.pinned(kind, spec)
        target = self.resolve(kind, spec.name)
        fields = {field.name: field for field in self.fields(kind, spec.name)}
        specs.check_keys(spec, fields, learned_names(target))
        values = self._values(kind, spec, fields)
        missing = [f.name for f in fields.values() if f.required and f.name not in values]
        if missing:
            raise SpecError(
                f"{kind} {spec.name!r} needs {missing[0]!r}: write {_with_missing(spec, missing)}"
            )
        try:
            return target(**values)
        except RpdError:
            raise
        except (TypeError, ValueError, OverflowError) as error:
            raise SpecError(f"{kind} {str(spec)!r}: {one_line(error)}") from error
        except Exception as error:  # a stranger's constructor may raise anything
            origin = self.find(kind, spec.name).described
            raise ComponentError(f"{origin} is broken: {one_line(error)}") from error

    def _values(self, kind: str, spec: Spec, fields: Mapping[str, Field]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        further = []
        for key, text in spec.values.items():
            if key not in fields:
                further.append(f"{key}={text}")
                continue
            try:
                values[key] = specs.convert(text, fields[key].annotation, self.make)
            except ValueError as error:
                other, equals, _ = text.partition("=")
                wrong = equals and other.isidentifier()
                hint = f"; {other!r} is not a parameter of it" if wrong else ""
                if {"op", "bound"} <= spec.values.keys():
                    hint = f"; for example {spec.name}>=200"
                raise SpecError(f"{kind} {spec.name!r}: {key} {error}{hint}") from None
        if further:
            taker = specs.further_field(fields.values())
            values[taker] = (*values.get(taker, ()), *further)
        return values

    def resolve(self, kind: str, name: str) -> Any:
        registration = self.find(kind, name)
        return self._import(registration, registration.component.target)

    def after_run(self, command: str) -> Any:
        registration = self.find("command", command)
        return self._import(registration, registration.component.after_run)

    def recognises(self, registration: Registration, contents: Contents) -> bool:
        component = registration.component
        if not component.recognises:
            return False
        return bool(self._import(registration, component.recognises)(contents))

    def _import(self, registration: Registration, target: str) -> Any:
        module, _, attribute = target.partition(":")
        try:
            return getattr(importlib.import_module(module), attribute)
        except (Exception, SystemExit) as error:  # a stranger's module may raise anything
            raise ComponentError(
                f"{registration.described} is broken: {one_line(error)}"
            ) from error

    def registration_of(self, kind: str, recipe: object) -> Registration | None:
        """Find the registration whose target is the class of a recipe; imports nothing."""
        for registration in self.of_kind(kind):
            module, _, attribute = registration.component.target.partition(":")
            loaded = sys.modules.get(module)
            if registration.ready and getattr(loaded, attribute, None) is type(recipe):
                return registration
        return None


def finishing(registry: Registry) -> list[str]:
    """Return the names of the commands that do something at the end of a run."""
    found = [one.component for one in registry.of_kind("command") if one.wanted]
    return [one.name for one in found if one.after_run]


@lru_cache(maxsize=1)
def installed() -> Registry:
    """Return the registry of everything installed, found once per process."""
    return Registry(find_plugins())


def _marked(loser: Registration, other: Registration) -> Registration:
    reason = (
        f"{other.plugin!r} ({other.distribution}) offers the same name; rename or uninstall one"
    )
    return replace(loser, status="clash", reason=reason)


def _register(plugin: Plugin) -> Iterable[Registration]:
    origin = plugin.name, plugin.distribution, plugin.version
    if plugin.fault:
        blank = Component(plugin.name, "", "could not be loaded")
        yield Registration("plugin", blank, *origin, plugin.status, plugin.fault)
    for note in plugin.notes:
        yield Registration("plugin", Component(plugin.name, "", note), *origin, "note", note)
    for kind, component in plugin.components:
        absent = next((one for one in component.requires if not is_installed(one)), "")
        module, _, attribute = component.target.partition(":")
        reason = f"pip install {component.install or absent}" if absent else ""
        reason = reason or defines(module, attribute)
        status = f"needs {absent}" if absent else "broken" if reason else "ready"
        yield Registration(kind, component, *origin, status, reason)


def check_kind(kind: str) -> str:
    if kind not in KINDS:
        hint = nearest(kind, KINDS) or f" Kinds: {', '.join(KINDS)}."
        raise SpecError(f"no kind of component is called {kind!r}.{hint}")
    return kind


def _with_missing(spec: Spec, missing: Sequence[str]) -> str:
    if not spec.values and len(missing) == 1:
        return f"{spec.name}:<{missing[0]}>"
    start = str(spec) if spec.values else f"{spec.name}:"
    lacking = ",".join(f"{name}=<{name}>" for name in missing)
    return f"{start},{lacking}" if spec.values else f"{start}{lacking}"
