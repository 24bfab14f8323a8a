"""From what was asked to a resolved configuration with the components it selects."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rpd_core.config.configuration import Configuration, component_identity, holds_functions
from rpd_core.config.objects import as_function, cannot_take, fits, spelled_out, taken
from rpd_core.config.settings import (
    AUTO,
    BEST,
    STANDARD_MEASURES,
    Request,
    Settings,
    as_tuple,
    check,
    check_value,
    declared,
    recommended,
)
from rpd_core.config.trust import permitted
from rpd_core.errors import ConfigError
from rpd_core.plugin.blame import lacks_of_kind, require
from rpd_core.plugin.chain import Chain
from rpd_core.plugin.protocols.abstraction import DefaultAction
from rpd_core.plugin.protocols.environment import Environment, Task
from rpd_core.plugin.protocols.measure import Condition, Measure
from rpd_core.plugin.protocols.policy import PolicyLoader
from rpd_core.plugin.registry import Registry
from rpd_core.plugin.specs import Spec, quote

RESERVED = ("portfolio", "random", "random_best")
"""Rows of the table of thresholds that are always there."""


@dataclass(frozen=True)
class Selection:
    """A component and the text that selects it."""

    recipe: Any
    text: str


@dataclass(frozen=True)
class Setup:
    """A configuration with the components it selects."""

    config: Configuration
    task: Task
    environment: Environment
    policy: PolicyLoader
    abstraction: Chain
    default_action: DefaultAction
    condition: Condition
    measures: Mapping[str, Measure]
    """By the name of each, its spec."""

    def components(self) -> list[tuple[str, object]]:
        """Return (kind, recipe) of everything that decides what happens in an episode."""
        return [
            ("environment", self.environment),
            ("policy", self.policy),
            *(("abstraction", link) for link in self.abstraction.links),
            ("default-action", self.default_action),
        ]


def resolve(request: Request, registry: Registry, trust: bool = False) -> Setup:
    """Fill a request with the task's recommendations, make its components, check every number."""
    if request.env is None:
        raise ConfigError("no environment given: name one, for example cartpole")
    check_names(request, registry)
    environment = choose(registry, "environment", request.env)
    task: Task = environment.recipe.task()
    values = recommended(task, request)
    open_rate = values["mutation_rate"] == AUTO
    if open_rate:
        values["mutation_rate"] = task.mutation_rate
    wanted = request.policy if request.policy is not None else task.policy
    if wanted is None:
        raise ConfigError(
            f"no policy ships with {environment.text!r}: give one, for example sb3:path.zip"
        )
    policy = permitted(choose(registry, "policy", wanted), trust)
    say_which(registry, wanted, policy.text)
    default_action = permitted(choose(registry, "default-action", values["default_action"]), trust)
    links = _links(registry, as_tuple(values["abstraction"]), task)
    condition = choose(registry, "condition", values["condition"])
    list_by = choose(registry, "measure", values["list_by"])
    measures = _measures(registry, (*as_tuple(values["measures"]), list_by))
    headline, measures = _headline(registry, values["headline"], measures)
    shares = check_value("shares", as_tuple(values["shares"]))
    texts = {
        "abstraction": tuple(link.text for link in links),
        "default_action": default_action.text,
        "condition": condition.text,
        "measures": tuple(measures),
        "list_by": list_by.text,
        "headline": headline,
        "shares": tuple(sorted({float(share) for share in shares})),
    }
    settings = Settings(**{**values, **texts})
    check(settings)
    setup = Setup(
        Configuration(environment.text, policy.text, task.max_steps, settings, open_rate=open_rate),
        task,
        environment.recipe,
        policy.recipe,
        Chain(tuple(link.recipe for link in links)),
        default_action.recipe,
        condition.recipe,
        {name: measure.recipe for name, measure in measures.items()},
    )
    return dataclasses.replace(setup, config=_identified(setup, registry))


def _links(registry: Registry, wanted: tuple[object, ...], task: Task) -> list[Selection]:
    """Return the abstractions, behind those that make vectors where the first needs them."""
    if not wanted:
        raise ConfigError("abstraction must be one or more, got none: identity changes nothing")
    links = [choose(registry, "abstraction", one) for one in wanted]
    if getattr(links[0].recipe, "wants_vectors", False):
        return [*(choose(registry, "abstraction", one) for one in task.vectors), *links]
    return links


