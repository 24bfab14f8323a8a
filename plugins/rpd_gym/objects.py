"""An environment object that lives in this process -> a recipe that makes it again for each lane.

An object whose id and arguments say all of it becomes `gym:id`. One with wrappers is made again
from its `spec`. One without a spec, or with attributes that were changed since, is copied.
"""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import cloudpickle
import gymnasium
from gymnasium.envs.registration import EnvSpec

from rpd_core.errors import ConfigError, RpdError, one_line
from rpd_core.plugin.protocols import Lanes, Opening, Task
from rpd_gym.attributes import changes, constants, fingerprint, plain_values
from rpd_gym.headless import draw_without_screen
from rpd_gym.lanes import GymLanes
from rpd_gym.lifecycle import check_spaces, closing
from rpd_gym.repeatability import chosen_safeguards
from rpd_gym.settings import general_task, read_options
from rpd_gym.step_caps import check_cap, find_cap

Env = gymnasium.Env[Any, Any]
ById = TypeVar("ById")
"""The recipe that an id makes."""
_REGISTERED_ANYWHERE = ("gymnasium", "minigrid", "ale_py")
"""Packages whose ids every process of rpd knows."""
_SHOWN = 3
"""Changed attributes that a message names."""
_FUNCTION = "hand over a function that makes it, for example lambda: MyEnv(...)"


@dataclass(frozen=True)
class _EnvironmentObject:
    """An environment object that was handed over in Python, made again for each lane."""

    known_as: str
    """How messages and stored runs name it."""
    content: str
    """What it is made of: its spec as text, or its class."""
    make: Callable[..., Env] = field(metadata={"not_identity": True})
    """Makes it again, on demand so that it can be drawn."""
    max_steps: int | None = None
    """Steps after which an episode ends; none: the environment's own limit, or a pilot's."""
    rebuild: bool | None = None
    """Make a new environment for every episode, with its own random state; none: after a trial."""

    def __post_init__(self) -> None:
        check_cap("environment", self.max_steps)

    def task(self) -> Task:
        """Return general settings."""
        with closing(self.make()) as env:
            check_spaces(env, self.known_as)
            return general_task(env, *find_cap(env, self.max_steps, self.known_as))

    def open(self, opening: Opening) -> Lanes:
        """Open the lanes."""
        safeguards = chosen_safeguards(self.rebuild, self.make, self.known_as)
        make = safeguards.apply(partial(self.make, opening.render))
        return GymLanes(make, opening.lanes, self.known_as, safeguards.rebuild)


class _Remade:
    """Makes an environment again from its spec."""

    def __init__(self, spec: EnvSpec) -> None:
        self.spec = spec

    def __call__(self, render: bool = False) -> Env:
        spec = copy.deepcopy(self.spec)
        spec.kwargs.pop("render_mode", None)
        options: dict[str, Any] = {"render_mode": "rgb_array"} if render else {}
        if render:
            draw_without_screen()
        with warnings.catch_warnings(action="ignore"):  # they came when the user made it
            made: Env = gymnasium.make(spec, disable_env_checker=True, **options)
        return made


class _Copied:
    """Makes copies of an environment as it was when it was handed over."""

    def __init__(self, env: Env) -> None:
        self.content = cloudpickle.dumps(env)

    def __call__(self, render: bool = False) -> Env:
        made: Env = pickle.loads(self.content)
        return made


def environment_of(
    env: Any, by_id: Callable[[str, int | None, tuple[str, ...]], ById]
) -> ById | _EnvironmentObject:
    """Return the recipe of an environment object, or refuse one that cannot be made again.

    `by_id` makes the recipe of id, step cap and arguments, where these say all.
    """
    if not isinstance(env, gymnasium.Env):
        raise ConfigError(
            f"{type(env).__name__} holds several environments and resets them by itself: hand over "
            "one of them, for example env.envs[0].unwrapped, or a function that makes one"
        )
    spec = _spec_of(env)
    made = None if spec is None else _remade(spec)
    if spec is None or made is None or _was_changed(env, made):
        return _copied(env)
    known = _known(spec)
    return by_id(*known) if known else _EnvironmentObject(_named(env), _written(spec), made)


def _spec_of(env: Env) -> EnvSpec | None:
    with suppress(Exception):  # of wrappers that cannot describe themselves
        return env.spec
    return None


def _remade(spec: EnvSpec) -> _Remade | None:
    """Return what makes an environment again from its spec; None: some wrapper has no record."""
    try:
        made = _Remade(spec)
        made().close()
        cloudpickle.dumps(made)
    except Exception:  # gymnasium, or a constructor, may raise anything
        return None
    return made


def _copied(env: Env) -> _EnvironmentObject:
    try:
        made = _Copied(env)
        with closing(made()) as other:
            lost = changes(plain_values(env), plain_values(other))
            content = f"{env} {fingerprint(other)}"
    except Exception as error:  # windows, sockets, emulators
        raise ConfigError(
            f"this {type(env.unwrapped).__name__} cannot be made again for other lanes and worker "
            f"processes ({one_line(error)[:200]}): {_FUNCTION}"
        ) from error
    if lost:
        raise ConfigError(
            f"this {type(env.unwrapped).__name__} was changed after it was made "
            f"({', '.join(lost[:_SHOWN])}), and one that is made again would not be: {_FUNCTION}"
        )
    return _EnvironmentObject(_named(env), content, made)


def _named(env: Env) -> str:
    """Return the class of an environment, or of its outermost wrapper, as text that is stored."""
    kind = type(env)
    return f"python:{kind.__module__}:{kind.__qualname__}"


def _known(spec: EnvSpec) -> tuple[str, int | None, tuple[str, ...]] | None:
    """Return id, step cap and arguments of an environment, where these say all of it."""
    known = gymnasium.registry.get(spec.id)
    if known is None or spec.additional_wrappers or not isinstance(known.entry_point, str):
        return None
    if known.entry_point != spec.entry_point:
        return None
    if known.entry_point.partition(":")[0].partition(".")[0] not in _REGISTERED_ANYWHERE:
        return None
    given = {
        key: value
        for key, value in spec.kwargs.items()
        if key != "render_mode" and (key not in known.kwargs or known.kwargs[key] != value)
    }
    items = tuple(f"{key}={_option(value)}" for key, value in given.items())
    if any("+" in item for item in items) or _read(items) != given:
        return None
    limit = spec.max_episode_steps
    return spec.id, limit if limit != known.max_episode_steps else None, items


def _option(value: Any) -> str:
    return value if isinstance(value, str) else str(value).lower() if value is None else repr(value)


def _read(items: tuple[str, ...]) -> dict[str, Any] | None:
    """Return arguments as they would be read again; None: they would not."""
    with suppress(RpdError):
        return read_options(items)
    return None


def _written(spec: EnvSpec) -> str:
    """Return what an environment is made of as text: the same for the same environment."""
    wrappers = [f"{one.entry_point}({one.kwargs!r})" for one in spec.additional_wrappers]
    return f"{spec.id} {spec.kwargs!r} {spec.max_episode_steps} {' '.join(wrappers)}"


def _was_changed(env: Env, make: _Remade) -> bool:
    """Return whether an attribute was set since the object was made, for all that can be seen."""
    with closing(make()) as other:
        made = plain_values(other)
        lasting = constants(other)
    expected = {name: value for name, value in made.items() if lasting.get(name) == repr(value)}
    return bool(changes(plain_values(env), expected))
