"""Fit what must be fitted before the suite, from the policy's episodes and trial mutants."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rpd_core.chance import Phase, episode_keys
from rpd_core.config.configuration import (
    Configuration,
    Json,
    learned_as_tuples,
    short_digest,
    stored_fields,
)
from rpd_core.errors import EpisodeError, StoreError
from rpd_core.play.actions import NoPreferenceError, random_actions
from rpd_core.play.deciders import Coin, TopStates, always
from rpd_core.play.entry_names import observed_entries
from rpd_core.play.loop import Keep, Plan, Player, Step
from rpd_core.play.recipe import OneState, Recipe
from rpd_core.plugin.chain import Chain, needs_of, opened
from rpd_core.plugin.protocols.abstraction import Abstraction, DefaultAction, FitSample
from rpd_core.plugin.protocols.arrays import Array, Batch, KeyArray
from rpd_core.plugin.protocols.environment import Facts
from rpd_core.plugin.protocols.optional import LearnsByPlaying, LearnsFromSteps
from rpd_core.plugin.protocols.policy import Choice, Policy

FIT_EPISODES = 64
"""Episodes of the original policy that components are fitted on; as many mutants where wanted."""
FIT_BYTES = 128 * 2**20
"""Most memory that the sample of observations may take; beyond it, steps are thinned."""


@dataclass(frozen=True)
class RandomPlay:
    """Plays every step at random; also the reference where a task gives none."""

    def load(self, facts: Facts) -> Policy:
        space = facts.action_space
        return lambda seen: Choice(random_actions(space, seen.draws))


def needs_fit(recipe: Recipe) -> bool:
    """Return whether an abstraction or the default action must learn something first."""
    default = recipe.default_action
    return isinstance(default, LearnsFromSteps) or any(learns(link) for link in recipe.links)


def learns(link: object) -> bool:
    return isinstance(link, LearnsFromSteps | LearnsByPlaying)


def alternative_of(link: object) -> Abstraction | None:
    """Return the abstraction that takes the place of one where the policy prefers nothing."""
    other: Abstraction | None = getattr(link, "otherwise", None)
    return other


def needs_growth(recipe: Recipe) -> bool:
    return any(isinstance(link, LearnsByPlaying) for link in recipe.links)


def fit(recipe: Recipe, config: Configuration) -> Recipe:
    """Return the recipe with its default action fitted, then its abstractions, in their order."""
    recipe, sample = _first_sample(recipe, config)
    if isinstance(recipe.default_action, LearnsFromSteps):
        recipe = dataclasses.replace(recipe, default_action=recipe.default_action.fit(sample))
        sample = sample_steps(recipe, config)  # which tells what the default does now
    entries = observed_entries(sample.facts)
    fitted: list[Abstraction] = []
    for link in recipe.links:
        if fitted:
            entries = Chain(fitted[-1:]).name_entries(entries)
            shown = () if any(entry.edges for entry in entries) else entries  # bins are no numbers
            names = tuple(entry.name for entry in shown)
            facts = dataclasses.replace(sample.facts, entry_names=names, entries=shown)
            sample = dataclasses.replace(_after(fitted[-1:], sample), facts=facts)
        fitted.append(link.fit(sample) if isinstance(link, LearnsFromSteps) else link)
        if isinstance(link, LearnsFromSteps) and getattr(link, "learns_from_mutants", False):
            mutants = _sample_mutants(with_links(recipe, fitted), config)
            fitted[-1] = link.fit(_joined(sample, _after(fitted[:-1], mutants)))
    return with_links(recipe, fitted)


def _first_sample(recipe: Recipe, config: Configuration) -> tuple[Recipe, FitSample]:
    """Return what the policy saw, and the recipe with the abstractions that this policy allows.

    Where states cannot be made of its preference, those that name an alternative give way to it.
    """
    try:
        return recipe, sample_steps(recipe, config)
    except NoPreferenceError:
        links = tuple(alternative_of(link) or link for link in recipe.links)
        if links == recipe.links:
            raise
        recipe = with_links(recipe, links)
        return recipe, sample_steps(recipe, config)


def _after(links: Sequence[Abstraction], sample: FitSample) -> FitSample:
    if not links:
        return sample
    chain = opened(Chain(tuple(links)), sample.facts)
    return dataclasses.replace(sample, values=chain(sample.values, sample.views))


def _joined(own: FitSample, mutants: FitSample) -> FitSample:
    return dataclasses.replace(
        own,
        values=_in_parts(np.concatenate, [own.values, mutants.values]),
        views=_in_parts(np.concatenate, [dict(own.views), dict(mutants.views)]),
        episodes=np.concatenate([own.episodes, mutants.episodes]),
        actions=np.concatenate([own.actions, mutants.actions]),
        defaults=np.concatenate([np.asarray(own.defaults), np.asarray(mutants.defaults)]),
        mutant=np.arange(len(own.episodes) + len(mutants.episodes)) >= len(own.episodes),
    )


def with_links(recipe: Recipe, links: Sequence[Abstraction]) -> Recipe:
    return dataclasses.replace(recipe, abstraction=Chain(tuple(links)))


def perform_fit(asked: tuple[Recipe, Configuration]) -> list[Json | None]:
    return fitted_fields(fit(*asked))


def fitted_fields(recipe: Recipe) -> list[Json | None]:
    """Return what the abstractions have learned as JSON values, null for those that cannot, and
    behind these what the default action has learned, if it can."""
    default = recipe.default_action
    own = [stored_fields(default)] if isinstance(default, LearnsFromSteps) else []
    return [*(stored_fields(link) if learns(link) else None for link in recipe.links), *own]


def sealed(fitted: list[Json | None]) -> Json:
    plain = json.loads(json.dumps(fitted))
    return {"fitted": plain, "digest": short_digest(plain)}


def unsealed(stored: Json, path: Path) -> list[Json | None]:
    """Return what was learned as it is stored in a file; refuse it if it was changed since."""
    fitted: list[Json | None] = stored.get("fitted", [])
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


def restore_fitted(chain: Chain, stored: Sequence[Mapping[str, object] | None]) -> Chain:
    count = len(chain.links)
    if len(stored) not in (count, count + 1):  # what a default action has learned comes last
        raise ValueError(f"{len(stored)} were fitted, not {count}")
    pairs = zip(chain.links, stored[:count], strict=True)
    return Chain(tuple(_restored(link, fields) for link, fields in pairs))


def restore_default(
    default: DefaultAction, links: int, stored: Sequence[Mapping[str, object] | None]
) -> DefaultAction:
    """Return a default action with what it had learned before, behind so many abstractions."""
    if not isinstance(default, LearnsFromSteps):
        return default
    if len(stored) != links + 1:
        raise ValueError(f"nothing is stored of what {type(default).__name__} has learned")
    restored: DefaultAction = _restored(default, stored[links])
    return restored


def _restored(link: object, fields: Mapping[str, object] | None) -> Any:
    if not isinstance(fields, Mapping | None):
        raise TypeError(
            f"what {type(link).__name__} has learned is not a table of fields: {fields!r}"
        )
    other = alternative_of(link)
    if other is not None and (fields is None or {*fields} != {*stored_fields(link)}):
        return _restored(other, fields)  # which has taken its place
    if fields is None or not learns(link):
        return link
    recipe: Any = link
    return dataclasses.replace(recipe, **learned_as_tuples(fields))


@dataclass
class _Sampler:
    """Collects observations and views of active lanes; drops every other step when full."""

    limit: int
    """Most bytes to keep."""
    needs: tuple[str, ...]
    """Views to keep."""
    stride: int = 1
    size: int = 0
    rows: list[tuple[int, int, Batch, dict[str, Array], Array, Array]] = field(default_factory=list)

    def __call__(self, step: Step) -> None:
        for row in np.flatnonzero(step.number % self.stride == 0).tolist():
            lane = int(step.lanes[row])
            seen = step.observations
            held = seen if isinstance(seen, dict) else {"": seen}
            parts = {name: np.array(part[lane]) for name, part in held.items()}
            observation: Batch = parts if isinstance(seen, dict) else parts[""]
            views = {name: np.array(step.views[name][lane]) for name in self.needs}
            place = int(step.position[row]), int(step.number[row])
            acted = np.array(step.choice.actions[lane]), np.array(step.default[lane])
            self.rows.append((*place, observation, views, *acted))
            self.size += _bytes(observation) + sum(map(_bytes, views.values()))
        while self.size > self.limit:
            self.stride *= 2
            before = len(self.rows)
            self.rows = [row for row in self.rows if row[1] % self.stride == 0]
            self.size = self.size * len(self.rows) // max(before, 1)
            if all(row[1] == 0 for row in self.rows):  # first steps stay, however large
                break


def sample_steps(recipe: Recipe, config: Configuration, episodes: int = FIT_EPISODES) -> FitSample:
    """Play the original policy and keep what it saw, ordered by episode and step."""
    needs = Chain(recipe.links).needs
    index = np.arange(episodes)
    plan = Plan(index, episode_keys(config.settings.seed, Phase.FIT, index))
    player = Player(dataclasses.replace(recipe, abstraction=OneState(needs)))
    return _sampled(player, plan, always, config, ", the policy as it is, for fitting")


def _sample_mutants(
    recipe: Recipe, config: Configuration, episodes: int = FIT_EPISODES
) -> FitSample:
    """Play mutants of the states that fitted abstractions tell apart, and keep what they saw."""
    # Their episodes are numbered on from the policy's own. Mutants whose fate is drawn anew at
    # every step would stay near the policy's path; a suite's mutants, mutated in a state for a
    # whole episode, leave it, and what is learned must hold where they go.
    index = np.arange(episodes)
    plan = Plan(index, episode_keys(config.settings.seed, Phase.FIT, index, part=1))
    keep = Coin(plan, config.settings.mutation_rate)
    sample = _sampled(Player(recipe), plan, keep, config, ", a mutant, for fitting")
    return dataclasses.replace(sample, episodes=sample.episodes + episodes)


@dataclass(frozen=True)
class SampledPolicy:
    """Steps that an abstraction, the last of its recipe, looks at while it grows."""

    recipe: Recipe
    kept: KeyArray | None = None
    """The states in which the policy decides; None: the policy as it is, and its mutants."""
    number: int = 0
    """Distinguishes sets of episodes."""


def perform_sample(asked: tuple[SampledPolicy, Configuration]) -> FitSample:
    """Play steps and return them as the abstraction is handed them."""
    one, config = asked
    if one.kept is None:
        mutants = _sample_mutants(one.recipe, config)
        return _after(one.recipe.links[:-1], _joined(sample_steps(one.recipe, config), mutants))
    index = np.arange(FIT_EPISODES)
    plan = Plan(index, episode_keys(config.settings.seed, Phase.GROW, index, one.number))
    keep = TopStates([one.kept], np.tile([[0, len(one.kept)]], (len(plan), 1)), False)
    acting = ", the policy in some states, for growing"
    sample = _sampled(Player(one.recipe), plan, keep, config, acting)
    return _after(one.recipe.links[:-1], sample)


def _sampled(
    player: Player, plan: Plan, keep: Keep, config: Configuration, acting: str
) -> FitSample:
    needs = needs_of(player.recipe.abstraction)
    sampler = _Sampler(FIT_BYTES, needs)
    try:
        player.play(plan, keep, sampler)
    except EpisodeError as error:
        error.add(acting)
        raise
    finally:
        player.close()
    rows = sorted(sampler.rows, key=lambda row: row[:2])
    return FitSample(
        values=_in_parts(np.stack, [row[2] for row in rows]),
        views=_in_parts(np.stack, [row[3] for row in rows]),
        episodes=np.array([row[0] for row in rows]),
        actions=np.stack([row[4] for row in rows]),
        defaults=np.stack([row[5] for row in rows]),
        facts=player.facts,
        seed=config.settings.seed,
        planned_episodes=config.settings.episodes,
        mutation_rate=config.settings.mutation_rate,
        gap_unit=player.policy_views.unit,
    )


def _in_parts(function: Callable[[list[Any]], Any], batches: list[Any]) -> Any:
    if isinstance(batches[0], dict):
        return {name: function([one[name] for one in batches]) for name in batches[0]}
    return function(batches)


def _bytes(value: Batch) -> int:
    return sum(part.nbytes for part in (value.values() if isinstance(value, dict) else (value,)))
