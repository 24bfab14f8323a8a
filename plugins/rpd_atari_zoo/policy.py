"""A network of the zoo at work."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rpd_atari_zoo.budget import Budget
from rpd_atari_zoo.families import Family
from rpd_atari_zoo.frames import Framing
from rpd_atari_zoo.network import FrozenNetwork
from rpd_core.chance import Draws
from rpd_core.errors import EpisodeError, FitError
from rpd_core.play.heartbeat import one_numeric_thread
from rpd_core.plugin.protocols import Choice, Facts, PolicyInput
from rpd_core.untrusted.boundary import boundary, quoted

Array = NDArray[Any]


@dataclass
class Rows:
    """Computes one row of numbers per picture."""

    network: FrozenNetwork
    dtype: torch.dtype
    """What the feed takes."""
    divisor: float
    """Pixels of 0 to 255 are divided by this."""
    one_by_one: bool
    """The graph takes batches of one: map it over the rows instead."""
    actions: int = field(default=0, init=False)
    """Numbers per row, known after the first call."""

    @torch.inference_mode()
    def __call__(self, pictures: Array) -> Array:
        values = torch.from_numpy(np.ascontiguousarray(pictures)).to(self.dtype)
        if self.divisor != 1.0:
            values = values / self.divisor
        budget = Budget.for_rows(len(values), self.one_by_one)
        if self.one_by_one:
            result = torch.vmap(lambda row: self.network(row[None], budget).reshape(-1))(values)
        else:
            result = self.network(values, budget)
        if result.dim() < 2 or result.numel() != len(values) * result.shape[-1]:
            raise FitError(
                f"the node {quoted(self.network.output)} gives shape {tuple(result.shape)} for "
                f"{len(values)} pictures where one row of numbers each is needed"
            )
        self.actions = result.shape[-1]
        return np.asarray(result.reshape(len(values), -1).to(torch.float32).numpy())


@dataclass
class ZooPolicy:
    """Looks at the last frames and decides."""

    path: Path
    """The file, for messages."""
    rows: Rows
    framing: Framing
    facts: Facts
    deterministic: bool
    epsilon: float

    @property
    def needs(self) -> tuple[str, ...]:
        return self.framing.needs

    def __call__(self, seen: PolicyInput) -> Choice:
        edge = boundary(self.path, "check that it belongs to the environment", EpisodeError)
        with edge, one_numeric_thread():
            return self._decide(seen)

    def _decide(self, seen: PolicyInput) -> Choice:
        pictures, memory = self.framing(seen.observations, seen.views, seen.starts, seen.memory)
        numbers = self.rows(pictures)
        if not np.isfinite(numbers).all():
            raise EpisodeError(not_finite(self.rows.network.output))
        meaning = self.framing.family.meaning
        chances = softmax(numbers) if meaning == "logits" else None
        picked = self._pick(numbers, chances, seen.draws)
        return Choice(
            picked + int(self.facts.action_space.start),
            action_values=numbers if meaning == "q" else None,
            probabilities=chances,
            memory=memory,
        )

    def _pick(self, numbers: Array, chances: Array | None, draws: Draws) -> Array:
        if not self.deterministic and chances is not None:
            picked = draws.choose(chances)
        else:
            picked = numbers.argmax(axis=1)
        if not self.epsilon:
            return picked
        noise = draws.split(1).uniform(2)
        other = np.floor(noise[:, 1] * numbers.shape[1]).astype(np.int64)
        return np.where(noise[:, 0] < self.epsilon, other, picked)

    def describe(self) -> dict[str, str]:
        """Return what was loaded and how it is used."""
        network, family = self.rows.network, self.framing.family
        return {
            **describe_network(network, family),
            "feed": f"{network.feed} ({'0 to 255' if self.rows.divisor == 1.0 else '0 to 1'})",
            "output": f"{network.output}: {family.meaning} of {self.rows.actions} actions",
            "observation": self.framing.describe(),
            "batches": "one row at a time, mapped" if self.rows.one_by_one else "whole batches",
            "action": "best" if self.deterministic else "drawn",
            "epsilon": f"{self.epsilon:g}",
        }


def describe_network(network: FrozenNetwork, family: Family) -> dict[str, str]:
    """Return what a file holds, as far as it is known without an environment."""
    count = sum(buffer.numel() for buffer in network.buffers())
    return {
        "format": "frozen TensorFlow-1 graph",
        "family": family.name,
        "size": f"{count:,} numbers, {len(network.steps)} operations",
        "feed": network.feed,
        "output": f"{network.output}: {family.meaning}",
    }


def not_finite(output: str) -> str:
    """Return what to say about an output that no action can come from."""
    return (
        f"the output {quoted(output)} gives numbers that are not finite: the file is damaged or "
        "its training diverged; use another one"
    )


def softmax(numbers: Array) -> Array:
    """Turn logits into probabilities, row by row."""
    shifted = np.exp(numbers.astype(np.float64) - numbers.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))
