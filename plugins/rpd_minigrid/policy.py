"""The MiniGrid policy that ships with rpd, trained by `tests/training/train_minigrid.py`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

import numpy as np
import torch
from gymnasium.spaces import Dict, Discrete

from rpd_core.errors import FitError
from rpd_core.plugin.protocols import Choice, Facts, Policy, PolicyInput
from rpd_minigrid.network import ACTIONS, SIZE, Network, as_tensors


@dataclass(frozen=True)
class MiniGridPolicy:
    """A small trained network for SimpleCrossingS9N1."""

    which: Literal["simple-crossing"] = "simple-crossing"
    """Which of the shipped policies."""
    sample: bool = True
    """Draw actions with the network's probabilities; else take the likeliest."""

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
        return NetworkPolicy(load_network(self.which), self.sample)


def load_network(which: str) -> Network:
    """Read the weights that ship with the package."""
    torch.set_num_threads(1)  # results must not depend on the number of cores
    path = files("rpd_minigrid").joinpath("policies", f"{which.replace('-', '_')}.npz")
    network = Network()
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
        network.load_state_dict({name: torch.from_numpy(stored[name]) for name in stored.files})
    return network.eval()


@dataclass
class NetworkPolicy:
    """Acts by the network's preferences."""

    network: Network
    sample: bool

    @torch.inference_mode()
    def __call__(self, seen: PolicyInput) -> Choice:
        logits = self.network(*as_tensors(seen.observations))
        probabilities = torch.softmax(logits, dim=1).numpy()
        if self.sample:
            return Choice(seen.draws.choose(probabilities), probabilities=probabilities)
        return Choice(probabilities.argmax(axis=1), probabilities=probabilities)
