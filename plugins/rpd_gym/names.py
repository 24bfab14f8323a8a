"""Ids of Gymnasium: old ones, missing ones, and the packages that others come from."""

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
from rpd_core.plugin.importing import search_here

_ID = re.compile(r"(?P<name>.+?)-v(?P<version>\d+)")
_OLD_ATARI = re.compile(
    r"(?P<game>[A-Z]\w*?)(?P<ram>-ram)?(?P<frames>Deterministic|NoFrameskip|)-v(?P<version>[0-5])"
)
_STICKY = {"0": 0.25, "4": 0.0}
"""Chance that the last action is repeated, in the two versions whose ids say so."""
GROUP = "gymnasium.envs"
PACKAGES = {
    "ALE/": ("ale_py", "ale-py"),
    "MiniGrid-": ("minigrid", "minigrid"),
    "BabyAI-": ("minigrid", "minigrid"),
    "MinAtar/": ("minatar", "minatar"),
    "dm_control/": ("shimmy", "shimmy[dm-control]"),
    "procgen-": ("procgen", "procgen"),
    **dict.fromkeys(
        ("highway-", "parking-", "merge-", "intersection-", "roundabout-", "racetrack-"),
        ("highway_env", "highway-env"),
    ),
    **dict.fromkeys(
        ("Fetch", "AdroitHand", "HandReach", "HandManipulate", "PointMaze", "AntMaze", "Franka"),
        ("gymnasium_robotics", "gymnasium-robotics"),
    ),
    **dict.fromkeys(
        ("mo-", "deep-sea-treasure-", "minecart-", "four-room-", "resource-gathering-"),
        ("mo_gymnasium", "mo-gymnasium"),
    ),
}
"""Beginnings of ids, the module that registers them and the package that it comes in."""


def find_id(text: str) -> tuple[str, str]:
    """Give the id that a text means today, and a note if that is another one."""
    if _is_there(text):
        return text, ""
    module, colon, name = text.partition(":")
    if colon and module:
        import_by_name(module, text)
        return find_id(name)
    import_for(text)
    faults = () if text in gymnasium.registry else load_declared()
    if _is_there(text):
        return text, ""
    newer = _newest(text)
    if newer:
        return newer, f"{text} is gone: {newer} is used, whose dynamics may differ"
    atari = _atari_id(text)
    if atari:
        options = [f"{key}={value}" for key, value in old_options(text).items()]
        same = f" with {', '.join(options)}, as it had" if options else ""
        return atari, f"{text} is gone: {atari} is used{same}"
    found = (
        f"no environment is called {text!r}.{nearest(text, gymnasium.registry)} One that a module "
        f"of yours registers is written module:{text}."
    )
    raise SpecError(" ".join([found, *faults]))


def _is_there(text: str) -> bool:
    """Tell whether an id is registered, and not only to say that it has gone, as old MuJoCo's."""
    if text not in gymnasium.registry:
        return False
    entry = gymnasium.registry[text].entry_point
    return not (callable(entry) and getattr(entry, "__name__", "").startswith("_raise"))


def old_options(text: str) -> dict[str, Any]:
    """Give the arguments that an old id of Atari stood for and its successor must be told."""
    old = _OLD_ATARI.fullmatch(text)
    if old is None or _is_there(text) or not _atari_id(text):
        return {}
    options: dict[str, Any] = {"obs_type": "ram"} if old["ram"] else {}
    if old["version"] in _STICKY:
        slow = 3 if old["game"] == "SpaceInvaders" else 4
        skips = {"NoFrameskip": 1, "Deterministic": slow, "": (2, 5)}
        options["frameskip"] = skips[old["frames"]]
        options["repeat_action_probability"] = _STICKY[old["version"]]
    return options


def atari_note(id: str) -> str:
    """Point those who play a game of Atari as any other environment to what is made for it."""
    game = id.removeprefix("ALE/").removesuffix("-v5") if id.startswith("ALE/") else ""
    old = _OLD_ATARI.fullmatch(id)
    if old and f"ALE/{old['game']}-v5" in gymnasium.registry:
        game = old["game"]
    told = f"atari:{game} plays the game with the usual preprocessing"
    return told if game else ""


def import_by_name(module: str, text: str) -> None:
    """Import a module of the user's that registers an id, or say what is wrong with it."""
    search_here()
    try:
        importlib.import_module(module)
    except ImportError as error:
        itself = f"{module}.".startswith(f"{error.name}.")
        hint = f": pip install {error.name}" if error.name and not itself else ""
        told = f"cannot import {module} for {text}: {one_line(error)}{hint}"
        raise ComponentError(told) from error
    except (Exception, SystemExit) as error:  # a module may raise anything
        raise ComponentError(f"cannot import {module} for {text}: {one_line(error)}") from error


def import_for(text: str) -> None:
    """Import what registers an id, or say which package to install."""
    for beginning, (module, package) in PACKAGES.items():
        if not text.startswith(beginning):
            continue
        if importlib.util.find_spec(module) is None:
            raise ComponentError(f"{text} comes with another package: pip install {package}")
        _register(module)
        return
    if _OLD_ATARI.fullmatch(text) and importlib.util.find_spec("ale_py"):
        _register("ale_py")


@functools.cache
def load_declared() -> tuple[str, ...]:
    """Load what installed packages declare for Gymnasium, and say which of them failed.

    A package names a function that registers its environments in the entry point group
    `gymnasium.envs`, under their namespace or `__root__` (some put the latter into the group's
    name). Gymnasium itself stopped reading these with version 1.0; the packages remain.
    """
    faults = []
    found = [*entry_points(group=GROUP), *entry_points(group=f"{GROUP}.__root__")]
    for point in sorted(found, key=lambda one: one.value):
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


def _register(name: str) -> None:
    module = importlib.import_module(name)
    gymnasium.register_envs(module)
    if name == "ale_py":  # or it would print a banner
        module.ALEInterface.setLoggerMode(module.LoggerMode.Error)


def _newest(text: str) -> str:
    """Give the newest id of the same name, if the one asked for is older."""
    asked = _ID.fullmatch(text)
    if not asked:
        return ""
    found = [match for known in gymnasium.registry if (match := _ID.fullmatch(known))]
    versions = [int(match["version"]) for match in found if match["name"] == asked["name"]]
    if not versions or int(asked["version"]) > max(versions):
        return ""
    return f"{asked['name']}-v{max(versions)}"


def _atari_id(text: str) -> str:
    match = _OLD_ATARI.fullmatch(text)
    today = f"ALE/{match['game']}-v5" if match else ""
    return today if today in gymnasium.registry else ""
