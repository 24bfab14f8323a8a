"""The network behind the CartPole policies as a torch module."""

from __future__ import annotations

import torch
from torch import nn

from rpd_gym.cartpole_network import HIDDEN, load_weights


def network() -> nn.Sequential:
    """Build the untrained network: an observation in, a preference for each action out."""
    return nn.Sequential(
        nn.Linear(4, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 2)
    )


def load_network(which: str) -> nn.Sequential:
    """Read the weights that ship with the package."""
    module = network()
    weights = load_weights(which)
    module.load_state_dict({name: torch.from_numpy(part) for name, part in weights.items()})
    return module.eval()
