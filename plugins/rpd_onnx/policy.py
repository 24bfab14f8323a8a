"""An ONNX policy at work, and what the numbers mean that it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpd_core.chance import Draws
from rpd_core.errors import EpisodeError
from rpd_core.play.actions import noisy_actions
from rpd_core.plugin.protocols import Choice, Facts, PolicyInput
from rpd_core.untrusted.boundary import file_name, quoted
from rpd_onnx.model import Model
from rpd_onnx.network import Network
from rpd_onnx.output import Output
from rpd_onnx.session import said

Array = NDArray[Any]
MASK_VIEW = "action_mask"


@dataclass
class OnnxPolicy:
    """Calls the network for all lanes at once and chooses the actions."""

    network: Network
    output: Output
    facts: Facts
    deterministic: bool
    epsilon: float

    @property
    def needs(self) -> tuple[str, ...]:
        masked = self.network.signature.mask is not None and MASK_VIEW in self.facts.views
        return (MASK_VIEW,) if masked else ()

    def __call__(self, seen: PolicyInput) -> Choice:
        states = seen.memory or self.network.start(self.facts.lanes)
        if states and seen.starts.any():
            states = [_fresh(state, seen.starts) for state in states]
        mask = seen.views.get(MASK_VIEW)
        try:
            found, states = self.network(seen.observations, states, mask, [self.output.name])
        except Exception as error:  # onnxruntime raises classes of its own
            name = file_name(self.network.model.path)
            raise EpisodeError(f"{name} cannot be called: {said(error)}") from error
        numbers = found[self.output.name].reshape(self.facts.lanes, -1)
        self._check(numbers)
        chances = self.output.probabilities(numbers)
        chosen = self._decide(numbers, chances, seen.draws)
        space = self.facts.action_space
        actions = noisy_actions(space, chosen, self.epsilon, seen.draws)
        values = numbers if self.output.meaning == "q" and len(self.output.branches) == 1 else None
        single = chances[0] if len(chances) == 1 else None
        return Choice(actions, values, single, states)

    def _check(self, numbers: Array) -> None:
        """Refuse what no action can come from; a logit of -inf rules an action out."""
        if numbers.dtype.kind != "f" or np.isfinite(numbers).all():
            return
        if self.output.meaning == "logits" and np.isfinite(numbers.max(axis=1)).all():
            return
        name = file_name(self.network.model.path)
        raise EpisodeError(
            f"{name} returned numbers that are not finite: its weights or its input are out of "
            "range"
        )

    def _decide(self, numbers: Array, chances: list[Array], draws: Draws) -> Array:
        space = self.facts.action_space
        if not self.output.branches:
            return self.output.actions(numbers, self.facts.lanes)
        if self.deterministic or not chances:
            columns = [part.argmax(axis=1) for part in self.output.split(numbers)]
        else:
            several = len(chances) > 1
            columns = [
                (draws.split(place) if several else draws).choose(part)
                for place, part in enumerate(chances)
            ]
        picked = np.stack(columns, axis=1).reshape(self.facts.lanes, *space.shape)
        return np.asarray(picked + space.start)

    def describe(self) -> dict[str, str]:
        """Return what was loaded and how it is used."""
        network = self.network
        states = [str(state.value) for state in network.signature.states]
        return {
            **describe_model(network.model),
            "observation": "; ".join(fit.describe() for fit in network.signature.fits),
            "output": f"{quoted(self.output.name)}: {self.output.meaning} ({self.output.reason})",
            "hidden state": ", ".join(states) or "none",
            "batches": network.describe_batches(),
            "action": "best" if self.deterministic else "drawn",
            "epsilon": f"{self.epsilon:g}",
        }


def describe_model(model: Model) -> dict[str, str]:
    """Return what a file holds, as far as it is known without an environment."""
    return {
        "format": "ONNX",
        "made by": quoted(model.producer) if model.producer else "unknown",
        "size": f"{model.parameters:,} parameters, {len(model.nodes)} operations",
        "inputs": ", ".join(map(str, model.inputs[:8])),
        "outputs": ", ".join(map(str, model.outputs[:8])),
    }


def _fresh(state: Array, starts: Array) -> Array:
    """Forget what was remembered in the lanes where an episode starts."""
    return np.where(starts.reshape(-1, *[1] * (state.ndim - 1)), np.zeros_like(state), state)
