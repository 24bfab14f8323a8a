"""The two CartPole policies that ship with rpd, trained by `tests/training/train_cartpole.py`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

import numpy as np
import torch
from gymnasium.spaces import Discrete
from torch import nn

from rpd_core.errors import FitError
from rpd_core.plugin.protocols import Choice, Facts, Policy, PolicyInput

HIDDEN = 32


def network() -> nn.Sequential:
    """Build the untrained network: an observation in, a preference for each action out."""
    return nn.Sequential(
        nn.Linear(4, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 2)
    )


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
        return Greedy(load_network(self.which))


def load_network(which: str) -> nn.Sequential:
    """Read the weights that ship with the package."""
    torch.set_num_threads(1)  # results must not depend on the number of cores
    path = files("rpd_gym").joinpath("policies", f"cartpole_{which}.npz")
    module = network()
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
        module.load_state_dict({name: torch.from_numpy(stored[name]) for name in stored.files})
    return module.eval()


@dataclass
class Greedy:
    """Takes the action that the network prefers."""

    module: nn.Sequential

    @torch.inference_mode()
    def __call__(self, seen: PolicyInput) -> Choice:
        preferences = self.module(torch.from_numpy(np.asarray(seen.observations))).numpy()
        return Choice((preferences[:, 1] > preferences[:, 0]).astype(np.int64))
