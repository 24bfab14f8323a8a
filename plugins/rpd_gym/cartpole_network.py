"""The network behind the CartPole policies that ship with rpd, without torch.

To import torch takes each worker about two seconds, a fifth of the default run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from rpd_core.plugin.protocols import Choice, PolicyInput

HIDDEN = 32

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
        self.hidden, self.last = layers[:-1], layers[-1]

    def __call__(self, seen: PolicyInput) -> Choice:
        columns = np.asarray(seen.observations).T  # an observation each: rows would take longer
        for weight, bias in self.hidden:
            columns = weight @ columns
            columns += bias
            np.maximum(columns, 0, out=columns)
        weight, bias = self.last
        preferences = weight @ columns + bias
        return Choice(
            (preferences[1] > preferences[0]).astype(np.int64),
            log_probability=_LogProbability(preferences),
        )


@dataclass(frozen=True)
class _LogProbability:
    """The log probability of actions, which were drawn by these preferences in training."""

    preferences: Floats

    def __call__(self, actions: NDArray[np.int64]) -> Floats:
        chosen = np.where(actions == 1, self.preferences[1], self.preferences[0])
        return np.asarray(chosen - self._total)

    @cached_property
    def _total(self) -> Floats:
        low, high = np.minimum(*self.preferences), np.maximum(*self.preferences)
        return np.asarray(high + np.log(1 + np.exp(low - high)))  # a sixth of logaddexp's time
