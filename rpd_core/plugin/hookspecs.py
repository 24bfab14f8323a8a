"""The hooks: what a plugin may offer.

A plugin is a module named by an entry point of group `rpd`. It implements any of these hooks with
`hookimpl`; each takes no argument and returns a list of `Component` records: a name, the lazy
`module:attribute` of its target, a summary in one line, and what must be installed for it.

    from rpd_core import Component, hookimpl

    @hookimpl
    def rpd_measures() -> list[Component]:
        return [Component("lift", "rpd_lift_measure:Lift", "How much mutation lifts failure")]

A target is a frozen dataclass whose fields are its parameters (a command's is a function). What it
must be able to do is the protocol named with each hook, in `rpd_core.plugin.protocols`. A plugin
may state `RPD_API`, the version of this contract that it was written for; without it, version 1 is
meant.
"""

from __future__ import annotations

from dataclasses import dataclass

import pluggy

from rpd_core.plugin import protocols
from rpd_core.plugin.protocols import Component

API_VERSION = 1
"""Raised only when a plugin written for the version before would no longer work."""

ENTRY_POINT_GROUP = "rpd"

hookspec = pluggy.HookspecMarker("rpd")
hookimpl = pluggy.HookimplMarker("rpd")


@hookspec
def rpd_environments() -> list[Component]:
    """Return environments: each describes its task and opens a batch of lanes (`Environment`)."""
    return []


@hookspec
def rpd_policy_loaders() -> list[Component]:
    """Return policy loaders: from a file or a name to a policy of a batch (`PolicyLoader`)."""
    return []


@hookspec
def rpd_abstractions() -> list[Component]:
    """Return abstractions: from a batch of observations to abstract states (`Abstraction`)."""
    return []


@hookspec
def rpd_default_actions() -> list[Component]:
    """Return default actions: what is done instead of the policy's action (`DefaultAction`)."""
    return []


@hookspec
def rpd_measures() -> list[Component]:
    """Return measures: from evidence to one score per state (`Measure`)."""
    return []


@hookspec
def rpd_conditions() -> list[Component]:
    """Return conditions: from episodes to weights, 1 for passed and 0 for failed (`Condition`)."""
    return []


@hookspec
def rpd_executors() -> list[Component]:
    """Return executors: who does items of work, on this machine or on others (`Executor`)."""
    return []


@hookspec
def rpd_panels() -> list[Component]:
    """Return panels: what only one environment can show on the page of a run (`Panel`)."""
    return []


@hookspec
def rpd_commands() -> list[Component]:
    """Return commands of `rpd`: Typer functions, each listed in a group of the help (`Command`)."""
    return []


@dataclass(frozen=True)
class Kind:
    """A kind of component."""

    name: str
    """The word in messages, `rpd describe` and `rpd list-plugins`."""
    hook: str
    """The hook that offers components of this kind."""
    protocol: type
    """What a recipe of this kind must be able to do."""
    method: str
    """The method that the protocol asks for, to be named where it is missing."""
    short_form: bool = False
    """Whether specs may be written as a comparison, `return>=200`."""


KINDS = {kind.name: kind for kind in (
    Kind("environment", "rpd_environments", protocols.Environment, "task() and open(opening)"),
    Kind("policy", "rpd_policy_loaders", protocols.PolicyLoader, "load(facts)"),
    Kind("abstraction", "rpd_abstractions", protocols.Abstraction, "__call__(values, views)"),
    Kind("default-action", "rpd_default_actions", protocols.DefaultAction, "open(facts)"),
    Kind("measure", "rpd_measures", protocols.Measure, "__call__(evidence)"),
    Kind("condition", "rpd_conditions", protocols.Condition, "__call__(episodes)", short_form=True),
    Kind("executor", "rpd_executors", protocols.Executor, "open(workers)"),
    Kind("panel", "rpd_panels", protocols.Panel, "title, applies(about) and draw(view)"),
    Kind("command", "rpd_commands", protocols.Command, "a call with its options as keywords"),
)}  # fmt: skip
"""Every kind by its name, in the order in which they are listed."""
KIND_OF_PROTOCOL = {kind.protocol: kind for kind in KINDS.values()}
"""The kind that a field annotated with a protocol takes a nested spec of."""
