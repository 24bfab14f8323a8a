"""The tables of a suite: what measures and conditions look at, as columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rpd_core.plugin.protocols.arrays import Array, BoolArray, FloatArray, IntArray, KeyArray

ENDINGS = ("terminated", "truncated", "step-cap")
"""How an episode can end: by the environment's rules, its own time limit, or the loop's cap."""


@dataclass(frozen=True)
class Episodes:
    """One row per episode."""

    index: IntArray
    """Position in the suite, from 0, ascending."""
    seed: IntArray
    """What the environment was reset with."""
    total_return: FloatArray
    """Sum of the rewards."""
    length: IntArray
    """Number of steps, at least 1."""
    ended: IntArray
    """Position in `ENDINGS`: 0 `terminated` by the environment's rules, 1 `truncated` by its time
    limit, 2 `step-cap` by the loop's."""
    policy_steps: IntArray
    """Steps at which the policy decided."""
    info: dict[str, FloatArray] = field(default_factory=dict)
    """Scalar entries of the final `info`; NaN where an episode had none."""

    def __len__(self) -> int:
        return len(self.index)


@dataclass(frozen=True)
class Visits:
    """One row per (episode, state visited in it), ordered by episode, then state key."""

    episode: IntArray
    """Index of the episode."""
    key: KeyArray
    """Key of the state."""
    mutated: BoolArray
    """Whether the state got the default action in this episode."""
    mutation_rate: FloatArray
    """Chance of being mutated that was in force."""
    first_step: IntArray
    """Step of the first visit; 0 for the state in which the episode starts."""
    count: IntArray
    """Number of visits."""
    return_before: FloatArray
    """Return collected before the first visit; 0 for the state in which the episode starts."""
    differed: IntArray
    """Visits at which the default action was not what the policy chose."""
    differed_first: BoolArray
    """Whether it was not at the first visit.

    At the first step `repeat` and others that need an action before do their `first` one.
    """

    def __len__(self) -> int:
        return len(self.episode)


@dataclass(frozen=True)
class States:
    """One row per abstract state, ordered by key."""

    key: KeyArray
    """Key of the state, a hash of its value; ascending."""
    value: Array
    """`(states, ...)`, dtype of the abstraction: what the abstraction gave."""
    first_episode: IntArray
    """First episode that visited it."""
    first_step: IntArray
    """Step of that episode at which it was first seen, from 0."""
    visits: IntArray
    """Steps spent in it, over all episodes."""
    choices: IntArray
    """`(states, actions)`: how often the policy chose each discrete action there; no columns for
    other actions.

    Actions relative to the state where the abstraction relates them (`RelatesActions`).
    """
    default_choices: IntArray
    """`(states, actions)`: how often the default action was each discrete action there, done or
    not; likewise."""
    action_sum: FloatArray
    """`(states, entries)`: sum over visits of the policy's continuous actions, entry by entry; no
    columns for discrete ones."""
    action_squares: FloatArray
    """`(states, entries)`: sum over visits of their squares."""
    default_sum: FloatArray
    """`(states, entries)`: sum over visits of the default actions, done or not."""
    default_squares: FloatArray
    """`(states, entries)`: sum over visits of their squares."""
    value_gap: FloatArray
    """Sum over visits of best minus worst action value; NaN if the policy has none."""
    entropy: FloatArray
    """Sum over visits of the entropy of the action probabilities in nats; NaN likewise."""

    def __len__(self) -> int:
        return len(self.key)


@dataclass(frozen=True)
class Suite:
    """Episodes, the states they visited, and what was done there."""

    episodes: Episodes
    """One row per episode."""
    visits: Visits
    """One row per (episode, state visited in it)."""
    states: States
    """One row per state."""

    def state_of_visit(self) -> IntArray:
        """Return the row in `states` of each visit."""
        return self.states.key.searchsorted(self.visits.key)

    def episode_of_visit(self) -> IntArray:
        """Return the row in `episodes` of each visit."""
        return self.episodes.index.searchsorted(self.visits.episode)
