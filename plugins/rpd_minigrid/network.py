"""The network behind the MiniGrid policy that ships with rpd, without torch."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpd_core.plugin.protocols import Choice, PolicyInput

HIDDEN = 64
_SCALE = np.float32(0.1)
"""By which the numbers of a view are multiplied."""

Floats = NDArray[np.float32]
Weights = Mapping[str, Floats]
"""Weights and biases by the names that torch gives them."""


def load_weights(which: str) -> Weights:
    """Read the weights that ship with the package."""
    path = files("rpd_minigrid").joinpath("policies", f"{which.replace('-', '_')}.npz")
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


class NetworkPolicy:
    """Acts by the network's preferences."""

    def __init__(self, weights: Weights, deterministic: bool) -> None:
        first, self.deterministic = weights["first.weight"], deterministic
        self.view = (first[:, :-4] * _SCALE).T
        self.compass = first[:, -4:].T + weights["first.bias"]
        self.layers = [(weights[f"{n}.weight"], weights[f"{n}.bias"]) for n in ("second", "actor")]

    def __call__(self, seen: PolicyInput) -> Choice:
        chances = _softmax(self.preferences(seen.observations)).T
        if self.deterministic:
            return Choice(chances.argmax(axis=1), probabilities=chances)
        return Choice(seen.draws.choose(chances), probabilities=chances)

    def preferences(self, observations: Any) -> Floats:
        """Return the logits of the actions, a column per lane."""
        image = observations["image"]
        rows = image.reshape(len(image), -1).astype(np.float32) @ self.view
        rows += self.compass.take(observations["direction"], axis=0)
        columns: Floats = rows.T  # faster from here on
        for weight, bias in self.layers:
            np.maximum(columns, 0, out=columns)
            columns = weight @ columns
            columns += bias[:, None]
        return columns


def _softmax(columns: Floats) -> Floats:
    columns -= columns.max(axis=0)
    np.exp(columns, out=columns)
    columns /= columns.sum(axis=0)
    return columns
