"""Who offers a component, which versions play, and who is to blame when something fails.

A defect of a bundled component keeps its traceback: it is for us. One of a stranger's becomes one
line that names the component, its distribution and the place. An error of an object that no
plugin offers keeps its traceback, too.
"""

from __future__ import annotations

import importlib.metadata
import platform
import traceback
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import NoReturn

from rpd_core.errors import ComponentError, RpdError, one_line
from rpd_core.plugin.discovery import BUNDLED
from rpd_core.plugin.hookspecs import KINDS
from rpd_core.plugin.importing import failed_import, is_installed
from rpd_core.plugin.registry import Registration, installed
from rpd_core.plugin.specs import nested_components


def _members(protocol: type) -> list[str]:
    return [name for name in vars(protocol) if name == "__call__" or not name.startswith("_")]


def lacks(protocol: type, thing: object, asks: str = "") -> str:
    """Return what a thing lacks of a protocol, as the end of a sentence; empty if nothing."""
    names = []
    for name in _members(protocol):
        there = hasattr(thing, name)
        if not isinstance(vars(protocol)[name], property):
            there = callable(getattr(thing, name, None))
        names += [] if there else [name]
    return _lacks(protocol, names, asks)


def _lacks(protocol: type, names: list[str], asks: str) -> str:
    if not names:
        return ""
    listed = ", ".join(names[:-1]) + " and " * (len(names) > 1) + names[-1]
    return (
        f"lacks {listed} of the protocol {protocol.__name__}{asks and f', which asks for {asks}'}"
    )


def class_lacks(kind: str, target: object) -> str:
    """Return what a class lacks of what its kind asks for, read off before one can be made."""
    if not isinstance(target, type):
        return ""
    fields = getattr(target, "__dataclass_fields__", {})
    there = {*fields, *(name for base in target.__mro__ for name in vars(base))}
    missing = [name for name in _members(KINDS[kind].protocol) if name not in there]
    return _lacks(KINDS[kind].protocol, missing, KINDS[kind].method)


def lacks_of_kind(kind: str, recipe: object) -> str:
    """Return what a recipe lacks of what its kind asks for; empty if nothing."""
    return lacks(KINDS[kind].protocol, recipe, KINDS[kind].method)


def gave_instead(what: str, given: object, protocol: type) -> str:
    """Return what is wrong with what a method gave, `gave an int, which lacks ...`; or nothing."""
    missing = lacks(protocol, given)
    return f"{what} gave {a_kind(given)}, which {missing}" if missing else ""


def a_kind(thing: object) -> str:
    name = type(thing).__name__
    return f"{'an' if name[0].lower() in 'aeiou' or name == 'ndarray' else 'a'} {name}"


def _registration_for(kind: str, thing: object) -> Registration | None:
    """Find who offers a component, or what it has been opened into."""
    exact = installed().registration_of(kind, thing)
    if exact is not None:
        return exact
    package = type(thing).__module__.partition(".")[0]
    mine = [r for r in installed().of_kind(kind) if _package(r) == package and r.ready]
    return mine[0] if len(mine) == 1 else None


def _package(registration: Registration) -> str:
    return registration.component.target.partition(":")[0].partition(".")[0]


def named(kind: str, thing: object) -> str:
    """Return what messages call a component: name and distribution, or its class."""
    found = _registration_for(kind, thing)
    if found is None:
        return f"{kind} {type(thing).__qualname__}"
    whose = f"{found.distribution} {found.version}".strip() or f"plugin {found.plugin!r}"
    return f"{kind} {found.component.name!r} ({whose})"


def whose(kind: str, thing: object) -> str:
    """Return the distribution of a stranger's component, in brackets; nothing for others."""
    found = None if _ours(thing) else _registration_for(kind, thing)
    return f" ({found.distribution} {found.version})" if found and found.distribution else ""


def called(kind: str, thing: object) -> str:
    """Return what a sentence about an episode calls an actor: by name if it is a stranger's."""
    strange = not _ours(thing) and _registration_for(kind, thing) is not None
    return named(kind, thing) if strange else f"the {kind.replace('-', ' ')}"


