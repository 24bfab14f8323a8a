"""As rules alone: each kept state with its one action in place of the policy.

A kept state is not yet a rule: inside it the policy may do one thing or another. What a pruned
policy earns without the policy, each state doing what the policy usually does there and the default
action deciding elsewhere, is played on the very episodes of the pruned policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from gymnasium.spaces import Discrete

from rpd_core.analysis.suite import concat_episodes
from rpd_core.chance import canonical, state_keys
from rpd_core.config.configuration import short_digest
from rpd_core.play.actions import first_action
from rpd_core.play.chunks import Evaluation
from rpd_core.play.deciders import KnownKeys
from rpd_core.play.decision_tree import actions_in
from rpd_core.play.entry_names import Relation, relation_of
from rpd_core.plugin.chain import Chain, needs_of, opened
from rpd_core.plugin.protocols import (
    Abstraction,
    Choice,
    Episodes,
    Facts,
    Policy,
    PolicyInput,
    States,
)
from rpd_core.pruning.evaluation import Evaluations

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, Batch, FloatArray


@dataclass(frozen=True)
class StateActions:
    """A policy of one action for each of some states; elsewhere somebody else is to decide."""

    abstraction: Abstraction
    keys: tuple[int, ...]
    """Of the states, ascending."""
    actions: tuple[tuple[float, ...], ...]
    """What is done in each; discrete ones from 0, relative to the state where these are related."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The views that states are told by."""
        return needs_of(self.abstraction)

    def load(self, facts: Facts) -> Policy:
        """Fit states and actions to the environment."""
        chain, space = opened(self.abstraction, facts), facts.action_space
        relation = relation_of(chain.links if isinstance(chain, Chain) else (chain,), space)
        known = KnownKeys(np.array(self.keys, dtype=np.uint64))
        done = np.array(self.actions).reshape(len(self.keys), *space.shape)
        done = done + (space.start if isinstance(space, Discrete) else 0)
        actions = np.concatenate([actions_in(space, done), first_action(facts)[None]])

        def decide(seen: PolicyInput) -> Choice:
            keys = state_keys(canonical(chain(seen.observations, seen.views)))
            places, found = known.find(keys)
            chosen = actions[np.where(found, places, len(self.keys))]
            if relation is not None:
                chosen = _absolute(chosen, relation, seen.observations, space)
            return Choice(chosen)

        return decide


def _absolute(related: Array, relation: Relation, observations: Batch, space: Discrete) -> Array:
    """Return the actions that are, in these states, the given ones relative to the state."""
    actions = np.full_like(related, space.start)
    for action in range(int(space.start), int(space.start + space.n)):
        each = np.full_like(related, action)
        actions = np.where(relation(observations, each) == related, each, actions)
    return actions


def usual_actions(states: States) -> FloatArray:
    """Return what the policy usually does in each state, one row each.

    That is its commonest discrete action, counted from 0, or the mean of others; relative to the
    state where the abstraction relates actions.
    """
    if states.choices.shape[1]:
        return np.asarray(states.choices.argmax(axis=1)[:, None], dtype=np.float64)
    return np.asarray(states.action_sum / states.visits[:, None])


@dataclass(frozen=True)
class RulesAlone:
    """A pruned policy as rules alone, and what it did."""

    rules: StateActions
    episodes: Episodes


def measure_rules_alone(
    evaluations: Evaluations, asked: Mapping[str, Evaluation], states: States
) -> RulesAlone:
    """Play episodes of a pruned policy again with rules in place of the policy.

    `asked` are sets of its episodes by name, in order. `states` has what the policy chose, best in
    other episodes of the pruned policy: a kept state that is not among them is left to the default
    action.
    """
    first = next(iter(asked.values()))
    ranking, kept = first.points[0]
    mine = np.isin(states.key, first.rankings[ranking][:kept])
    actions = tuple(map(tuple, usual_actions(states)[mine].tolist()))
    rules = StateActions(first.recipe.abstraction, tuple(states.key[mine].tolist()), actions)
    alone = {f"rules-{name}": _in_place(one, rules) for name, one in asked.items()}
    played = evaluations.play("as rules alone", alone)
    return RulesAlone(rules, concat_episodes(list(played.values())))


def _in_place(asked: Evaluation, rules: StateActions) -> Evaluation:
    """Describe the episodes of a pruned policy with rules in place of the policy."""
    return replace(
        asked,
        recipe=replace(asked.recipe, policy=rules),
        rankings=(np.array(rules.keys, dtype=np.uint64),),
        points=((0, len(rules.keys)),),
        unranked_kept=False,
        visits=False,
        variant=short_digest(["rules", rules.actions]),
    )
