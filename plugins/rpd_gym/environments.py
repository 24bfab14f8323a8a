"""Any Gymnasium environment: by its id, or by a factory of the user's own."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium

from rpd_core.components import Lanes, Opening, Task
from rpd_core.errors import ComponentError, SpecError, nearest, one_line
from rpd_gym.lanes import GymLanes


def general_task(max_steps: int) -> Task:
    """Give settings for an environment nobody has tuned."""
    return Task(
        abstraction=("round:1",),
        default_action="repeat",
        condition="auto",
        mutation_rate=0.2,
        episodes=2000,
        test_episodes=50,
        max_steps=max_steps,
        lanes=64,
        chunk=250,
    )


def step_cap(env: gymnasium.Env[Any, Any], given: int | None, name: str) -> int:
    """Give the number of steps after which to stop, or say that there must be one."""
    limit = given or (env.spec.max_episode_steps if env.spec else None)
    if not limit:
        raise SpecError(f"{name} may never end: give a step cap, for example max_steps=1000")
    return limit


@dataclass(frozen=True)
class GymEnvironment:
    """Any registered Gymnasium environment, for example `gym:Acrobot-v1`."""

    id: str
    """The id that `gymnasium.make` takes."""
    max_steps: int | None = None
    """Steps after which an episode ends; none: the environment's own limit."""

    def task(self) -> Task:
        """Give general settings."""
        env = self._make()
        try:
            return general_task(step_cap(env, self.max_steps, self.id))
        finally:
            env.close()

    def open(self, opening: Opening) -> Lanes:
        """Make the lanes."""
        return GymLanes(lambda: self._make(opening.render), opening.lanes, self.id)

    def _make(self, render: bool = False) -> gymnasium.Env[Any, Any]:
        options: dict[str, Any] = {"render_mode": "rgb_array" if render else None}
        if self.max_steps:
            options["max_episode_steps"] = self.max_steps
        try:
            return gymnasium.make(self.id, **options)
        except gymnasium.error.DependencyNotInstalled as error:
            raise ComponentError(f"{self.id} lacks a package: {one_line(error)}") from error
        except gymnasium.error.Error as error:
            hint = nearest(self.id, gymnasium.registry)
            raise SpecError(f"cannot make {self.id!r}: {one_line(error)}{hint}") from error


@dataclass(frozen=True)
class PythonEnvironment:
    """A factory of your own, `python:module:factory`, called without arguments."""

    factory: str | Callable[..., Any]
    """`module:attribute`, searched from the working directory, too; or a function."""
    max_steps: int | None = None
    """Steps after which an episode ends; none: the environment's own limit."""

    def task(self) -> Task:
        """Give general settings."""
        env = self._factory()()
        try:
            return general_task(step_cap(env, self.max_steps, "the environment"))
        finally:
            env.close()

    def open(self, opening: Opening) -> Lanes:
        """Make the lanes; pictures need a factory that asks for them itself."""
        return GymLanes(self._factory(), opening.lanes, "your environment")

    def _factory(self) -> Callable[[], gymnasium.Env[Any, Any]]:
        if not isinstance(self.factory, str):
            return self.factory
        module, colon, attribute = self.factory.partition(":")
        if not colon or not module or not attribute:
            raise SpecError(f"{self.factory!r} must be written module:attribute")
        here = str(Path.cwd())
        if here not in sys.path:
            sys.path.append(here)
        try:
            found: Callable[[], Any] = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise SpecError(f"cannot import {self.factory!r}: {one_line(error)}") from error
        return found
