"""What an environment object holds: its parameters, told from the state of its episode."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import gymnasium
import numpy as np

from rpd_gym.lifecycle import start

Env = gymnasium.Env[Any, Any]
_STEPS = 20
_PLAIN = (bool, int, float, str)
_SHOWN_BY_VALUE = (*_PLAIN, tuple, list, dict, np.ndarray, np.generic, type(None))
_NOT_PARAMETERS = ("render_mode", "window", "clock")


def plain_values(env: Env) -> dict[str, Any]:
    """Return the attributes of an environment and its wrappers that are single values."""
    return {name: value for name, value in _attributes(env).items() if type(value) in _PLAIN}


def constants(env: Env) -> dict[str, str]:
    """Return, as text, the attributes that two episodes leave as they are: its parameters.

    The environment is played for that; one that fails has none.
    """
    seen: list[dict[str, str]] = []
    with suppress(Exception):  # an environment may raise anything
        start(env, 2)
        _play(env)  # what the first episode sets once is the same from here on
        for seed in (0, 1):
            start(env, seed)
            seen.append(_texts(env))
            _play(env)
            seen.append(_texts(env))
    if not seen:
        return {}
    return {
        name: text
        for name, text in seen[0].items()
        if all(later.get(name) == text for later in seen[1:])
    }


def fingerprint(env: Env) -> str:
    """Return a short digest of an environment's parameters; it is played for that."""
    lasting = sorted(constants(env).items())
    return hashlib.sha256(repr(lasting).encode()).hexdigest()[:12]


def changes(held: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    """List where attributes are not as expected."""
    return [
        f"{name.rpartition(' ')[2]} is {held[name]!r}, not {value!r}"
        for name, value in expected.items()
        if name in held and held[name] != value
    ]


def _play(env: Env) -> None:
    actions = env.action_space
    for _ in range(_STEPS):
        _, _, over, cut, _ = env.step(actions.sample())
        if over or cut:
            return


def _texts(env: Env) -> dict[str, str]:
    texts = {
        name: repr(value)
        for name, value in _attributes(env).items()
        if isinstance(value, _SHOWN_BY_VALUE)
    }
    return {name: text for name, text in texts.items() if " at 0x" not in text}


def _attributes(env: Env) -> dict[str, Any]:
    """Return the attributes of every layer, each with the class of its layer in front."""
    found: dict[str, Any] = {}
    layer: Any = env
    for _ in range(100):  # of wrappers that hold one another
        kind = type(layer).__name__
        for name, value in getattr(layer, "__dict__", {}).items():
            if name not in _NOT_PARAMETERS:
                found.setdefault(f"{kind} {name}", value)
        if not isinstance(layer, gymnasium.Wrapper):
            break
        layer = layer.env
    return found
