"""Settings for environments that nobody has tuned, and arguments that a user writes for them."""

from __future__ import annotations

import json
from typing import Any

import gymnasium

from rpd_core.errors import SpecError
from rpd_core.plugin.protocols import Task

_WORDS = {"true": True, "false": False, "none": None}
_SHARES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Coarser than the standard sweep: environments that exist only in Python are slow."""


def general_task(env: gymnasium.Env[Any, Any], max_steps: int, notes: tuple[str, ...] = ()) -> Task:
    """Build settings for an environment nobody has tuned."""
    return Task(
        abstraction=(_usual_states(env.observation_space),),
        default_action="repeat",
        condition="auto",
        mutation_rate=0.2,
        episodes=2000,
        test_episodes=50,
        max_steps=max_steps,
        lanes=64,
        chunk=250,
        shares=_SHARES,
        notes=notes,
    )


def _usual_states(space: gymnasium.Space[Any]) -> str:
    """Return the abstraction for a space: rules for numbers, which a person can say.

    Pictures never recur: what the policy prefers does, where it tells that.
    """
    if isinstance(space, gymnasium.spaces.Discrete):
        return "identity"
    parts = space.spaces.values() if isinstance(space, gymnasium.spaces.Dict) else (space,)
    return "rules" if all(_is_flat(part) for part in parts) else "preference:otherwise=auto"


def _is_flat(space: gymnasium.Space[Any]) -> bool:
    """Return whether what is observed is a number or a vector, not a picture."""
    return space.shape is not None and len(space.shape) <= 1


def read_options(items: tuple[str, ...]) -> dict[str, Any]:
    """Read keyword arguments written as `key=value`; values are JSON, or else text."""
    options: dict[str, Any] = {}
    for item in items:
        key, equals, text = item.partition("=")
        if not equals or not key.isidentifier():
            raise SpecError(f"kwargs are written key=value+key=value, got {item!r}")
        if key in options:
            raise SpecError(f"kwargs: {key} is given twice")
        try:
            options[key] = _WORDS[text.lower()] if text.lower() in _WORDS else json.loads(text)
        except (ValueError, RecursionError):  # also of numbers too long to be read
            options[key] = text
    return options
