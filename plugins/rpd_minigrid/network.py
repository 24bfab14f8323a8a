"""The network behind the MiniGrid policy that ships with rpd."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rpd_core.plugin.protocols import Choice, PolicyInput

HIDDEN = 64


class Network(nn.Module):
    """Two layers on a square image and a direction; preferences for the actions out."""

    def __init__(self, size: int, actions: int) -> None:
        super().__init__()
        self.first = nn.Linear(size * size * 3 + 4, HIDDEN)
        self.second = nn.Linear(HIDDEN, HIDDEN)
        self.actor = nn.Linear(HIDDEN, actions)

    def features(self, image: Tensor, direction: Tensor) -> Tensor:
        """Return what the last layer looks at, (lanes, hidden)."""
        compass = nn.functional.one_hot(direction.long(), 4)
        seen = torch.cat([image.flatten(1).float() * 0.1, compass.float()], dim=1)
        return torch.relu(self.second(torch.relu(self.first(seen))))

    def forward(self, image: Tensor, direction: Tensor) -> Tensor:
        """Return the logits of the actions, (lanes, 7)."""
        logits: Tensor = self.actor(self.features(image, direction))
        return logits


def as_tensors(observations: Any) -> tuple[Tensor, Tensor]:
    """Return image and direction of a batch."""
    return torch.from_numpy(observations["image"]), torch.from_numpy(observations["direction"])


def load_network(which: str, size: int, actions: int) -> Network:
    """Read the weights that ship with the package."""
    path = files("rpd_minigrid").joinpath("policies", f"{which.replace('-', '_')}.npz")
    network = Network(size, actions)
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
        network.load_state_dict({name: torch.from_numpy(stored[name]) for name in stored.files})
    return network.eval()


@dataclass
class NetworkPolicy:
    """Acts by the network's preferences."""

    network: Network
    deterministic: bool

    @torch.inference_mode()
    def __call__(self, seen: PolicyInput) -> Choice:
        logits = self.network(*as_tensors(seen.observations))
        probabilities = torch.softmax(logits, dim=1).numpy()
        if self.deterministic:
            return Choice(probabilities.argmax(axis=1), probabilities=probabilities)
        return Choice(seen.draws.choose(probabilities), probabilities=probabilities)
