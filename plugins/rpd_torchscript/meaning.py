"""What the numbers mean that a module returns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import torch

from rpd_core.errors import FitError
from rpd_core.plugin.protocols import Facts
from rpd_torchscript.signature import Loaded

Meaning = Literal["logits", "q", "probabilities", "action"]
_POLICY_NAME = re.compile(r"actor|policy|a2c|a3c|acktr|ppo", re.IGNORECASE)
_VALUE_NAME = re.compile(r"dqn|q_?net|q_?value|q_?func|dueling|rainbow|^q(?![a-z])", re.IGNORECASE)


@dataclass(frozen=True)
class Output:
    """How the numbers are read."""

    meaning: Meaning
    reason: str
    """Why, in words for `describe`."""


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
    return _recognised(loaded)


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
