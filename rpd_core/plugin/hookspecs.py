"""The hooks: one for each kind of component, made from the table of kinds.

A plugin is a module named by an entry point of group `rpd`. It implements any of the hooks with
`hookimpl`; each takes no argument and returns a list of `Component` records. It may state
`RPD_API`, the version of this contract that it was written for; without it, version 1 is meant.
"""

from __future__ import annotations

from collections.abc import Callable

import pluggy

from rpd_core.plugin.kinds import KINDS
from rpd_core.plugin.protocols import Component

API_VERSION = 1
"""Raised only when a plugin written for the version before would no longer work."""

ENTRY_POINT_GROUP = "rpd"

hookspec = pluggy.HookspecMarker("rpd")
hookimpl = pluggy.HookimplMarker("rpd")


def specifications() -> type:
    """Return a class that holds the hook specifications, one for each kind."""
    hooks = {kind.hook: staticmethod(hookspec(_hook(kind.hook))) for kind in KINDS.values()}
    return type("Hooks", (), dict(hooks))


def _hook(name: str) -> Callable[[], list[Component]]:
    def hook() -> list[Component]:
        """Return the components that the plugin offers."""
        return []

    hook.__name__ = hook.__qualname__ = name
    return hook
