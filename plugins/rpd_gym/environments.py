"""Any Gymnasium environment: by its id, or by a factory of the user's own."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium

from rpd_core.errors import ComponentError, RpdError, SpecError, one_line
from rpd_core.plugin.importing import import_attribute, source_of
from rpd_core.plugin.protocols import Lanes, Opening, Task
from rpd_gym.handling import closed, with_spaces
from rpd_gym.lanes import GymLanes
from rpd_gym.names import atari_note, find_id, old_options
from rpd_gym.repeats import Care, care_for

Env = gymnasium.Env[Any, Any]
_WORDS = {"true": True, "false": False, "none": None}


_SHARES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Coarser than the standard sweep: environments that exist only in Python are slow."""


def general_task(env: Env, max_steps: int, notes: tuple[str, ...] = ()) -> Task:
    """Give settings for an environment nobody has tuned."""
    numbered = isinstance(env.observation_space, gymnasium.spaces.Discrete)
    return Task(
        abstraction=("identity",) if numbered else ("auto",),
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


def check_cap(given: int | None) -> None:
    """Refuse a number of steps that is none."""
    if given is not None and given < 1:
        raise SpecError(f"max_steps must be at least 1, got {given}")


def step_cap(env: Env, given: int | None, name: str) -> int:
    """Give the number of steps after which to stop, or say that there must be one."""
    check_cap(given)
    limit = given or (env.spec.max_episode_steps if env.spec else None)
    for attribute in ("_max_episode_steps", "max_steps"):  # of TimeLimit, and of MiniGrid
        if not limit and env.has_wrapper_attr(attribute):
            found = env.get_wrapper_attr(attribute)
            limit = found if isinstance(found, int) and found > 0 else None
    limit = limit or _frame_limit(env)
    if not limit:
        raise SpecError(
            f"{name} may never end: give a step cap, for example max_steps=1000 in its spec, or "
            "wrap it in gymnasium.wrappers.TimeLimit"
        )
    return int(limit)


def _frame_limit(env: Env) -> int | None:
    """Give the most steps that an Atari environment of Gymnasium makes; it counts frames."""
    given = env.spec.kwargs if env.spec else {}
    frames, skip = given.get("max_num_frames_per_episode"), given.get("frameskip", 1)
    fewest = min(skip) if isinstance(skip, tuple | list) else skip
    return int(frames) // int(fewest) if frames and fewest else None


def read_options(items: tuple[str, ...]) -> dict[str, Any]:
    """Give keyword arguments written as `key=value`; values are JSON, or else text."""
    options: dict[str, Any] = {}
    for item in items:
        key, equals, text = item.partition("=")
        if not equals or not key.isidentifier():
            raise SpecError(f"kwargs are written key=value+key=value, got {item!r}")
        if key in options:
            raise SpecError(f"kwargs: {key} is given twice")
        try:
            options[key] = _WORDS[text.lower()] if text.lower() in _WORDS else json.loads(text)
        except json.JSONDecodeError:
            options[key] = text
    return options


@dataclass(frozen=True)
class GymEnvironment:
    """Any registered Gymnasium environment, for example `gym:Acrobot-v1`."""

    id: str
    """The id that `gymnasium.make` takes; `module:id` imports the module first."""
    max_steps: int | None = None
    """Steps after which an episode ends; none: the environment's own limit."""
    kwargs: tuple[str, ...] = ()
    """Arguments of the environment, for example `kwargs=gravity=-5.0+continuous=true`."""
    rebuild: bool | None = None
    """Make the environment anew for every episode, with chance of its own; none: after a trial."""

    def task(self) -> Task:
        """Give general settings."""
        name, note = find_id(self.id)
        with closed(self._make()) as env:
            cap = step_cap(env, self.max_steps, self.id)
            notes = (note, atari_note(name))
            return general_task(env, cap, tuple(note for note in notes if note))

    def open(self, opening: Opening) -> Lanes:
        """Make the lanes."""
        care = care_for(self._make, self.id) if self.rebuild is None else Care.told(self.rebuild)
        make = care.of(partial(self._make, opening.render))
        return GymLanes(make, opening.lanes, self.id, care.rebuild)

    def _make(self, render: bool = False) -> Env:
        check_cap(self.max_steps)  # before Gymnasium says it in its own way
        name, _ = find_id(self.id)
        options = {**old_options(self.id), **read_options(self.kwargs)}
        if self.max_steps:
            options["max_episode_steps"] = self.max_steps
        if render:
            options["render_mode"] = "rgb_array"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # the user chose the version
                made = gymnasium.make(name, disable_env_checker=True, **options)
            return with_spaces(made, self.id)
        except RpdError:
            raise
        except (gymnasium.error.DependencyNotInstalled, ImportError) as error:
            missing = getattr(error, "name", None)
            hint = f": pip install {missing}" if missing else ""
            raise ComponentError(f"{self.id} lacks a package: {one_line(error)}{hint}") from error
        except (Exception, SystemExit) as error:  # an environment may raise anything
            raise SpecError(f"cannot make {self.id!r}: {one_line(error)}") from error


@dataclass(frozen=True)
class PythonEnvironment:
    """A factory of your own, `python:module:factory`."""

    factory: str | Callable[..., Any]
    """`module:attribute`, searched from the working directory, too; or a function."""
    max_steps: int | None = None
    """Steps after which an episode ends; none: the environment's own limit."""
    kwargs: tuple[str, ...] = ()
    """Arguments of the factory, for example `kwargs=size=8+slippery=false`."""
    rebuild: bool | None = None
    """Make the environment anew for every episode, with chance of its own; none: after a trial."""

    def task(self) -> Task:
        """Give general settings."""
        with closed(self._make()) as env:
            return general_task(env, step_cap(env, self.max_steps, self._name()))

    def open(self, opening: Opening) -> Lanes:
        """Make the lanes; pictures need a factory that asks for them itself."""
        name = self._name()
        care = care_for(self._make, name) if self.rebuild is None else Care.told(self.rebuild)
        return GymLanes(care.of(self._make), opening.lanes, name, care.rebuild)

    def sources(self) -> tuple[Path, ...]:
        """Give the file that the factory is written in: another text is another environment."""
        return source_of(self.factory)

    def _name(self) -> str:
        if isinstance(self.factory, str):
            return self.factory
        return str(getattr(self.factory, "__qualname__", "the environment"))

    def _make(self) -> Env:
        try:
            env: Env = self._factory()(**read_options(self.kwargs))
        except RpdError:
            raise
        except (Exception, SystemExit) as error:  # a factory may raise anything
            raise SpecError(f"{self._name()} makes no environment: {one_line(error)}") from error
        if not isinstance(env, gymnasium.Env):
            raise SpecError(f"{self._name()} must give a gymnasium.Env, got {type(env).__name__}")
        return with_spaces(env, self._name())

    def _factory(self) -> Callable[..., Any]:
        if not isinstance(self.factory, str):
            return self.factory
        found: Callable[..., Any] = import_attribute(self.factory)
        return found
