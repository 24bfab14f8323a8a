"""The keywords of `as_policy` and `as_environment`: what the bundled plugins take.

A parameter means what `rpd describe` says of it; a text is read as in a spec string. What a plugin
that somebody else wrote takes goes into `parameters`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict, Unpack

from rpd_core.config.objects import with_parameters
from rpd_core.config.resolve import choose
from rpd_core.errors import ConfigError, nearest
from rpd_core.plugin.protocols import Environment, PolicyLoader
from rpd_core.plugin.registry import installed


class PolicyParameters(TypedDict, total=False):
    """Parameters of the bundled policy loaders."""

    activation: str
    algo: str | None
    deterministic: bool | None
    divide: float | str | None
    epsilon: float | str
    extractor: str | None
    family: str
    hidden: tuple[int, ...]
    hidden_axis: int | str
    input: tuple[str, ...]
    key: str | None
    layout: str
    mission: str | None
    node: str | None
    normalize: bool
    output: str
    prefix: str
    preprocess: str
    squash: str
    stack: int | str | None
    strides: tuple[int, ...]
    trust: bool
    vecnormalize: str | Path | None
    which: str


class EnvironmentParameters(TypedDict, total=False):
    """Parameters of the bundled environments."""

    actions: str
    difficulty: int | str | None
    fire: str
    frame_skip: int | str
    kwargs: tuple[str, ...]
    life_ends: bool
    max_steps: int | str | None
    maximum: str
    mode: int | str | None
    noop_max: int | str
    rebuild: bool | None
    size: int | str
    stack: int | str
    sticky: float | str
    view: int | str | None


def as_policy(
    policy: object,
    parameters: Mapping[str, object] | None = None,
    **keywords: Unpack[PolicyParameters],
) -> PolicyLoader:
    """Return what `run` makes of a policy, with parameters of its loader.

    For example `as_policy(model, deterministic=False)` for a model that acts by chance. Those of a
    plugin that is not bundled are given as `parameters={"name": value}`.
    """
    given = _known("as_policy", PolicyParameters, keywords)
    return _recipe("policy", policy, {**(parameters or {}), **given})  # type: ignore[no-any-return]


def as_environment(
    env: object,
    parameters: Mapping[str, object] | None = None,
    **keywords: Unpack[EnvironmentParameters],
) -> Environment:
    """Return what `run` makes of an environment, with parameters of its plugin.

    For example `as_environment(env, max_steps=500)` for one that may never end. Those of a plugin
    that is not bundled are given as `parameters={"name": value}`.
    """
    given = _known("as_environment", EnvironmentParameters, keywords)
    both = {**(parameters or {}), **given}
    return _recipe("environment", env, both)  # type: ignore[no-any-return]


def _recipe(kind: str, thing: object, parameters: dict[str, Any]) -> Any:
    registry = installed()
    return with_parameters(registry, kind, choose(registry, kind, thing).recipe, parameters)


def _known(function: str, kind: type[Any], keywords: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the keywords; refuse one that the signature does not name."""
    known = kind.__annotations__
    for name in keywords:
        if name not in known:
            hint = nearest(name, known) or f" Of a plugin's own: parameters={{{name!r}: ...}}"
            raise ConfigError(f"{function}() has no argument {name!r}.{hint}")
    return keywords
