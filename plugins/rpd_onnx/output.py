"""Which output of a model decides, and how its numbers are read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rpd_core.errors import EpisodeError, FitError, nearest
from rpd_core.plugin.protocols import Facts
from rpd_core.untrusted.boundary import quoted
from rpd_onnx.model import Model

if TYPE_CHECKING:
    from rpd_onnx.loader import OnnxFile

Array = NDArray[Any]
Meaning = Literal["logits", "q", "probabilities", "action", "mean", "unit", "tanh"]
_NAMES = (
    "deterministic_discrete_actions", "deterministic_continuous_actions", "actions", "action",
    "q_values", "logits", "output", "discrete_actions", "continuous_actions",
)  # fmt: skip
"""What exporters call the output that decides, the likeliest first."""
_POLICY = re.compile(r"actor|policy|action_net|(^|[._])pi([._]|$)|logits", re.IGNORECASE)
_VALUES = re.compile(
    r"dqn|q_?net|q_?value|q_?func|dueling|rainbow|(^|[._])q([._]|$)", re.IGNORECASE
)
_SHAPE_ONLY = ("Identity", "Reshape", "Squeeze", "Unsqueeze", "Cast", "Flatten")


@dataclass(frozen=True)
class Output:
    """The output that decides."""

    name: str
    meaning: Meaning
    reason: str
    """Why it is read so, in words for `describe`."""
    space: Any
    branches: tuple[int, ...] = ()
    """How many numbers each discrete choice has; empty: the output is the action itself."""

    def split(self, numbers: Array) -> list[Array]:
        """Return the numbers of each discrete choice."""
        return np.split(numbers, np.cumsum(self.branches)[:-1], axis=1)

    def probabilities(self, numbers: Array) -> list[Array]:
        """Return the chances of each discrete choice, if there are any."""
        if self.meaning == "logits":
            return [_softmax(part) for part in self.split(numbers)]
        if self.meaning == "probabilities":
            return [part / part.sum(axis=1, keepdims=True) for part in self.split(numbers)]
        return []

    def actions(self, numbers: Array, lanes: int) -> Array:
        """Return the actions that the output is."""
        space = self.space
        if type(space).__name__ != "Box":
            return _checked(numbers.reshape(lanes, *space.shape), space)
        values = numbers[:, : int(np.prod(space.shape))].reshape(lanes, *space.shape)
        if self.meaning == "tanh":
            values = np.tanh(values)
        if self.meaning in ("unit", "tanh"):
            values = space.low + 0.5 * (values + 1.0) * (space.high - space.low)
        return np.asarray(np.clip(values, space.low, space.high), dtype=space.dtype)


def _softmax(numbers: Array) -> Array:
    shifted = np.exp(numbers.astype(np.float64) - numbers.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def _checked(actions: Array, space: Any) -> Array:
    """Return whole-number actions that the environment has."""
    count = space.n if type(space).__name__ == "Discrete" else space.nvec
    whole = actions.astype(np.int64)
    places = whole - space.start
    if np.any((places < 0) | (places >= count)) or np.any(whole != actions):
        raise EpisodeError(f"the model returned action {actions.flat[0]}, which is not in {space}")
    return whole


def choose_output(
    file: OnnxFile, model: Model, found: dict[str, Array], carried: Sequence[str], facts: Facts
) -> Output:
    """Return the output that decides: as the user says, else by name, shape and type."""
    names = [output.name for output in model.outputs if output.name not in carried]
    if file.node is not None:
        if file.node not in names:
            hint = nearest(file.node, names) or f" It returns {', '.join(map(quoted, names[:8]))}."
            raise FitError(f"node={file.node} is not an output that can decide.{hint}")
        names = [file.node]
    names.sort(key=lambda n: _NAMES.index(n) if n in _NAMES else len(_NAMES))
    fitting = [n for n in names if n in found and _ways(found[n], facts.action_space)]
    steady = [name for name in fitting if not model.draws(name)]
    if fitting and not steady:
        raise FitError(
            f"the output {quoted(fitting[0])} is drawn by the graph itself, so no episode could be "
            "repeated: export the deterministic actions, or logits"
        )
    if not steady:
        shapes = ", ".join(f"{quoted(n)} {list(found[n].shape)}" for n in names[:8] if n in found)
        raise FitError(
            f"no output of the model ({shapes or 'none of numbers for each row'}) fits the actions "
            f"of {facts.description or 'the environment'}, {facts.action_space}"
        )
    return _read_as(file.output, model, steady[0], found[steady[0]], facts.action_space)


def _ways(values: Array, space: Any) -> tuple[tuple[int, ...], ...] | None:
    """Return the branches of discrete choices, or () for an action; None where it does not fit."""
    kind, row = type(space).__name__, values.shape[1:]
    size = int(np.prod(row))
    whole = values.dtype.kind in "iub"
    if kind == "Box":
        count = int(np.prod(space.shape))
        return ((),) if values.dtype.kind == "f" and size in (count, 2 * count) else None
    if kind not in ("Discrete", "MultiDiscrete"):
        raise FitError(f"onnx policies cannot choose from {space}: Discrete and Box work")
    branches = (int(space.n),) if kind == "Discrete" else tuple(map(int, np.ravel(space.nvec)))
    if whole and size == len(branches):
        return ((),)
    return (branches,) if not whole and size == sum(branches) else None


def _read_as(wanted: str, model: Model, name: str, values: Array, space: Any) -> Output:
    (branches,) = _ways(values, space) or ((),)
    if branches:
        known: tuple[str, ...] = ("logits", "q", "probabilities")
        guess = _meaning_of_scores(model, name)
    else:
        known = ("action", "mean", "unit", "tanh") if type(space).__name__ == "Box" else ("action",)
        guess = _meaning_of_action(wanted, model, name, values, space)
    if wanted not in ("auto", *known):
        raise FitError(
            f"output={wanted} does not fit {quoted(name)}, which gives {list(values.shape[1:])} "
            f"numbers of {values.dtype} for each row: one of {', '.join(known)}"
        )
    meaning, reason = guess if wanted == "auto" else (wanted, "said so")
    return Output(name, meaning, reason, space, branches)  # type: ignore[arg-type]


def _last(model: Model, name: str) -> str:
    """Return the operator that makes an output, whatever changes only its shape left out."""
    for _ in range(20):
        node = model.maker(name)
        if node is None or node.operator not in _SHAPE_ONLY:
            return node.operator if node else ""
        name = next((n for n in node.inputs if model.maker(n) is not None), "")
    return ""


def _meaning_of_scores(model: Model, name: str) -> tuple[str, str]:
    last = _last(model, name)
    if last == "Softmax":
        return "probabilities", "ends in a softmax"
    if last == "LogSoftmax":
        return "logits", "ends in a log-softmax"
    for pattern, meaning in ((_VALUES, "q"), (_POLICY, "logits")):  # a wrapper may say policy
        for one in (name, *model.names):
            if pattern.search(one):
                return meaning, f"goes by the name {quoted(one)}"
    if last in ("Add", "Sub") and "ReduceMean" in model.behind(name):
        return "q", "ends in a dueling head"
    return "logits", "assumed; say output=q if they are action values"


def _meaning_of_action(
    wanted: str, model: Model, name: str, values: Array, space: Any
) -> tuple[str, str]:
    if type(space).__name__ != "Box":
        return "action", "one action per row"
    if values.shape[1:] != space.shape and int(np.prod(values.shape[1:])) != int(
        np.prod(space.shape)
    ):
        if _is_rllib(model) and np.isfinite([space.low, space.high]).all():
            return "unit", "RLlib's, the first half; output=mean without its normalize_actions"
        return "mean", "twice as many numbers as actions: the first half"
    bounds = np.unique(np.stack([space.low, space.high]))
    if wanted == "auto" and _last(model, name) == "Tanh" and list(bounds) != [-1, 1]:
        raise FitError(
            f"{quoted(name)} ends in a tanh, and actions go from {space.low.min():g} to "
            f"{space.high.max():g}: say output=unit to stretch -1 to 1 to these bounds (SAC, TD3 "
            "of stable-baselines3), or output=action to take it as it is"
        )
    return "action", "one action per row"


def _is_rllib(model: Model) -> bool:
    """Return whether RLlib exported the model, or the model is a module of RLlib."""
    by_input = any(value.name == "state_ins" for value in model.inputs)
    return by_input or any(name.startswith("pi.net.mlp.") for name in model.names)