def refuse(kind: str, thing: object, complaint: str) -> NoReturn:
    """Raise about a component that breaks the contract, with how to look into it."""
    found = _registration_for(kind, thing)
    check = f". Try: rpd check-plugin {found.plugin}" if found and not _ours(thing) else ""
    raise ComponentError(f"{named(kind, thing)} {complaint}{check}")


def require(kind: str, thing: object, complaint: str) -> None:
    if complaint:
        refuse(kind, thing, complaint)


def unmet(error: BaseException) -> str:
    """Return which package an error says is missing or broken, and what to do; else nothing."""
    package = failed_import(error)
    if not package:
        return ""
    if isinstance(error, ModuleNotFoundError) and not is_installed(package):
        needing = [  # what the components that need it say is to be installed
            one.component.install
            for one in installed().registrations
            if package in {module.partition(".")[0] for module in one.component.requires}
        ]
        by_its_name = any(package in install.split() for install in needing)
        wanted = package if by_its_name or not needing else needing[0]
        return f"needs {package}, which is not installed: pip install {wanted}"
    offered = importlib.metadata.packages_distributions().get(package)
    if not offered:
        return ""  # a module of the user's own, who wants its traceback
    return (
        f"needs {package}, which is installed but cannot be imported ({one_line(error)}): "
        f"pip install --force-reinstall {offered[0]}"
    )


@dataclass
class blamed:  # in lower case, as contextlib names its own
    """Name a stranger's component when it raises; `what` it was doing."""

    kind: str
    thing: object
    what: str

    def __enter__(self) -> None:
        """Begin what may raise."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, Exception) or isinstance(error, RpdError):
            return
        ours = _ours(self.thing)
        needs = unmet(error) if ours else ""
        if needs:
            raise ComponentError(f"{named(self.kind, self.thing)} {needs}") from error
        if ours or _registration_for(self.kind, self.thing) is None:
            return  # whoever passes an object of their own wants its traceback
        place = _place(error, self.thing)
        try:
            refuse(self.kind, self.thing, f"failed: {self.what} raised {one_line(error)}{place}")
        except ComponentError as told:
            raise told from error


def _ours(thing: object) -> bool:
    """Return whether a class comes from the core or from a bundled plugin."""
    package = type(thing).__module__.partition(".")[0]
    bundled = {_package(r) for r in installed().registrations if r.distribution == BUNDLED}
    return package in {"rpd_core", *bundled}


def _place(error: BaseException, thing: object) -> str:
    """Return the last line of the component's own package that an error came through."""
    package = type(thing).__module__.partition(".")[0]
    frames = traceback.extract_tb(error.__traceback__)
    own = [one for one in frames if package in (*Path(one.filename).parts, Path(one.filename).stem)]
    last = own[-1] if own else None
    return f" ({Path(last.filename).name}, line {last.lineno})" if last else ""


_ALWAYS = (
    BUNDLED, "numpy", "gymnasium", "torch", "stable-baselines3", "minigrid", "ale-py", "pyarrow"
)  # fmt: skip
"""Distributions whose version matters to results, whoever offers the components."""


@dataclass(frozen=True)
class Origin:
    """What played a part: the machine, versions, and who offers each component."""

    machine: str
    python: str
    distributions: Mapping[str, str]
    """Version of each distribution that took part."""
    components: Mapping[str, str]
    """`kind name` of each component, and the distribution that offers it; empty for none."""


def origin_of(components: Iterable[tuple[str, object]]) -> Origin:
    """Return what plays in this process when these components are at work."""
    versions = dict(_standard_versions())
    offered: dict[str, str] = {}
    direct = list(components)
    nested = ([one, *nested_components(one[1])] for one in direct)
    for kind, recipe in chain.from_iterable(nested):
        registration = installed().registration_of(kind, recipe)
        if registration is None:
            offered[f"{kind} {type(recipe).__qualname__}"] = ""
            continue
        offered[f"{kind} {registration.component.name}"] = registration.distribution
        if registration.distribution:
            versions[registration.distribution] = registration.version
    return Origin(platform.machine(), platform.python_version(), versions, offered)


@lru_cache(maxsize=1)
def _standard_versions() -> Mapping[str, str]:
    found = {}
    for name in _ALWAYS:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found
