"""Fit what must be fitted before the first mutant episode, from episodes of the policy alone."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rpd_core.config.configuration import RunConfig, short_digest
from rpd_core.errors import EpisodeError, StoreError
from rpd_core.play.actions import random_actions
from rpd_core.play.chance import Phase, episode_keys
from rpd_core.play.loop import Plan, Player, Recipe, Step
from rpd_core.plugin.chain import Chain, opened
from rpd_core.plugin.protocols import (
    Choice,
    DefaultActor,
    Environment,
    Facts,
    FitSample,
    Policy,
    PolicyLoader,
)

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, Batch

FIT_EPISODES = 64
"""Episodes of the original policy that components are fitted on."""
FIT_BYTES = 512 * 2**20
"""Most memory that the sample of observations may take; beyond it, steps are thinned."""


@dataclass(frozen=True)
class RandomPlay:
    """Plays every step at random; also the reference where a task gives none."""

    def load(self, facts: Facts) -> Policy:
        """Fit the action space."""
        space = facts.action_space
        return lambda seen: Choice(random_actions(space, seen.draws))


def needs_fit(recipe: Recipe) -> bool:
    """Tell whether any abstraction must learn something first."""
    return any(hasattr(link, "fit") for link in links_of(recipe))


def fit(recipe: Recipe, config: RunConfig) -> Recipe:
    """Give the recipe with its abstractions fitted, each on what the ones before it give."""
    sample = sample_steps(recipe, config)
    fitted: list[Any] = []
    for link in links_of(recipe):
        if fitted:
            before = opened(fitted[-1], sample.facts)
            sample = dataclasses.replace(sample, values=before(sample.values, sample.views))
        fitted.append(link.fit(sample) if hasattr(link, "fit") else link)
    return dataclasses.replace(recipe, abstraction=Chain(tuple(fitted)))


def fitted_fields(recipe: Recipe) -> list[dict[str, Any] | None]:
    """Give what the abstractions have learned as JSON values; null where there is nothing to."""
    return [stored_fields(link) if hasattr(link, "fit") else None for link in links_of(recipe)]


def sealed(fitted: list[dict[str, Any] | None]) -> dict[str, Any]:
    """Give what was learned with a digest that tells whether it was changed since."""
    plain = json.loads(json.dumps(fitted))
    return {"fitted": plain, "digest": short_digest(plain)}


def unsealed(stored: Mapping[str, Any], path: Path) -> list[dict[str, Any] | None]:
    """Give what was learned as it is stored in a file; refuse it if it was changed since."""
    fitted: list[dict[str, Any] | None] = stored.get("fitted", [])
    if "digest" not in stored:
        raise StoreError(
            f"{str(path)!r} is of an older version, without a digest: start again with another "
            "--out"
        )
    if stored["digest"] != short_digest(fitted):
        raise StoreError(
            f"{str(path)!r} was changed since it was learned, and its states are not those of "
            "the stored episodes: restore it, or start again with another --out"
        )
    return fitted


def restore_fitted(chain: Chain, stored: Sequence[Mapping[str, Any] | None]) -> Chain:
    """Give the abstractions with what they had learned before."""
    pairs = zip(chain.links, stored, strict=True)
    return Chain(tuple(_restored(link, fields) for link, fields in pairs))


def _restored(link: Any, fields: Mapping[str, Any] | None) -> Any:
    if not isinstance(fields, Mapping | None):
        raise TypeError(f"what {type(link).__name__} has learned is no table of fields: {fields!r}")
    if fields is None or not hasattr(link, "fit"):
        return link
    return dataclasses.replace(link, **{name: _tuples(value) for name, value in fields.items()})


def links_of(recipe: Recipe) -> tuple[Any, ...]:
    """Give the abstractions of a recipe, in order."""
    chain = recipe.abstraction
    return tuple(chain.links) if isinstance(chain, Chain) else (chain,)


def stored_fields(link: Any) -> dict[str, Any]:
    """Give the fields of a fitted abstraction that are stored: all but the files it reads."""
    fields = {item.name: getattr(link, item.name) for item in dataclasses.fields(link)}
    return {name: value for name, value in fields.items() if not isinstance(value, Path)}


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


@dataclass(frozen=True)
class _OneState:
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
    """Give a recipe for playing a policy as it is."""
    return Recipe(
        environment, policy, _OneState(), _NoDefault(), lanes, environment.task().max_steps
    )


@dataclass
class _Sampler:
    """Collects observations and views of active lanes; drops every other step when full."""

    limit: int
    """Most bytes to keep."""
    needs: tuple[str, ...]
    """Views to keep."""
    stride: int = 1
    size: int = 0
    rows: list[tuple[int, int, Any, dict[str, Any], Any]] = field(default_factory=list)

    def __call__(self, step: Step) -> None:
        for lane in np.flatnonzero(step.active & (step.number % self.stride == 0)).tolist():
            observation = _row(step.observations, lane)
            views = {name: np.array(step.views[name][lane]) for name in self.needs}
            place = int(step.position[lane]), int(step.number[lane])
            self.rows.append((*place, observation, views, np.array(step.choice.actions[lane])))
            self.size += _bytes(observation) + sum(map(_bytes, views.values()))
        while self.size > self.limit:
            self.stride *= 2
            before = len(self.rows)
            self.rows = [row for row in self.rows if row[1] % self.stride == 0]
            self.size = self.size * len(self.rows) // max(before, 1)
            if all(row[1] == 0 for row in self.rows):  # first steps stay, however large
                break


def sample_steps(recipe: Recipe, config: RunConfig, episodes: int = FIT_EPISODES) -> FitSample:
    """Play the original policy and keep what it saw, ordered by episode and step."""
    needs = Chain(links_of(recipe)).needs
    player = Player(dataclasses.replace(recipe, abstraction=_OneState(needs)))
    index = np.arange(episodes)
    sampler = _Sampler(FIT_BYTES, needs)
    try:
        plan = Plan(index, episode_keys(config.suite.seed, Phase.FIT, index))
        player.play(plan, lambda keys, position: np.ones(len(keys), dtype=bool), sampler)
    except EpisodeError as error:
        error.add(", the policy as it is, for fitting")
        raise
    finally:
        player.close()
    rows = sorted(sampler.rows, key=lambda row: row[:2])
    return FitSample(
        values=_stack([row[2] for row in rows]),
        views={name: np.stack([row[3][name] for row in rows]) for name in needs},
        episodes=np.array([row[0] for row in rows]),
        actions=np.stack([row[4] for row in rows]),
        facts=player.facts,
        seed=config.suite.seed,
        planned_episodes=config.episodes,
        mutation_rate=config.suite.mutation_rate,
    )


def _row(batch: Batch, lane: int) -> Any:
    if isinstance(batch, dict):
        return {name: np.array(part[lane]) for name, part in batch.items()}
    return np.array(batch[lane])


def _stack(rows: list[Any]) -> Batch:
    if isinstance(rows[0], dict):
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    return np.stack(rows)


def _bytes(value: Any) -> int:
    if isinstance(value, dict):
        return sum(_bytes(part) for part in value.values())
    return int(value.nbytes)
