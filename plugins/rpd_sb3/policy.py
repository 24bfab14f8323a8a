"""The loaded policy: observations are fitted, the network runs once per batch, actions are cut."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray

from rpd_core.errors import EpisodeError, FitError
from rpd_core.play.heartbeat import one_numeric_thread
from rpd_core.plugin.protocols import Choice, Facts, PolicyInput
from rpd_core.untrusted.boundary import boundary, printable
from rpd_sb3.building import Model
from rpd_sb3.fitting import Batch, Fitting
from rpd_sb3.heads import MASK_VIEW, Head, Tensors
from rpd_sb3.spaces import same_kind, show

Array = NDArray[Any]


@dataclass
class Sb3Policy:
    """A policy of stable-baselines3 that decides for all lanes at once."""

    path: Path
    """The file, for messages."""
    model: Model
    fitting: Fitting
    head: Head
    needs: tuple[str, ...] = ()
    """Action masks, if the algorithm uses them and the environment offers them; the mission."""
    notes: tuple[str, ...] = field(default=())

    def __call__(self, seen: PolicyInput) -> Choice:
        edge = boundary(self.path, "check that it belongs to the environment", EpisodeError)
        with edge, one_numeric_thread(), torch.inference_mode():
            return self._decide(seen)

    def _decide(self, seen: PolicyInput) -> Choice:
        frames, memory = seen.memory or (None, None)
        observations, frames = self.fitting(seen.observations, seen.starts, frames, seen.views)
        out = self.head(_to_tensors(observations), seen, memory)
        actions = _to_action_space(self.model, out.actions)
        density = out.log_probability
        return Choice(
            actions,
            out.action_values,
            out.probabilities,
            (frames, out.memory),
            None if density is None else lambda given: density(_to_raw(self.model, given)),
        )

    def describe(self) -> dict[str, str]:
        """Return what a person wants to know about the policy."""
        return describe_model(self.model) | {
            "adapted": printable("; ".join((*self.fitting.notes, *self.notes))) or "nothing"
        }


def describe_model(model: Model) -> dict[str, str]:
    """Return what is known of a model without an environment."""
    count = sum(parameter.numel() for parameter in model.policy.parameters())
    return {
        "algorithm": model.algorithm.title,
        "policy class": type(model.policy).__name__,
        "observation space": printable(show(model.observation_space)),
        "action space": printable(show(model.action_space)),
        "parameters": f"{count:,}",
    }


def _to_tensors(observations: Batch) -> Tensors:
    """Return arrays as tensors."""
    if isinstance(observations, dict):
        return {name: torch.from_numpy(_writable(part)) for name, part in observations.items()}
    return torch.from_numpy(_writable(observations))


def _writable(values: Array) -> Array:
    """Return an array that may be written to: torch warns of others."""
    found: Array = np.require(values, requirements=("C", "W"))
    return found


def _to_action_space(model: Model, actions: Array) -> Array:
    """Bring raw actions into the model's action space, as `predict` does."""
    space = model.action_space
    if not isinstance(space, spaces.Box):
        return actions.reshape(-1, *space.shape)
    actions = actions.reshape(-1, *space.shape)
    if model.policy.squash_output:
        actions = space.low + 0.5 * (actions + 1.0) * (space.high - space.low)
    return np.clip(actions, space.low, space.high)


def _to_raw(model: Model, actions: Array) -> Array:
    """Bring actions of the model's action space back to what its network gives."""
    space = model.action_space
    if not model.policy.squash_output:
        return actions
    scaled: Array = 2.0 * (actions - space.low) / (space.high - space.low) - 1.0
    return scaled


def check_actions(facts: Facts, model: Model) -> None:
    """Refuse a model whose actions are not those of the environment."""
    ours, theirs = facts.action_space, model.action_space
    if same_kind(ours, theirs) and _fits(ours, theirs):
        return
    where = facts.description or "the environment"
    raise FitError(
        f"the model acts in {show(theirs)}, but {where} takes {show(ours)}: it was trained for "
        "another environment"
    )


def _fits(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, spaces.Discrete):
        return bool(ours.n == theirs.n and ours.start == theirs.start)
    if ours.shape != theirs.shape:
        return False
    if isinstance(ours, spaces.Box):
        inside = (theirs.low >= ours.low) & (theirs.high <= ours.high)
        return bool(inside.all())
    if isinstance(ours, spaces.MultiDiscrete):
        return bool((ours.nvec == theirs.nvec).all())
    return True


def mask_views(facts: Facts, model: Model) -> tuple[str, ...]:
    """Return the view with action masks, if there is one and the algorithm heeds masks."""
    heeds = model.algorithm.name == "ppo_mask" and isinstance(model.action_space, spaces.Discrete)
    return (MASK_VIEW,) if heeds and MASK_VIEW in facts.views else ()
