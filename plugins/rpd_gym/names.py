"""Ids of Gymnasium: old ones, missing ones, and those that other packages register."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import re
import warnings
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import gymnasium
from gymnasium.envs import registration

from rpd_core.errors import ComponentError, SpecError, nearest, one_line
from rpd_core.plugin.importing import working_directory_searched
from rpd_gym.registering import module_that_registers

_ID = re.compile(r"(?P<name>.+?)-v(?P<version>\d+)")
_OLD_ATARI = re.compile(
    r"(?P<game>[A-Z]\w*?)(?P<ram>-ram)?(?P<frames>Deterministic|NoFrameskip|)-v(?P<version>[0-5])"
)
_STICKY = {"0": 0.25, "4": 0.0}
"""Chance that the last action is repeated, in the two versions whose ids say so."""
GROUP = "gymnasium.envs"
_DEPENDENCIES = ("ale_py", "minigrid")
"""Packages that rpd itself depends on; their ids need no module in front."""


def find_id(text: str) -> tuple[str, str]:
    """Return the registered id that a text means, and a note if that is another one."""
    if _is_registered(text):
        return text, ""
    module, colon, name = text.partition(":")
    if colon and module:
        _import_by_name(module, text)
        return find_id(name)
    faults: tuple[str, ...] = ()
    if text not in gymnasium.registry:
        _register_dependencies()
        faults = () if text in gymnasium.registry else _load_declared()
    if _is_registered(text):
        return text, ""
    return _successor(text) or _refuse(text, faults)


def _successor(text: str) -> tuple[str, str] | None:
    """Return the id that replaces an old one, with a note, if there is one."""
    newer = _newest(text)
    if newer:
        return newer, f"{text} is gone: {newer} is used, whose dynamics may differ"
    atari = _atari_id(text)
    if atari:
        options = [f"{key}={value}" for key, value in old_options(text).items()]
        same = f" with {', '.join(options)}, as it had" if options else ""
        return atari, f"{text} is gone: {atari} is used{same}"
    return None


def _refuse(text: str, faults: tuple[str, ...]) -> tuple[str, str]:
    module = module_that_registers(text)
    if module:
        raise SpecError(f"{text!r} is registered by {module}: write gym:{module}:{text}")
    hint = nearest(text, gymnasium.registry)
    advice = "install the package that registers it and name its module"
    advice = f"Otherwise {advice}" if hint else advice.capitalize()
    message = f"no environment is called {text!r}.{hint} {advice}: gym:module:{text}"
    raise SpecError(" ".join([message, *faults]))


def _is_registered(text: str) -> bool:
    """Return whether an id can be made; some old ones of MuJoCo are there only to raise."""
    if text not in gymnasium.registry:
        return False
    entry = gymnasium.registry[text].entry_point
    return not (callable(entry) and getattr(entry, "__name__", "").startswith("_raise"))


def old_options(text: str) -> dict[str, Any]:
    """Return the arguments that an old Atari id implied and its successor needs explicitly."""
    old = _OLD_ATARI.fullmatch(text)
    if old is None or _is_registered(text) or not _atari_id(text):
        return {}
    options: dict[str, Any] = {"obs_type": "ram"} if old["ram"] else {}
    if old["version"] in _STICKY:
        slow = 3 if old["game"] == "SpaceInvaders" else 4
        skips = {"NoFrameskip": 1, "Deterministic": slow, "": (2, 5)}
        options["frameskip"] = skips[old["frames"]]
        options["repeat_action_probability"] = _STICKY[old["version"]]
    return options


def atari_note(id: str) -> str:
    """Return a pointer to the Atari plugin if the id is an Atari game, else nothing."""
    game = id.removeprefix("ALE/").removesuffix("-v5") if id.startswith("ALE/") else ""
    old = _OLD_ATARI.fullmatch(id)
    if old and f"ALE/{old['game']}-v5" in gymnasium.registry:
        game = old["game"]
    return f"atari:{game} plays the game with the usual preprocessing" if game else ""


def _import_by_name(module: str, text: str) -> None:
    """Import a module of the user's that registers an id, or explain what is wrong with it."""
    try:
        with working_directory_searched():
            importlib.import_module(module)
    except ImportError as error:
        itself = f"{module}.".startswith(f"{error.name}.")
        hint = f": pip install {error.name}" if error.name and not itself else ""
        message = f"cannot import {module} for {text}: {one_line(error)}{hint}"
        raise ComponentError(message) from error
    except (Exception, SystemExit) as error:  # a module may raise anything
        raise ComponentError(f"cannot import {module} for {text}: {one_line(error)}") from error


@functools.cache
def _load_declared() -> tuple[str, ...]:
    """Load what installed packages declare for Gymnasium; return a line for each that failed.

    A package names a function that registers its environments in the entry point group
    `gymnasium.envs`, under their namespace or `__root__` (some put the latter into the group's
    name). Gymnasium itself stopped reading these with version 1.0; the packages remain.
    """
    faults = []
    declared = [*entry_points(group=GROUP), *entry_points(group=f"{GROUP}.__root__")]
    for point in sorted(declared, key=lambda one: one.value):
        try:
            _load(point)
        except Exception as error:
            faults.append(f"({point.value} failed: {one_line(error)})")
    return tuple(faults)


def _load(point: EntryPoint) -> None:
    before = registration.current_namespace
    # not `registration.namespace`, which stays in force after an exception
    root = point.name.startswith("__") or point.group != GROUP
    registration.current_namespace = None if root else point.name
    try:
        with warnings.catch_warnings(action="ignore"):
            declared = point.load()
            if callable(declared):
                declared()
    finally:
        registration.current_namespace = before


def _register_dependencies() -> None:
    """Register the environments of the packages that come with rpd."""
    for name in _DEPENDENCIES:
        if importlib.util.find_spec(name) is None:
            continue
        module = importlib.import_module(name)
        gymnasium.register_envs(module)
        if name == "ale_py":  # or it would print a banner
            module.ALEInterface.setLoggerMode(module.LoggerMode.Error)


def _newest(text: str) -> str:
    """Return the newest id of the same name, if the given one is older."""
    old = _ID.fullmatch(text)
    if not old:
        return ""
    known = [match for id in gymnasium.registry if (match := _ID.fullmatch(id))]
    versions = [int(match["version"]) for match in known if match["name"] == old["name"]]
    if not versions or int(old["version"]) > max(versions):
        return ""
    return f"{old['name']}-v{max(versions)}"


def _atari_id(text: str) -> str:
    match = _OLD_ATARI.fullmatch(text)
    today = f"ALE/{match['game']}-v5" if match else ""
    return today if today in gymnasium.registry else ""
