"""A TorchScript module at work, and what the numbers mean that it returns."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from rpd_core.chance import Draws
from rpd_core.errors import EpisodeError, FitError, RpdError
from rpd_core.play.actions import noisy_actions
from rpd_core.plugin.protocols import Choice, Facts, PolicyInput
from rpd_torchscript.limits import last_line
from rpd_torchscript.network import Network
from rpd_torchscript.signature import Loaded

Array = NDArray[Any]
Meaning = Literal["logits", "q", "probabilities", "action"]
_POLICY_NAME = re.compile(r"actor|policy|a2c|a3c|acktr|ppo", re.IGNORECASE)
_VALUE_NAME = re.compile(r"dqn|q_?net|q_?value|q_?func|dueling|rainbow|^q(?![a-z])", re.IGNORECASE)


@dataclass(frozen=True)
class Output:
    """How the numbers are read."""

    meaning: Meaning
    reason: str
    """Why, in words for `describe`."""


@dataclass(frozen=True)
class Memory:
    """What a lane remembers: hidden states, and the last frames of each input."""

    states: list[torch.Tensor]
    frames: list[Array | None]


@dataclass
class ScriptPolicy:
    """Calls the module for all lanes at once and chooses the actions."""

    network: Network
    output: Output
    facts: Facts
    deterministic: bool
    epsilon: float

    @property
    def needs(self) -> tuple[str, ...]:
        return ("screen",) if any(s.screen for s in self.network.sources) else ()

    def __call__(self, seen: PolicyInput) -> Choice:
        arrays, memory = self._look(seen)
        name = self.network.loaded.path.name
        try:
            outputs, states = self.network(arrays, memory.states)
        except RpdError:
            raise
        except Exception as error:  # a trusted module may raise anything
            raise EpisodeError(f"{name} cannot be called: {last_line(error)}") from error
        numbers = _as_array(outputs[0])
        check_finite(numbers, self.output.meaning, name)
        values, chances = self._offers(numbers)
        chosen = self._decide(numbers, chances, seen.draws)
        space = self.facts.action_space
        actions = noisy_actions(space, chosen, self.epsilon, seen.draws)
        return Choice(actions, values, chances, Memory(states, memory.frames))

    def _look(self, seen: PolicyInput) -> tuple[list[Array], Memory]:
        """Return the arrays to look at, and the memory as it is before the call."""
        before = seen.memory
        frames = before.frames if before else [None] * len(self.network.sources)
        arrays, kept = [], []
        for source, old in zip(self.network.sources, frames, strict=True):
            rows, new = source(seen.observations, seen.views, seen.starts, old)
            arrays.append(rows)
            kept.append(new)
        states = before.states if before else self.network.start(self.facts.lanes)
        shape = self.network.state
        if shape is not None and seen.starts.any():
            starts = torch.from_numpy(seen.starts)
            states = [shape.fresh(state, starts) for state in states]
        return arrays, Memory(states, kept)

    def _offers(self, numbers: Array) -> tuple[Array | None, Array | None]:
        """Return action values and probabilities, as far as the module has them."""
        if self.output.meaning == "q":
            return numbers, None
        if self.output.meaning == "logits":
            return None, softmax(numbers)
        if self.output.meaning == "probabilities":
            return None, numbers / numbers.sum(axis=1, keepdims=True)
        return None, None

    def _decide(self, numbers: Array, chances: Array | None, draws: Draws) -> Array:
        space = self.facts.action_space
        if self.output.meaning == "action":
            actions = numbers.reshape(self.facts.lanes, *(space.shape or ()))
            if type(space).__name__ == "Box":
                return np.asarray(np.clip(actions, space.low, space.high), dtype=space.dtype)
            return self._checked(actions)
        if not self.deterministic and chances is not None:
            column = draws.choose(chances)
        else:
            column = numbers.argmax(axis=1)
        return np.asarray(column + int(space.start))

    def _checked(self, actions: Array) -> Array:
        """Return whole-number actions that the environment has."""
        space = self.facts.action_space
        count = space.n if type(space).__name__ == "Discrete" else space.nvec
        places = actions - space.start
        if np.any((places < 0) | (places >= count)):
            raise EpisodeError(
                f"{self.network.loaded.path.name} returned action {actions.flat[0]}, which is not "
                f"in {space}"
            )
        return actions

    def describe(self) -> dict[str, str]:
        """Return what was loaded and how it is used."""
        network = self.network
        pairs = zip(network.sources, network.fits, strict=True)
        looks = [f"{_name(source)} {fit.describe()}{_stacked(source)}" for source, fit in pairs]
        state = network.state
        return {
            **describe_module(network.loaded),
            "observation": "; ".join(looks),
            "output": f"{self.output.meaning} ({self.output.reason})",
            "hidden state": "none" if state is None else f"{state.lane} for each lane",
            "action": "best" if self.deterministic else "drawn",
            "epsilon": f"{self.epsilon:g}",
        }


def describe_module(loaded: Loaded) -> dict[str, str]:
    """Return what a file holds, as far as it is known without an environment."""
    kinds = {"script": "TorchScript", "export": "torch.export", "pickle": "pickled module"}
    count = sum(math.prod(shape) for shape in loaded.weights.values())
    return {
        "format": kinds[loaded.kind],
        "module": loaded.name,
        "size": f"{count:,} parameters",
    }


def _name(source: Any) -> str:
    if source.screen:
        return "screen, preprocessed for baby-a3c,"
    return str(source.part or "observation")


def _stacked(source: Any) -> str:
    return f", the last {source.stack.count} stacked" if source.stack else ""


def softmax(numbers: Array) -> Array:
    """Turn logits into probabilities, row by row."""
    shifted = np.exp(numbers.astype(np.float64) - numbers.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def _as_array(output: torch.Tensor) -> Array:
    """Return an output as NumPy has it: small floats as float32, truth values as 0 and 1."""
    output = output.detach()  # a module may return a part of its own parameters
    if output.dtype in (torch.bfloat16, torch.float16):
        output = output.float()
    return output.long().numpy() if output.dtype == torch.bool else output.numpy()


def check_finite(numbers: Array, meaning: Meaning, name: str) -> None:
    """Refuse NaN and infinite numbers; a logit of -inf rules an action out, if others remain."""
    if numbers.dtype.kind != "f" or np.isfinite(numbers).all():
        return
    if meaning == "logits" and np.isfinite(numbers.max(axis=1)).all():
        return
    what = "NaN" if np.isnan(numbers).any() else "infinite numbers"
    raise EpisodeError(f"{name} returned {what}: its weights or its input are out of range")


def expected_shapes(facts: Facts) -> tuple[tuple[int, ...], ...]:
    """Return the shapes that one lane's output may have."""
    space = facts.action_space
    kind = type(space).__name__
    if kind == "Discrete":
        return (int(space.n),), (), (1,)
    if getattr(space, "shape", None) is not None and kind in ("Box", "MultiDiscrete"):
        return (tuple(space.shape),)
    raise FitError(f"torchscript policies cannot choose from {space}: Discrete and Box work")