def with_rate(setup: Setup, mutation_rate: float) -> Setup:
    settings = dataclasses.replace(setup.config.settings, mutation_rate=mutation_rate)
    check(settings)
    config = dataclasses.replace(setup.config, settings=settings, open_rate=False)
    return dataclasses.replace(setup, config=config)


def with_default_action(setup: Setup, registry: Registry, text: str, trust: bool) -> Setup:
    chosen = permitted(choose(registry, "default-action", text), trust)
    settings = dataclasses.replace(setup.config.settings, default_action=chosen.text)
    config = dataclasses.replace(setup.config, settings=settings)
    changed = dataclasses.replace(setup, config=config, default_action=chosen.recipe)
    return dataclasses.replace(changed, config=_identified(changed, registry))


def check_names(request: Request, registry: Registry) -> None:
    """Refuse names that no catalogue has before anything is imported for those that are there."""
    for kind, text in specs_in(request):
        spec = spelled_out(registry, kind, text)
        registry.find(kind, registry.name_in(kind, spec), spec)


def specs_in(request: Request) -> list[tuple[str, str]]:
    """Return every component that a request names in words, as (kind, spec)."""
    chosen = [("environment", request.env), ("policy", request.policy)]
    given = request.given()
    for name, setting in declared().items():
        if setting.kind and name in given:
            several = [one for one in as_tuple(given[name]) if one not in setting.words]
            chosen += [(setting.kind, one) for one in several]
    return [(kind, one) for kind, one in chosen if isinstance(one, str)]


def _identified(setup: Setup, registry: Registry) -> Configuration:
    chain = setup.abstraction.links
    identity = {
        "env": component_identity("environment", setup.environment, registry),
        "policy": component_identity("policy", setup.policy, registry),
        "abstraction": [component_identity("abstraction", link, registry) for link in chain],
        "default_action": component_identity("default-action", setup.default_action, registry),
    }
    live = any(holds_functions(recipe) for _, recipe in setup.components())
    return dataclasses.replace(setup.config, components=identity, live=live)


def choose(registry: Registry, kind: str, chosen: object) -> Selection:
    """Return the component of a choice: a spec string, a recipe, an object, or a function."""
    if isinstance(chosen, Selection):
        return chosen
    if isinstance(chosen, Path) and kind == "policy":
        chosen = quote(str(chosen))
    if isinstance(chosen, str):
        chosen = registry.parse(kind, spelled_out(registry, kind, chosen))
    if isinstance(chosen, Spec):
        spec = registry.pinned(kind, chosen)
        recipe = registry.make(kind, spec)
        require(kind, recipe, lacks_of_kind(kind, recipe))
        return Selection(recipe, registry.text(kind, spec))
    made = taken(registry, kind, chosen)
    if made is not None:
        return Selection(made, registry.text_of(kind, made))
    function = as_function(kind, chosen)
    if function is not None:
        module, name = function.__module__, getattr(function, "__qualname__", type(chosen).__name__)
        return Selection(registry.resolve(kind, "python")(function), f"python:{module}:{name}")
    if not fits(kind, chosen):
        raise cannot_take(kind, chosen)
    return Selection(chosen, registry.text_of(kind, chosen))


def say_which(registry: Registry, wanted: object, taken: str) -> None:
    """Log which loader a bare path was given to."""
    text = str(wanted) if isinstance(wanted, str | Path) else ""
    if text and spelled_out(registry, "policy", text) != text:
        name = registry.name_in("policy", taken)
        logging.getLogger("rpd").warning("%s is read by the policy loader %r", text, name)


def _measures(registry: Registry, wanted: tuple[object, ...]) -> dict[str, Selection]:
    chosen = [choose(registry, "measure", one) for one in (*STANDARD_MEASURES, *wanted)]
    for measure in chosen:
        if measure.text in RESERVED:
            raise ConfigError(
                f"{measure.text!r} is always shown and cannot be added: for one random order "
                "write random:seed=1"
            )
    return {measure.text: measure for measure in chosen}


def _headline(
    registry: Registry, wanted: object, measures: dict[str, Selection]
) -> tuple[str, dict[str, Selection]]:
    if isinstance(wanted, str) and (wanted == BEST or wanted in measures):
        return wanted, measures
    chosen = choose(registry, "measure", wanted)
    return chosen.text, _measures(registry, (*measures.values(), chosen))
