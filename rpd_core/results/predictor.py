"""A pruned policy with a `predict` like that of stable-baselines3."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rpd_core.chance import Domain, Draws, domain_keys, episode_keys
from rpd_core.play.actions import first_action, in_every_lane
from rpd_core.plugin.protocols import Facts, Opening, Policy, PolicyInput
from rpd_core.results.pruned_policy import PrunedFile

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, Batch, BoolArray

State = dict[str, Any]
"""What an episode goes on from; see `predict`."""


class PrunedPredictor:
    """A pruned policy with a `predict` like that of stable-baselines3."""

    def __init__(self, path: str | Path, trust: bool = False, seed: int = 0) -> None:
        self.file = PrunedFile(Path(path).absolute(), trust)
        lanes = self.file.environment().open(Opening(1))
        self.facts: Facts = lanes.facts
        lanes.close()
        self.seed = seed
        self._episodes = 0
        self._loaded: dict[int, Policy] = {}
        self._policy(1)  # what is wrong with the file is best known now

    def __call__(self, observation: Batch, **options: Any) -> Array:
        """Return the action for an observation or a batch of them."""
        return self.predict(observation, **options)[0]

    def predict(
        self,
        observation: Batch,
        state: State | None = None,
        episode_start: BoolArray | None = None,
        deterministic: bool = True,
        views: Mapping[str, Array] | None = None,
    ) -> tuple[Array, State]:
        """Return (actions, state); hand the state back at the next step.

        `state` holds the last actions, which the default action may repeat, and whatever the
        policy remembers. Whether the policy samples was fixed when it was exported.
        """
        single = not self._is_batch(observation)
        batch = _add_axis(observation) if single else observation
        lanes = len(next(iter(batch.values())) if isinstance(batch, dict) else batch)
        state = state or self._fresh_state()
        starts = np.array([state["previous"] is None] * lanes)
        if episode_start is not None:
            starts |= np.asarray(episode_start, dtype=bool)
        choice = self._policy(lanes)(self._input(batch, views, state, starts, lanes))
        following = {
            **state, "memory": choice.memory, "previous": choice.actions, "step": state["step"] + 1,
        }  # fmt: skip
        return (choice.actions[0] if single else choice.actions), following

    def _fresh_state(self) -> State:
        """Start an episode; each has draws of its own, for policies that sample."""
        self._episodes += 1
        return {"memory": None, "previous": None, "step": 0, "episode": self._episodes}

    def _input(
        self,
        batch: Batch,
        views: Mapping[str, Array] | None,
        state: State,
        starts: BoolArray,
        lanes: int,
    ) -> PolicyInput:
        identity = episode_keys(self.seed, 0, np.arange(lanes), part=state["episode"])
        facts = dataclasses.replace(self.facts, lanes=lanes)
        previous = (
            in_every_lane(first_action(facts), facts)
            if state["previous"] is None
            else state["previous"]
        )
        draws = Draws(domain_keys(identity, Domain.POLICY), np.full(lanes, state["step"]))
        return PolicyInput(
            batch, views or {}, starts, state["memory"], draws, previous, np.zeros(lanes)
        )

    def _is_batch(self, observation: Batch) -> bool:
        space = self.facts.observation_space
        if isinstance(observation, dict):
            name = next(iter(observation))
            observation, space = observation[name], space[name]
        return bool(np.ndim(observation) == len(space.shape) + 1)

    def _policy(self, lanes: int) -> Policy:
        if lanes not in self._loaded:
            self._loaded[lanes] = self.file.load(dataclasses.replace(self.facts, lanes=lanes))
        return self._loaded[lanes]


def _add_axis(observation: Batch) -> Batch:
    if isinstance(observation, dict):
        return {name: np.asarray(part)[None] for name, part in observation.items()}
    return np.asarray(observation)[None]