def resolve_output(wanted: str, loaded: Loaded, result: torch.Tensor, facts: Facts) -> Output:
    """Decide what the numbers mean: as the user says, else by what the module shows."""
    space = facts.action_space
    one_each = type(space).__name__ != "Discrete" or result.shape[1:] != (int(space.n),)
    if one_each:
        if wanted not in ("auto", "action"):
            raise FitError(
                f"output={wanted} needs one number per action, the module returns shape "
                f"{tuple(result.shape)} for {space}"
            )
        _check_action(result, facts)
        return Output("action", "said so" if wanted == "action" else "one action per lane")
    if wanted == "action":
        raise FitError(
            f"output=action needs one action per lane, the module returns {tuple(result.shape)}"
        )
    if wanted != "auto":
        return Output(wanted, "said so")  # type: ignore[arg-type]
    if loaded.kind == "pickle" and _are_shares(result):
        return Output("probabilities", "rows sum to 1")
    return _recognised(loaded)


def _are_shares(result: torch.Tensor) -> bool:
    """Return whether numbers are probabilities, as actors with a softmax give them."""
    totals = result.double().sum(dim=1)
    return bool((result >= 0).all() and ((totals - 1.0).abs() < 1e-5).all())


def _check_action(result: torch.Tensor, facts: Facts) -> None:
    space = facts.action_space
    if type(space).__name__ == "Box":
        return
    if result.is_floating_point():
        raise FitError(
            f"the module returns floats of shape {tuple(result.shape)}, which is neither an action "
            f"nor one number for each of {space}"
        )


def _recognised(loaded: Loaded) -> Output:
    """Read the meaning off the end of the code, else off the module's name."""
    last = loaded.last()
    if last and last[0] == "aten::softmax":
        return Output("probabilities", "ends in a softmax")
    if last and last[0] == "aten::log_softmax":
        return Output("logits", "ends in a log-softmax")
    if "aten::mean" in last and "aten::add" in last:
        return Output("q", "ends in a dueling head")
    if _VALUE_NAME.search(loaded.name):
        return Output("q", f"the module is called {loaded.name}")
    if _POLICY_NAME.search(loaded.name):
        return Output("logits", f"the module is called {loaded.name}")
    return Output("logits", "assumed; say output=q if they are action values")
