"""The MiniGrid policy that ships with rpd, trained by `tests/training/train_minigrid.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gymnasium.spaces import Dict, Discrete

from rpd_core.errors import FitError
from rpd_core.plugin.protocols import Facts, Policy
from rpd_minigrid.network import NetworkPolicy, load_weights

SIZE = 7
ACTIONS = 7


@dataclass(frozen=True)
class MiniGridPolicy:
    """A small trained network for SimpleCrossingS9N1."""

    which: Literal["simple-crossing"] = "simple-crossing"
    """Which of the shipped policies."""
    deterministic: bool = False
    """Take the likeliest action; else draw one with the network's probabilities."""

    def load(self, facts: Facts) -> Policy:
        """Load the weights."""
        seen, actions = facts.observation_space, facts.action_space
        parts = seen.spaces if isinstance(seen, Dict) else {}
        image = parts["image"].shape if "image" in parts else None
        known = isinstance(actions, Discrete) and (actions.n, actions.start) == (ACTIONS, 0)
        if image != (SIZE, SIZE, 3) or "direction" not in parts or not known:
            raise FitError(
                f"policy 'minigrid' takes an image of {(SIZE, SIZE, 3)} with a direction and "
                f"{ACTIONS} actions, {facts.description or 'the environment'} has "
                f"{facts.observation_space} and {facts.action_space}"
            )
        return NetworkPolicy(load_weights(self.which), self.deterministic)
