"""The kinds of component: one row each, and all that differs between them."""

from __future__ import annotations

from dataclasses import dataclass

from rpd_core.plugin.protocols import (
    Abstraction,
    Command,
    Condition,
    DefaultAction,
    Environment,
    Executor,
    Measure,
    Panel,
    PolicyLoader,
)


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


_ROWS = (
    Kind("environment", "rpd_environments", Environment, "task() and open(opening)"),
    Kind("policy", "rpd_policy_loaders", PolicyLoader, "load(facts)"),
    Kind("abstraction", "rpd_abstractions", Abstraction, "__call__(values, views)"),
    Kind("default-action", "rpd_default_actions", DefaultAction, "open(facts)"),
    Kind("measure", "rpd_measures", Measure, "__call__(evidence)"),
    Kind("condition", "rpd_conditions", Condition, "__call__(episodes)", short_form=True),
    Kind("executor", "rpd_executors", Executor, "open(workers)"),
    Kind("panel", "rpd_panels", Panel, "title, applies(about) and draw(view)"),
    Kind("command", "rpd_commands", Command, "a call with its options as keywords"),
)
KINDS: dict[str, Kind] = {kind.name: kind for kind in _ROWS}
"""Every kind by its name, in the order in which they are listed."""
KIND_OF_PROTOCOL: dict[type, Kind] = {kind.protocol: kind for kind in _ROWS}
"""The kind that a field annotated with a protocol takes a nested spec of."""
