"""Feature extractors: the libraries' own, the well-known MiniGrid one, and the user's."""

from __future__ import annotations

from typing import Any

import torch
from gymnasium import spaces
from stable_baselines3.common import torch_layers
from torch import nn

from rpd_core.errors import SpecError
from rpd_core.plugin.importing import import_attribute
from rpd_core.untrusted.boundary import printable
from rpd_core.untrusted.pickles import Reference
from rpd_sb3.archive import Archive
from rpd_sb3.weights import Weights

_LAYERS = "stable_baselines3.common.torch_layers"
OWN = {
    f"{_LAYERS}.FlattenExtractor": torch_layers.FlattenExtractor,
    f"{_LAYERS}.NatureCNN": torch_layers.NatureCNN,
    f"{_LAYERS}.CombinedExtractor": torch_layers.CombinedExtractor,
}
"""The extractors of stable-baselines3, by their exact names."""

_CHANNELS = (16, 32, 64)
_PARTS = {
    f"{part}.{kind}"
    for part in ("cnn.0", "cnn.2", "cnn.4", "linear.0")
    for kind in ("weight", "bias")
}


class _MiniGridNet(torch_layers.BaseFeaturesExtractor):
    """The network that most MiniGrid policies are trained with.

    Three convolutions with kernels of 2x2 and 16, 32, 64 channels, then one linear layer, each
    followed by a rectifier; the parts bear the names under which such files store their weights.
    """

    def __init__(self, observation_space: spaces.Box, features_dim: int = 512) -> None:
        super().__init__(observation_space, features_dim)
        channels, height, width = observation_space.shape
        layers: list[nn.Module] = []
        for width_out in _CHANNELS:
            layers += [nn.Conv2d(channels, width_out, kernel_size=2), nn.ReLU()]
            channels = width_out
        self.cnn = nn.Sequential(*layers, nn.Flatten())
        flat = channels * (height - len(_CHANNELS)) * (width - len(_CHANNELS))
        self.linear = nn.Sequential(nn.Linear(flat, features_dim), nn.ReLU())

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Return the features of a batch of images."""
        features: torch.Tensor = self.linear(self.cnn(observations))
        return features


def extractor_for(
    archive: Archive, reference: Reference, space: Any, option: str | None
) -> tuple[type[Any], dict[str, Any] | None]:
    """Return the extractor class that a file names, and its arguments if they are known better."""
    if option:
        return _imported_extractor(option), None
    if str(reference) in OWN:
        return OWN[str(reference)], None
    weights = _extractor_weights(archive.weights)
    if _is_minigrid_net(weights, space):
        return _MiniGridNet, {"features_dim": weights["linear.0.bias"].numel()}
    shapes = ", ".join(f"{name} {tuple(value.shape)}" for name, value in weights.items())
    shapes = printable(shapes, 200)
    raise archive.error(
        f"its feature extractor {reference} is not in the file and has weights that are not "
        f"recognised ({shapes or 'none'}): give the class as extractor=module:Class, for example "
        f"extractor={reference.module}:{reference.name}"
    )


def _extractor_weights(weights: Weights) -> Weights:
    """Return the weights of the feature extractor that acts, named as inside it."""
    for prefix in ("", "actor.", "q_net.", "quantile_net."):
        start = f"{prefix}features_extractor."
        found = {
            name.removeprefix(start): value
            for name, value in weights.items()
            if name.startswith(start)
        }
        if found:
            return found
    return {}


def _is_minigrid_net(weights: Weights, space: Any) -> bool:
    """Return whether weights have the names and shapes of `MiniGridNet` on the space's images."""
    if set(weights) != _PARTS or not isinstance(space, spaces.Box) or len(space.shape) != 3:
        return False
    features = weights["linear.0.bias"].numel()
    if min(space.shape[1:]) <= len(_CHANNELS):
        return False
    with torch.device("meta"):  # shapes alone: the sizes stand in the file
        wanted = _MiniGridNet(space, features).state_dict()
    return all(wanted[name].shape == value.shape for name, value in weights.items())


def _imported_extractor(target: str) -> type[Any]:
    """Import the user's own class, looking in the working directory, too."""
    try:
        found = import_attribute(target)
    except SpecError as error:
        raise SpecError(f"extractor={target}: {error}") from error
    if not (isinstance(found, type) and issubclass(found, nn.Module)):
        raise SpecError(f"extractor={target} is not a class of torch modules")
    return found
