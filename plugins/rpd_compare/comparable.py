"""May two runs be compared? The same task, states and default action, each said in one line."""

from __future__ import annotations

from rpd_core.errors import ConfigError
from rpd_core.results.run import Run
from rpd_core.store.prepared import prepared_digest

_REMEDY = "play one like the other, with rpd run --like"


def refuse_incomparable(a: Run, b: Run) -> None:
    """Refuse runs whose states or episodes do not mean the same."""
    one, two = a.directory.stored(), b.directory.stored()
    pairs = {
        "tasks": ("env", one.env, two.env),
        "abstractions": (
            "abstraction",
            " + ".join(one.settings.abstraction),
            " + ".join(two.settings.abstraction),
        ),
        "default actions": (
            "default_action",
            one.settings.default_action,
            two.settings.default_action,
        ),
    }
    for what, (name, first, second) in pairs.items():
        if one.components.get(name) != two.components.get(name):
            said = f"{first} and {second}"
            if first == second:
                said = f"{first} is not the same in both: a file or a module of it has changed"
            raise ConfigError(f"the runs have different {what} ({said}): {_REMEDY}")
    if one.max_steps != two.max_steps:
        raise ConfigError(
            f"the runs have different tasks (episodes of at most {one.max_steps} and "
            f"{two.max_steps} steps): {_REMEDY}"
        )
    if prepared_digest(a.directory) != prepared_digest(b.directory):
        learned = " + ".join(one.settings.abstraction)
        raise ConfigError(
            f"the runs have different abstractions ({learned} has learned other states in each): "
            f"{_REMEDY}"
        )


def effects_differ_because(a: Run, b: Run) -> str:
    """Return why effects cannot be compared, though choices can; '' if they can."""
    one, two = a.summary, b.summary
    if one.suite.mutation_rate != two.suite.mutation_rate:
        reason = f"mutation rates {one.suite.mutation_rate:g} and {two.suite.mutation_rate:g}"
    elif one.condition != two.condition:
        reason = f"conditions {one.condition} and {two.condition}"
    else:
        return ""
    return f"Effects are not compared, because the runs have different {reason}: {_REMEDY}."
