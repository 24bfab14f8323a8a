"""Any Gymnasium environment: by its id, or by a factory of the user's own."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium

from rpd_core.errors import ComponentError, RpdError, SpecError, nearest, one_line
from rpd_core.plugin.importing import (
    import_attribute,
    source_of,
    working_directory_searched,
)
from rpd_core.plugin.protocols import Environment, Lanes, Opening, Task, further
from rpd_gym.classic import CLASSIC_LANES, KINDS, ClassicLanes, classic_dynamics
from rpd_gym.classic_dynamics import Dynamics
from rpd_gym.headless import draw_without_screen
from rpd_gym.lanes import GymLanes
from rpd_gym.lifecycle import check_spaces, closing
from rpd_gym.names import atari_note, find_id, old_options
from rpd_gym.objects import environment_of
from rpd_gym.repeatability import chosen_safeguards
from rpd_gym.settings import general_task, read_options
from rpd_gym.step_caps import check_cap, find_cap

Env = gymnasium.Env[Any, Any]

_PARAMETERS = ("max_steps", "rebuild")
"""What a key that reaches an environment may have been meant for."""


def _refuse_unknown_argument(
    error: BaseException, options: dict[str, Any], name: str, maker: Callable[[], Any]
) -> None:
    """Raise in our words where an environment was given an argument that it does not take.

    `maker` returns the class or function that takes the arguments.
    """
    unknown = re.search(r"unexpected keyword argument '(\w+)'", str(error))
    if isinstance(error, TypeError) and unknown and unknown[1] in options:
        key = unknown[1]
        hint = nearest(key, (*_PARAMETERS, *_arguments(maker)))
        raise SpecError(f"{name} takes no argument {key!r}: leave {key}= out.{hint}") from error


def _maker_of(name: str) -> Any:
    """Return what Gymnasium calls to make an environment."""
    point = gymnasium.spec(name).entry_point
    return gymnasium.envs.registration.load_env_creator(point) if isinstance(point, str) else point


def _arguments(maker: Callable[[], Any]) -> list[str]:
    """Return the names of the arguments that an environment takes, as far as it tells."""
    try:
        return [*inspect.signature(maker()).parameters]
    except Exception:  # a suggestion is not worth an error; a stranger's may raise anything
        return []


@dataclass(frozen=True)
class GymEnvironment:
    """Any registered Gymnasium environment, for example `gym:Acrobot-v1`."""

    id: str
    """The id that `gymnasium.make` takes; `module:id` imports the module first."""
    max_steps: int | None = None
    """Steps after which an episode ends; none: the environment's own limit, or a pilot's."""
    kwargs: tuple[str, ...] = further()
    """Arguments of the environment: every other key, for example `continuous=true`."""
    rebuild: bool | None = None
    """Make a new environment for every episode, with its own random state; none: after a trial."""

    def __post_init__(self) -> None:
        check_cap("gym", self.max_steps)

    @property
    def runs_code(self) -> bool:
        """Whether the id names a module to import."""
        return ":" in self.id

    @classmethod
    def from_object(cls, thing: Any, save: Callable[[str, bytes], Path]) -> Any:
        """Return the recipe of an environment object: this one where its id says all of it."""
        return environment_of(thing, cls)

    def task(self) -> Task:
        """Return general settings."""
        name, note = find_id(self.id)
        with closing(self._make()) as env:
            cap, said = find_cap(env, self.max_steps, self.id)
            notes = (note, atari_note(name), *said)
            task = general_task(env, cap, tuple(note for note in notes if note))
            ours = name in KINDS and not self.kwargs and not self.rebuild
            return replace(task, lanes=CLASSIC_LANES, chunk=2 * CLASSIC_LANES) if ours else task

    def open(self, opening: Opening) -> Lanes:
        """Open the lanes: our own where they play the same, or one environment each."""
        dynamics = self._dynamics()
        if dynamics is not None:
            draw = partial(self._make, opening.render)
            return ClassicLanes(dynamics, draw, opening.lanes, self.id)
        safeguards = chosen_safeguards(self.rebuild, self._make, self.id)
        make = safeguards.apply(partial(self._make, opening.render))
        return GymLanes(make, opening.lanes, self.id, safeguards.rebuild)

    def _dynamics(self) -> Dynamics | None:
        """Return the dynamics for all lanes at once, where the environment is as registered."""
        if self.kwargs or self.rebuild:
            return None
        return classic_dynamics(find_id(self.id)[0], self._make)

    def _imports(self) -> AbstractContextManager[None]:
        """Return a context for imports: what a user's module registers may lie beside it."""
        return working_directory_searched() if self.runs_code else nullcontext()

    def _make(self, render: bool = False) -> Env:
        name, _ = find_id(self.id)
        options = {**old_options(self.id), **read_options(self.kwargs)}
        if self.max_steps:
            options["max_episode_steps"] = self.max_steps
        if render:
            draw_without_screen()
            options["render_mode"] = "rgb_array"
        try:
            with warnings.catch_warnings(), self._imports():
                warnings.simplefilter("ignore", DeprecationWarning)  # the user chose the version
                env: Env = gymnasium.make(name, disable_env_checker=True, **options)
            check_spaces(env, self.id)
            return env
        except RpdError:
            raise
        except (gymnasium.error.DependencyNotInstalled, ImportError) as error:
            missing = getattr(error, "name", None)
            hint = f": pip install {missing}" if missing else ""
            raise ComponentError(f"{self.id} lacks a package: {one_line(error)}{hint}") from error
        except (Exception, SystemExit) as error:  # an environment may raise anything
            _refuse_unknown_argument(error, options, self.id, lambda: _maker_of(name))
            raise SpecError(f"cannot make {self.id!r}: {one_line(error)}") from error


