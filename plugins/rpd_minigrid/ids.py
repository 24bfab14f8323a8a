"""From what people type to a registered id."""

from __future__ import annotations

import re
from collections.abc import Iterable

import gymnasium

from rpd_core.errors import SpecError, nearest

PREFIXES = ("MiniGrid-", "BabyAI-")
_VERSION = re.compile(r"-v(\d+)$")


def known_ids() -> list[str]:
    """Return the ids of all tasks that the package registers when it is imported."""
    import minigrid  # noqa: F401

    return [name for name in gymnasium.registry if name.startswith(PREFIXES)]


def full_id(text: str) -> str:
    """Return the registered id for a full or short one; of several versions the newest."""
    known = known_ids()
    if text in gymnasium.registry:
        return text
    lowered = text.lower()
    for prefix in ("", *PREFIXES):
        found = _newest(prefix.lower() + lowered, known)
        if found:
            return found
    hint = nearest(text, known) or nearest(text, {_short_id(name) for name in known})
    raise SpecError(
        f"there is no MiniGrid task {text!r}.{hint} "
        "Any registered MiniGrid or BabyAI id works, for example 'Empty-8x8'."
    )


def _newest(lowered: str, known: Iterable[str]) -> str | None:
    matching = [name for name in known if lowered in (name.lower(), _without_version(name).lower())]
    return max(matching, key=version, default=None)


def newer_id(name: str) -> str | None:
    """Return the id of a newer version of a task, if there is one."""
    newest = _newest(_without_version(name).lower(), known_ids())
    return newest if newest and version(newest) > version(name) else None


def _without_version(name: str) -> str:
    """Return an id without its version."""
    return _VERSION.sub("", name)


def version(name: str) -> int:
    """Return the version of an id."""
    match = _VERSION.search(name)
    return int(match.group(1)) if match else 0


def _short_id(name: str) -> str:
    """Return an id without prefix and version."""
    for prefix in PREFIXES:
        name = name.removeprefix(prefix)
    return _without_version(name)
