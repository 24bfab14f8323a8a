"""The network behind the MiniGrid policy as a torch module."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from rpd_minigrid.network import HIDDEN, load_weights
from rpd_minigrid.policy import ACTIONS, SIZE


class Network(nn.Module):
    """Two layers on a square image and a direction; preferences for the actions out."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(SIZE * SIZE * 3 + 4, HIDDEN)
        self.second = nn.Linear(HIDDEN, HIDDEN)
        self.actor = nn.Linear(HIDDEN, ACTIONS)

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


def load_network(which: str = "simple-crossing") -> Network:
    """Read the weights that ship with the package."""
    module = Network()
    weights = load_weights(which)
    module.load_state_dict({name: torch.from_numpy(part) for name, part in weights.items()})
    return module.eval()