@dataclass(frozen=True)
class PythonEnvironment:
    """A factory of your own, `python:module:factory`."""

    factory: str | Callable[..., Any]
    """`module:attribute`, searched from the working directory, too; or a function. What it returns
    is a Gymnasium environment; or it is a class with `task` and `open`, which makes lanes."""
    max_steps: int | None = None
    """Steps after which an episode ends; none: the environment's own limit, or a pilot's."""
    kwargs: tuple[str, ...] = further()
    """Arguments of the factory: every other key, for example `slippery=false`."""
    rebuild: bool | None = None
    """Make a new environment for every episode, with its own random state; none: after a trial."""

    def __post_init__(self) -> None:
        check_cap("python", self.max_steps)

    @property
    def runs_code(self) -> bool:
        """Whether a module of the user's is imported: always."""
        return True

    def task(self) -> Task:
        """Return general settings, or those of a class that makes lanes itself."""
        recipe = self._recipe()
        if recipe is not None:
            task = recipe.task()
            return replace(task, max_steps=self.max_steps) if self.max_steps else task
        with closing(self._make()) as env:
            return general_task(env, *find_cap(env, self.max_steps, self._name()))

    def open(self, opening: Opening) -> Lanes:
        """Open the lanes; pictures need a factory that asks for them itself."""
        recipe, name = self._recipe(), self._name()
        if recipe is not None:
            return recipe.open(opening)
        safeguards = chosen_safeguards(self.rebuild, self._make, name)
        return GymLanes(safeguards.apply(self._make), opening.lanes, name, safeguards.rebuild)

    def sources(self) -> tuple[Path, ...]:
        """Return the file that the factory is written in: another text is another environment."""
        return source_of(self.factory)

    def _name(self) -> str:
        if isinstance(self.factory, str):
            return self.factory
        return str(getattr(self.factory, "__qualname__", "the environment"))

    def _recipe(self) -> Environment | None:
        """Return the recipe, if the factory is a class of those, which make lanes themselves."""
        kind: Any = self._factory()
        if not isinstance(kind, type) or issubclass(kind, gymnasium.Env):
            return None
        if not issubclass(kind, Environment):
            return None
        if self.rebuild is not None:
            raise SpecError(f"{self._name()} makes lanes itself: leave rebuild= out")
        recipe: Environment = self._made()
        return recipe

    def _make(self) -> Env:
        env = self._made()
        if not isinstance(env, gymnasium.Env):
            raise SpecError(f"{self._name()} must return a gymnasium.Env, got {type(env).__name__}")
        check_spaces(env, self._name())
        return env

    def _made(self) -> Any:
        try:
            with working_directory_searched():  # a factory may import what lies beside it
                return self._factory()(**read_options(self.kwargs))
        except RpdError:
            raise
        except (Exception, SystemExit) as error:  # a factory may raise anything
            given = read_options(self.kwargs)
            _refuse_unknown_argument(error, given, self._name(), self._factory)
            raise SpecError(
                f"{self._name()} does not make an environment: {one_line(error)}"
            ) from error

    def _factory(self) -> Callable[..., Any]:
        if not isinstance(self.factory, str):
            return self.factory
        factory: Callable[..., Any] = import_attribute(self.factory)
        return factory
