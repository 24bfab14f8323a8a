"""A policy object made from a file's spaces, settings and weights, without the file's code."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from rpd_core.errors import SpecError, one_line
from rpd_core.untrusted.boundary import Flaw, Refused, printable
from rpd_core.untrusted.pickles import Reference
from rpd_sb3.algorithms import Algorithm, policy_class, policy_reference, recognise
from rpd_sb3.allowance import Allowance
from rpd_sb3.archive import TRUST, Archive
from rpd_sb3.extractors import extractor_for
from rpd_sb3.spaces import read_space
from rpd_sb3.upgrades import has_shared_layers, plain_architecture, upgraded

_CLASS = re.compile(r"<class '([\w.<>]+)\.(\w+)'>")
_TRAINING = ("device", "lr_schedule", "optimizer_class", "optimizer_kwargs")
_ACTIVATIONS = (
    "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh",
    "LeakyReLU", "LogSigmoid", "Mish", "PReLU", "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid",
    "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink",
)  # fmt: skip
_CLASSES: dict[str, Any] = {
    f"torch.nn.modules.activation.{name}": getattr(nn, name) for name in _ACTIVATIONS
} | {"torch.nn.modules.linear.Identity": nn.Identity}


@dataclass(frozen=True)
class Model:
    """A policy of stable-baselines3, ready to act, and what is known about it."""

    policy: Any
    """The policy object, in evaluation mode."""
    algorithm: Algorithm
    observation_space: Any
    action_space: Any
    epsilon: float = 0.0
    """Share of random actions that `predict` of a Q-learner takes when it is not deterministic."""
    notes: tuple[str, ...] = ()
    """What was replaced or rebuilt."""


def build(archive: Archive, algo: str | None, extractor: str | None) -> Model:
    """Make the policy; nothing that the file brings along is executed."""
    reference = policy_reference(archive)
    algorithm = recognise(archive, reference, algo)
    observation, action = (
        saved_space(archive, f"{kind}_space") for kind in ("observation", "action")
    )
    kind = policy_class(archive, algorithm, reference, observation, algo is not None)
    kwargs, notes = policy_arguments(archive, observation, extractor)
    policy = _construct(archive, kind, observation, action, kwargs)
    _load_weights(archive, policy, algorithm)
    return Model(policy, algorithm, observation, action, saved_epsilon(archive), notes)


def saved_space(archive: Archive, field: str) -> Any:
    """Return one of the spaces of the file."""
    try:
        return read_space(archive.pickled(field))
    except Refused as error:
        raise archive.refused(field, error) from error
    except SpecError as error:
        raise archive.error(f"the {field} in it cannot be read: {error}") from error


def saved_epsilon(archive: Archive) -> float:
    """Return the exploration rate at which training stopped; 0 if there is none."""
    rate = archive.data.get("exploration_rate", 0.0)
    return float(rate) if isinstance(rate, int | float) and 0 <= rate <= 1 else 0.0


def policy_arguments(
    archive: Archive, space: Any, option: str | None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the arguments of the policy class, and notes on what stands in for missing classes."""
    found = {k: v for k, v in _stored_arguments(archive).items() if k not in _TRAINING}
    notes: tuple[str, ...] = ()
    reference = found.pop("features_extractor_class", None)
    if option and reference is None:
        reference = Reference("", "")
    if isinstance(reference, Reference):
        chosen, known = extractor_for(archive, reference, space, option)
        found["features_extractor_class"] = chosen
        if known is not None:
            found["features_extractor_kwargs"] = known
            notes = (f"feature extractor {reference} rebuilt from the shapes of its weights",)
    found = {name: _resolved(archive, name, value) for name, value in found.items()}
    if isinstance(found.get("net_arch"), list):
        shared = has_shared_layers(archive.weights)
        found["net_arch"] = plain_architecture(found["net_arch"], shared)
    return found, notes


def _stored_arguments(archive: Archive) -> dict[str, Any]:
    """Read `policy_kwargs` from the clear text; from the pickle only what the text cannot say."""
    entry = archive.data.get("policy_kwargs")
    if not isinstance(entry, dict):
        return {}
    if ":serialized:" not in entry:
        return dict(entry)
    found: dict[str, Any] = {}
    for name, value in entry.items():
        if name.startswith(":"):
            continue
        match = _CLASS.fullmatch(value) if isinstance(value, str) else None
        if match is not None:
            value = Reference(match.group(1), match.group(2))
        elif isinstance(value, str) and name not in _TRAINING:
            value = _pickled_argument(archive, name)
        found[name] = value
    return found


def _pickled_argument(archive: Archive, name: str) -> Any:
    try:
        pickled = archive.pickled("policy_kwargs", lenient=True)
    except Refused as error:
        raise archive.refused(f"policy_kwargs[{name!r}]", error) from error
    return pickled.get(name) if isinstance(pickled, dict) else None


def _resolved(archive: Archive, name: str, value: Any) -> Any:
    """Replace names of activation functions by the classes, at all depths."""
    if isinstance(value, Reference):
        if str(value) not in _CLASSES:
            raise archive.error(f"policy_kwargs[{name!r}] in it wants {value}; {TRUST}")
        return _CLASSES[str(value)]
    if isinstance(value, dict):
        return {key: _resolved(archive, name, item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_resolved(archive, name, item) for item in value]
    return value


def _construct(
    archive: Archive, kind: type[Any], observation: Any, action: Any, kwargs: dict[str, Any]
) -> Any:
    accepted = inspect.signature(kind).parameters
    if "use_sde" in accepted and "use_sde" not in kwargs:
        kwargs["use_sde"] = bool(archive.data.get("use_sde", False))
    if "ortho_init" in accepted:
        kwargs["ortho_init"] = False  # the weights are about to be replaced
    unknown = [name for name in kwargs if name not in accepted and kwargs[name] is not None]
    if unknown:
        raise archive.error(
            f"{kind.__name__} of the installed version does not take {unknown[0]!r}, which the "
            f"file (saved with {archive.version}) sets; {TRUST}"
        )
    kwargs = {name: value for name, value in kwargs.items() if name in accepted}
    if "lr_schedule" in accepted:
        kwargs["lr_schedule"] = lambda progress: 0.0
    try:
        with torch.random.fork_rng(devices=[]), Allowance(archive.weights):
            return kind(observation, action, **kwargs)
    except Flaw as error:
        raise archive.error(f"{error}: save the model again") from error
    except Exception as error:  # settings of a damaged file may fail in any way
        raise archive.error(
            f"{kind.__name__} cannot be made from its settings: {printable(one_line(error), 300)}"
        ) from error


def _load_weights(archive: Archive, policy: Any, algorithm: Algorithm) -> None:
    expected = set(policy.state_dict())
    try:
        policy.load_state_dict(upgraded(archive.weights, expected), strict=True)
    except Exception as error:  # names and sizes that do not match fail in several ways
        raise archive.error(
            f"its weights do not fit {type(policy).__name__} of {algorithm.title} with its "
            f"settings: {_first_complaint(error)}"
        ) from error
    policy.set_training_mode(False)
    policy.eval()


def _first_complaint(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[1:2] or lines[:1])[:200]
