"""Recipes opened into what works for them, and refused in one line where that cannot work."""

from __future__ import annotations

from typing import Any

from rpd_core.play.recipe import Recipe
from rpd_core.plugin.blame import a_kind, blamed, gave_instead, refuse, require
from rpd_core.plugin.protocols import (
    Choice,
    DefaultActor,
    Facts,
    Lanes,
    Opening,
    Policy,
)


def opened_lanes(recipe: Recipe, views: tuple[str, ...]) -> Lanes:
    """Open the environment."""
    environment = recipe.environment
    with blamed("environment", environment, "open()"):
        lanes = environment.open(Opening(recipe.lanes, views, recipe.render))
    require("environment", environment, gave_instead("failed: open()", lanes, Lanes))
    return lanes


def loaded_policy(recipe: Recipe, facts: Facts) -> Policy:
    """Load the policy."""
    with blamed("policy", recipe.policy, "load()"):
        policy = recipe.policy.load(facts)
    require("policy", recipe.policy, gave_instead("failed: load()", policy, Policy))
    return policy


def opened_default(recipe: Recipe, facts: Facts) -> DefaultActor:
    """Open the default action."""
    with blamed("default-action", recipe.default_action, "open()"):
        act: Any = recipe.default_action.open(facts)
    if not callable(act):
        refuse(
            "default-action",
            recipe.default_action,
            f"failed: open() gave {a_kind(act)} where a function of a Moment is needed",
        )
    actor: DefaultActor = act
    return actor


def check_choice(recipe: Recipe, choice: object) -> None:
    """Refuse what a policy gave if it is not a `Choice`."""
    if not isinstance(choice, Choice):
        refuse("policy", recipe.policy, f"gave {a_kind(choice)} where a Choice is needed")
