"""What a worker needs to play episodes: components, light and picklable, opened where used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rpd_core.config.objects import advised
from rpd_core.config.resolve import Setup
from rpd_core.play import heartbeat
from rpd_core.plugin.blame import a_kind, blamed, gave_instead, refuse, require
from rpd_core.plugin.chain import links_of
from rpd_core.plugin.protocols.abstraction import Abstraction, DefaultAction, DefaultActor
from rpd_core.plugin.protocols.arrays import Array, Batch
from rpd_core.plugin.protocols.environment import Environment, Facts, Lanes, Opening
from rpd_core.plugin.protocols.policy import Choice, Policy, PolicyLoader
from rpd_core.untrusted.boundary import LOAD_TIMEOUT


@dataclass(frozen=True)
class Recipe:
    """All that a worker needs to play episodes."""

    environment: Environment
    policy: PolicyLoader
    abstraction: Abstraction
    default_action: DefaultAction
    lanes: int
    max_steps: int
    render: bool = False
    """Whether episodes will be drawn."""
    load_timeout: float = LOAD_TIMEOUT
    """Seconds that the policy may take to be loaded, and that of the default action."""
    names: tuple[str, ...] = ()
    """What the user calls the entries of observations; none: as the environment does."""

    @property
    def links(self) -> tuple[Abstraction, ...]:
        return links_of(self.abstraction)

    def components(self) -> Iterator[tuple[str, object]]:
        """Yield (kind, recipe) of everything that takes part."""
        yield "environment", self.environment
        yield "policy", self.policy
        for link in self.links:
            yield "abstraction", link
        yield "default-action", self.default_action


def recipe_of(setup: Setup) -> Recipe:
    """Return the recipe of a run's mutant and pruned episodes."""
    return Recipe(
        setup.environment,
        setup.policy,
        setup.abstraction,
        setup.default_action,
        setup.config.settings.lanes,
        setup.config.max_steps,
        load_timeout=setup.config.settings.load_timeout,
        names=setup.config.settings.names,
    )


@dataclass(frozen=True)
class OneState:
    """Stands in for the abstraction while there is none: every step is the same state."""

    needs: tuple[str, ...] = ()

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        first = next(iter(values.values())) if isinstance(values, dict) else values
        return np.zeros((len(first), 1), dtype=np.uint8)


@dataclass(frozen=True)
class _NoDefault:
    """Stands in for the default action where the policy decides at every step."""

    def open(self, facts: Facts) -> DefaultActor:
        return lambda moment: moment.previous


def policy_alone(environment: Environment, policy: PolicyLoader, lanes: int) -> Recipe:
    return Recipe(
        environment, policy, OneState(), _NoDefault(), lanes, environment.task().max_steps
    )


def in_place_of(recipe: Recipe, policy: PolicyLoader, lanes: int) -> Recipe:
    """Return a recipe in which another policy plays alone, in at most so many lanes."""
    alone = replace(recipe, policy=policy, abstraction=OneState(), default_action=_NoDefault())
    return replace(alone, lanes=min(lanes, recipe.lanes))


def opened_lanes(recipe: Recipe, views: tuple[str, ...]) -> Lanes:
    environment = recipe.environment
    with blamed("environment", environment, "open()"):
        lanes = environment.open(Opening(recipe.lanes, views, recipe.render))
    require("environment", environment, gave_instead("failed: open()", lanes, Lanes))
    return lanes


def loaded_policy(recipe: Recipe, facts: Facts) -> Policy:
    with (
        heartbeat.loading(recipe.load_timeout),
        blamed("policy", recipe.policy, "load()"),
        advised(recipe.policy),
    ):
        policy = recipe.policy.load(facts)
    require("policy", recipe.policy, gave_instead("failed: load()", policy, Policy))
    return policy


def opened_default(recipe: Recipe, facts: Facts) -> DefaultActor:
    kind, default = "default-action", recipe.default_action
    with heartbeat.loading(recipe.load_timeout), blamed(kind, default, "open()"):
        act: Any = default.open(facts)
    if not callable(act):
        wrong = f"failed: open() gave {a_kind(act)} where a function of a Moment is needed"
        refuse(kind, default, wrong)
    actor: DefaultActor = act
    return actor


def check_choice(recipe: Recipe, choice: object) -> None:
    if not isinstance(choice, Choice):
        refuse("policy", recipe.policy, f"gave {a_kind(choice)} where a Choice is needed")
