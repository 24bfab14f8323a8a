"""Where things come from: versions of what plays, and the distribution of each component."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from rpd_core.plugin.parameters import nested_components
from rpd_core.plugin.registry import installed

_ALWAYS = (
    "ranking-policy-decisions",
    "numpy",
    "gymnasium",
    "torch",
    "stable-baselines3",
    "minigrid",
    "ale-py",
    "pyarrow",
)
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
    for kind, recipe in _with_nested(components):
        registration = installed().registration_of(kind, recipe)
        if registration is None:
            offered[f"{kind} {type(recipe).__qualname__}"] = ""
            continue
        offered[f"{kind} {registration.component.name}"] = registration.distribution
        if registration.distribution:
            versions[registration.distribution] = registration.version
    return Origin(platform.machine(), platform.python_version(), versions, offered)


def _with_nested(components: Iterable[tuple[str, object]]) -> Iterable[tuple[str, object]]:
    for kind, recipe in components:
        yield kind, recipe
        yield from nested_components(recipe)


@lru_cache(maxsize=1)
def _standard_versions() -> Mapping[str, str]:
    """Return the versions of the packages that results always depend on."""
    found = {}
    for name in _ALWAYS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
