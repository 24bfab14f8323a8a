"""Ids of Gymnasium: old ones, missing ones, and the packages that others come from."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import re
import warnings
from importlib.metadata import EntryPoint, entry_points

import gymnasium
from gymnasium.envs import registration

from rpd_core.errors import ComponentError, SpecError, nearest, one_line
from rpd_core.importing import search_here

_ID = re.compile(r"(?P<name>.+?)-v(?P<version>\d+)")
_OLD_ATARI = re.compile(r"(?P<game>[A-Z]\w*?)(?:-ram)?(?:Deterministic|NoFrameskip)?-v[0-5]")
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
    module, colon, _ = text.partition(":")
    if colon and module:
        search_here()
        return text, ""  # Gymnasium imports the module itself
    import_for(text)
    faults = () if text in gymnasium.registry else load_declared()
    if _is_there(text):
        return text, ""
    newer = _newest(text)
    if newer:
        return newer, f"{text} is gone: {newer} is used, whose dynamics may differ"
    atari = _atari_id(text)
    if atari:
        game = atari.removeprefix("ALE/").removesuffix("-v5")
        what = "with obs_type=ram" if old_options(text) else f"atari:{game} has the preprocessing"
        return atari, f"{text} is gone: {atari} is used; {what}"
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


def old_options(text: str) -> dict[str, str]:
    """Give the arguments that an old id stood for and its successor must be told."""
    return {"obs_type": "ram"} if _OLD_ATARI.fullmatch(text) and "-ram" in text else {}


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
