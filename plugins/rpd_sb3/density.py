"""How likely actions are that are not discrete: Gaussians, as they are or squeezed into bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

Array = NDArray[Any]
_EDGE = 1e-6
"""How far from a bound the density of a squeezed Gaussian is taken, as stable-baselines3 does."""


@dataclass(frozen=True)
class GaussianDensity:
    """The log density of actions as the network gives them, before they are fitted to a space."""

    mean: torch.Tensor
    """`(lanes, entries)`."""
    deviation: torch.Tensor
    """Standard deviation of each entry, of all lanes or of each."""
    squashed: bool = False
    """Whether the hyperbolic tangent of the Gaussian is what is done."""

    def __call__(self, actions: Array) -> Array:
        """Return the log density of one action per lane."""
        mean, deviation = (part.numpy().astype(np.float64) for part in (self.mean, self.deviation))
        given = np.asarray(actions, dtype=np.float64).reshape(mean.shape)
        stretched = np.zeros_like(given)
        if self.squashed:
            given = np.clip(given, _EDGE - 1, 1 - _EDGE)
            stretched = np.log(1 - given**2 + _EDGE)
            given = np.arctanh(given)
        apart = ((given - mean) / deviation) ** 2
        logs = -0.5 * (apart + np.log(2 * np.pi)) - np.log(deviation) - stretched
        return np.asarray(logs.sum(axis=1))
