"""A network of plain weights at work, and what its numbers do."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray

from rpd_core.chance import Draws
from rpd_core.errors import EpisodeError
from rpd_core.play.heartbeat import one_numeric_thread
from rpd_core.plugin.protocols import Choice, Facts, PolicyInput
from rpd_core.untrusted.boundary import boundary, file_name
from rpd_weights.network import Network, States
from rpd_weights.observations import Look
from rpd_weights.outputs import Output

Array = NDArray[Any]


@dataclass(frozen=True)
class Memory:
    """What lanes remember: the state of a recurrent core, and the last frames."""

    states: States
    frames: Array | None


@dataclass
class WeightsPolicy:
    """Computes the network for all lanes at once and chooses the actions."""

    path: Path
    network: Network
    look: Look
    output: Output
    facts: Facts
    deterministic: bool
    notes: dict[str, str] = field(default_factory=dict)
    """What `describe` says."""

    def __call__(self, seen: PolicyInput) -> Choice:
        edge = boundary(self.path, "check that it belongs to the environment", EpisodeError)
        with edge, one_numeric_thread(), torch.inference_mode():
            return self._decide(seen)

    def _decide(self, seen: PolicyInput) -> Choice:
        before = seen.memory or Memory(self.network.start(self.facts.lanes), None)
        rows, frames = self.look(seen.observations, seen.starts, before.frames, self.network.dtype)
        starts = torch.from_numpy(np.array(seen.starts))[None, :, None]
        fresh = tuple(torch.where(starts, 0.0, state) for state in before.states)
        numbers, states = self.network(rows, fresh)
        memory = Memory(states, frames)
        if not bool(torch.isfinite(numbers).all()):
            raise EpisodeError(
                f"{file_name(self.path)} gives numbers that are not finite: its input is out of "
                "range, see divide= and normalize="
            )
        if isinstance(self.facts.action_space, spaces.Box):
            return Choice(self._continuous(numbers.numpy()), memory=memory)
        return self._discrete(numbers.to(torch.float32).numpy(), seen.draws, memory)

    def _discrete(self, numbers: Array, draws: Draws, memory: Memory) -> Choice:
        space = self.facts.action_space
        if isinstance(space, spaces.MultiDiscrete):
            cuts = np.cumsum(space.nvec)[:-1]
            groups = enumerate(np.split(numbers, cuts, axis=1))
            columns = [self._pick(group, draws.split(place)) for place, group in groups]
            return Choice(np.stack(columns, axis=1) + space.start, memory=memory)
        actions = self._pick(numbers, draws) + int(space.start)
        if self.output.meaning == "q":
            return Choice(actions, action_values=numbers, memory=memory)
        return Choice(actions, probabilities=softmax(numbers), memory=memory)

    def _pick(self, numbers: Array, draws: Draws) -> Array:
        picked = numbers.argmax(axis=1) if self.deterministic else draws.choose(softmax(numbers))
        return np.asarray(picked)

    def _continuous(self, numbers: Array) -> Array:
        space = self.facts.action_space
        low, high = space.low, space.high
        raw = numbers[:, : int(np.prod(space.shape))].reshape(-1, *space.shape)
        if self.output.squash != "none":
            unit = np.tanh(raw) if self.output.squash == "tanh" else np.clip(raw, -1.0, 1.0)
            middle, half = self.output.scaling or ((low + high) / 2, (high - low) / 2)
            raw = unit * half + middle
        return np.asarray(np.clip(raw, low, high), dtype=space.dtype)

    def describe(self) -> dict[str, str]:
        """Return what was loaded, how it is used, and what was assumed."""
        return self.notes


def softmax(numbers: Array) -> Array:
    """Turn logits into probabilities, row by row."""
    shifted = np.exp(numbers.astype(np.float64) - numbers.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))
