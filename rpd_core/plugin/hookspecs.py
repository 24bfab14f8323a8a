"""The contract between rpd and its plugins: one hook per kind of component.

A plugin is a module named by an entry point of group `rpd`. It implements any of these hooks
with `hookimpl`; each takes no argument and returns a list of `Component` records. It may state
`RPD_API`, the version of this contract that it was written for; without it, version 1 is meant.
"""

from __future__ import annotations

import pluggy

from rpd_core.plugin.protocols import Component

API_VERSION = 1
"""Raised only when a plugin written for the version before would no longer work."""

ENTRY_POINT_GROUP = "rpd"

hookspec = pluggy.HookspecMarker("rpd")
hookimpl = pluggy.HookimplMarker("rpd")


@hookspec
def rpd_environments() -> list[Component]:
    """Environments; targets follow `rpd_core.plugin.protocols.Environment`."""
    return []


@hookspec
def rpd_policy_loaders() -> list[Component]:
    """Policy loaders; targets follow `rpd_core.plugin.protocols.PolicyLoader`."""
    return []


@hookspec
def rpd_abstractions() -> list[Component]:
    """Abstractions; targets follow `rpd_core.plugin.protocols.Abstraction`."""
    return []


@hookspec
def rpd_default_actions() -> list[Component]:
    """Default actions; targets follow `rpd_core.plugin.protocols.DefaultAction`."""
    return []


@hookspec
def rpd_measures() -> list[Component]:
    """Measures; targets follow `rpd_core.plugin.protocols.Measure`."""
    return []


@hookspec
def rpd_conditions() -> list[Component]:
    """Conditions; targets follow `rpd_core.plugin.protocols.Condition`."""
    return []


@hookspec
def rpd_executors() -> list[Component]:
    """Executors; targets follow `rpd_core.execute.work.Executor`."""
    return []
