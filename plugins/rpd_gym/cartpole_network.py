"""The network behind the CartPole policies that ship with rpd."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import torch
from torch import nn

from rpd_core.plugin.protocols import Choice, PolicyInput

HIDDEN = 32


def network() -> nn.Sequential:
    """Build the untrained network: an observation in, a preference for each action out."""
    return nn.Sequential(
        nn.Linear(4, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 2)
    )


def load_network(which: str) -> nn.Sequential:
    """Read the weights that ship with the package."""
    path = files("rpd_gym").joinpath("policies", f"cartpole_{which}.npz")
    module = network()
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
        module.load_state_dict({name: torch.from_numpy(stored[name]) for name in stored.files})
    return module.eval()


class Greedy:
    """Takes the action that the network prefers."""

    def __init__(self, module: nn.Sequential) -> None:
        linear = [layer for layer in module if isinstance(layer, nn.Linear)]
        layers = [(layer.bias.detach(), layer.weight.detach().t()) for layer in linear]
        self.hidden, self.last = layers[:-1], layers[-1]

    @torch.inference_mode()
    def __call__(self, seen: PolicyInput) -> Choice:
        rows = torch.from_numpy(np.asarray(seen.observations))
        for bias, weight in self.hidden:  # what the modules do, bit by bit, in place
            rows = torch.addmm(bias, rows, weight).relu_()
        preferences = torch.addmm(self.last[0], rows, self.last[1]).numpy()
        return Choice((preferences[:, 1] > preferences[:, 0]).astype(np.int64))
