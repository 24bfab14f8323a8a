"""How single environments are started, checked and closed, the same way everywhere."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium

from rpd_core.errors import SpecError

Env = gymnasium.Env[Any, Any]


def start(env: Env, seed: int) -> Any:
    """Begin an episode; its seed is the environment's and that of its action space.

    Some environments draw an action of their own now and then, and some make a new action space
    at reset.
    """
    before = env.action_space
    before.seed(seed)
    answer = env.reset(seed=seed)
    if env.action_space is not before:
        env.action_space.seed(seed)
    return answer


@contextmanager
def closing(env: Env) -> Iterator[Env]:
    """Close an environment at the end of a `with` block, whatever happens in it."""
    try:
        yield env
    finally:
        close(env)


def close(env: Env) -> None:
    """Close an environment; an error while closing changes no result and is ignored."""
    with contextlib.suppress(Exception, SystemExit):
        env.close()


def check_spaces(env: Env, name: str) -> None:
    """Refuse an environment that does not know its spaces before the first reset."""
    for attribute in ("observation_space", "action_space"):
        space = getattr(env, attribute, None)
        if not isinstance(space, gymnasium.Space):
            raise SpecError(
                f"{name} has no {attribute} before its first reset (it is {space!r}): set it in "
                "__init__"
            )
