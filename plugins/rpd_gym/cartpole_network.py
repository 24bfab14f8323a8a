"""The network behind the CartPole policies that ship with rpd, without torch.

To import torch takes each worker about two seconds, a fifth of the default run.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from rpd_core.plugin.protocols import Choice, PolicyInput

HIDDEN = 32
_CLOSE = 1e-4
"""Lead below which the order of a sum may matter; that order moves it by 1e-6."""
_TOGETHER = 256
"""Observations at a time: larger products are split among threads, which mostly wait."""
_ZEROS = np.zeros((HIDDEN, _TOGETHER), dtype=np.float32)
"""To compare with: NumPy takes four times as long to compare with the number."""

Floats = NDArray[np.float32]
Weights = Mapping[str, Floats]
"""Weights and biases by the names that torch gives them."""


def load_weights(which: str) -> Weights:
    """Read the weights that ship with the package."""
    path = files("rpd_gym").joinpath("policies", f"cartpole_{which}.npz")
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


class Greedy:
    """Takes the action that the network prefers."""

    def __init__(self, weights: Weights) -> None:
        layers = [(weights[f"{n}.weight"], weights[f"{n}.bias"][:, None]) for n in (0, 2, 4)]
        self.hidden, (self.weight, self.bias) = layers[:-1], layers[-1]

    def __call__(self, seen: PolicyInput) -> Choice:
        columns = np.asarray(seen.observations).T  # an observation each
        count = columns.shape[1]
        ahead = [self._ahead(columns[:, at : at + _TOGETHER]) for at in range(0, count, _TOGETHER)]
        return Choice((np.concatenate(ahead) > 0).astype(np.int64))

    def _ahead(self, columns: Floats) -> Floats:
        """Return by how much the second action is preferred."""
        for weight, bias in self.hidden:
            columns = weight @ columns
            columns += bias
            np.maximum(columns, _ZEROS[:, : columns.shape[1]], out=columns)
        preferences = self.weight @ columns + self.bias
        ahead = preferences[1] - preferences[0]
        close = np.flatnonzero(np.abs(ahead) < _CLOSE)
        if len(close):
            preferences = self._as_torch(columns[:, close])
            ahead[close] = preferences[1] - preferences[0]
        return np.asarray(ahead)

    def _as_torch(self, columns: Floats) -> Floats:
        """Return preferences whose sums are taken as torch takes them, eight at a time.

        So runs stay, to the bit, what they were when torch played them: a close call that goes the
        other way is another episode.
        """
        parts = columns * self.weight[:, :, None]
        eight = parts[:, :8] + parts[:, 8:16] + parts[:, 16:24] + parts[:, 24:]
        four = eight[:, :4] + eight[:, 4:]
        two = four[:, :2] + four[:, 2:]
        return np.asarray(two[:, 0] + two[:, 1] + self.bias)
