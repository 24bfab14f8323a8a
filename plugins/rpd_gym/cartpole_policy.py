"""The two CartPole policies that ship with rpd, trained by `tests/training/train_cartpole.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gymnasium.spaces import Discrete

from rpd_core.errors import FitError
from rpd_core.plugin.protocols import Facts, Policy
from rpd_gym.cartpole_network import Greedy, load_weights


@dataclass(frozen=True)
class CartPolePolicy:
    """A small trained network that takes the better action."""

    which: Literal["good", "weak"] = "good"
    """`good` balances to the cap of 200 steps, `weak` falls after about 100."""

    def load(self, facts: Facts) -> Policy:
        """Load the weights."""
        actions = facts.action_space
        two_actions = isinstance(actions, Discrete) and (actions.n, actions.start) == (2, 0)
        if facts.observation_space.shape != (4,) or not two_actions:
            raise FitError(
                f"policy 'cartpole' takes vectors of 4 and 2 actions, {facts.description} has "
                f"{facts.observation_space} and {facts.action_space}"
            )
        return Greedy(load_weights(self.which))
