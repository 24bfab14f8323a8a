"""Which algorithm made a file, and which policy class its weights belong to."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from typing import Any

from gymnasium import spaces

from rpd_core.errors import ComponentError, SpecError, nearest
from rpd_core.untrusted.boundary import Refused
from rpd_core.untrusted.pickles import Reference
from rpd_sb3.archive import Archive
from rpd_sb3.weights import Weights

_SHARED = "stable_baselines3.common.policies"
_RECURRENT = "sb3_contrib.common.recurrent.policies"
_MASKABLE = "sb3_contrib.common.maskable.policies"
_OWNER = re.compile(r"<function (\w+)\.")


@dataclass(frozen=True)
class Algorithm:
    """One algorithm of stable-baselines3 or sb3-contrib."""

    name: str
    """The word users type."""
    target: str
    """`module:class` of the algorithm."""
    policies: str
    """Module of its policy classes."""
    classes: tuple[str, ...]
    """Its policy classes for vectors, images and dictionaries, as far as there are any."""
    marks: tuple[str, ...] = ()
    """Settings that tell it from others with the same policy classes."""

    @property
    def title(self) -> str:
        """The name of the class."""
        return self.target.partition(":")[2]


def _own(name: str, title: str, classes: tuple[str, ...] = ()) -> Algorithm:
    module = f"stable_baselines3.{name}.policies"
    classes = classes or (f"{title}Policy", "CnnPolicy", "MultiInputPolicy")
    return Algorithm(name, f"stable_baselines3:{title}", module, classes)


def _contrib(name: str, title: str, classes: tuple[str, ...]) -> Algorithm:
    return Algorithm(name, f"sb3_contrib:{title}", f"sb3_contrib.{name}.policies", classes)


_TRIO = ("ActorCriticPolicy", "ActorCriticCnnPolicy", "MultiInputActorCriticPolicy")
_DDPG = ("TD3Policy", "CnnPolicy", "MultiInputPolicy")

ALGORITHMS = (
    Algorithm("ppo", "stable_baselines3:PPO", _SHARED, _TRIO, ("clip_range",)),
    Algorithm("trpo", "sb3_contrib:TRPO", _SHARED, _TRIO, ("cg_max_steps",)),
    Algorithm("a2c", "stable_baselines3:A2C", _SHARED, _TRIO),
    _own("dqn", "DQN"),
    _own("sac", "SAC"),
    _own("td3", "TD3"),
    Algorithm("ddpg", "stable_baselines3:DDPG", "stable_baselines3.td3.policies", _DDPG),
    _contrib("qrdqn", "QRDQN", ("QRDQNPolicy", "CnnPolicy", "MultiInputPolicy")),
    _contrib("tqc", "TQC", ("TQCPolicy", "CnnPolicy", "MultiInputPolicy")),
    _contrib("crossq", "CrossQ", ("CrossQPolicy",)),
    _contrib("ars", "ARS", ("ARSPolicy", "ARSLinearPolicy")),
    Algorithm(
        "ppo_lstm",
        "sb3_contrib:RecurrentPPO",
        _RECURRENT,
        tuple(f"Recurrent{name}" for name in _TRIO),
    ),
    Algorithm(
        "ppo_mask",
        "sb3_contrib:MaskablePPO",
        _MASKABLE,
        tuple(f"Maskable{name}" for name in _TRIO),
    ),
)


def algorithm_named(word: str) -> Algorithm:
    """Return the algorithm that a user calls `ppo`, `QR-DQN`, `RecurrentPPO` or `ppo_lstm`."""
    plain = re.sub(r"[-_ ]", "", word).lower()
    for algorithm in ALGORITHMS:
        if plain in (algorithm.name.replace("_", ""), algorithm.title.lower()):
            return algorithm
    names = [algorithm.name for algorithm in ALGORITHMS]
    hint = nearest(word, names) or f" It can be {', '.join(names)}."
    raise SpecError(f"algo={word} is not an algorithm of stable-baselines3 or sb3-contrib.{hint}")


def policy_reference(archive: Archive) -> Reference | None:
    """Return the name of the policy class that the file mentions, if it does."""
    entry = archive.data.get("policy_class")
    if not isinstance(entry, dict):
        return None
    try:
        found = archive.pickled("policy_class", lenient=True)
    except Refused:
        found = None  # a class that is written out in the file: its name stands in clear text
    if isinstance(found, Reference):
        return found
    owners = [_OWNER.match(text) for text in entry.values() if isinstance(text, str)]
    name = next((owner.group(1) for owner in owners if owner), "a class of its own")
    return Reference(str(entry.get("__module__", "?")), name)


def recognise(archive: Archive, reference: Reference | None, given: str | None) -> Algorithm:
    """Return the algorithm that made the file; what the user says must agree with the file.

    A policy without its model does not say its algorithm.
    """
    wished = algorithm_named(given) if given else None
    if archive.alone and wished is not None:
        return wished  # other algorithms have policies with these weights, too
    found = _from_class(archive.data, reference) or _from_weights(archive)
    if wished is None:
        if found is None or archive.alone:
            names = ", ".join(algorithm.name for algorithm in ALGORITHMS)
            raise archive.error(f"its algorithm is not recognised: set algo=..., one of {names}")
        return found
    if found is not None and found != wished:
        raise archive.error(f"algo={given} is wrong, the file was made by {found.title}: drop it")
    return wished


def _from_class(data: dict[str, Any], reference: Reference | None) -> Algorithm | None:
    if reference is None:
        return None
    candidates = [
        algorithm
        for algorithm in ALGORITHMS
        if algorithm.policies == reference.module and reference.name in algorithm.classes
    ]
    if reference.module == "stable_baselines3.td3.policies" and candidates:
        return candidates[-1] if _critics(data) == 1 else candidates[0]
    for algorithm in candidates:
        if all(mark in data for mark in algorithm.marks):
            return algorithm
    return None


def _critics(data: dict[str, Any]) -> Any:
    kwargs = data.get("policy_kwargs")
    return kwargs.get("n_critics") if isinstance(kwargs, dict) else None


def _from_weights(archive: Archive) -> Algorithm | None:
    """Recognise by what only one algorithm has; used if the policy class is not a known one."""
    weights, data = archive.weights, archive.data
    if _has_prefix(weights, "quantile_net."):
        return algorithm_named("qrdqn")
    if _has_prefix(weights, "q_net."):
        return algorithm_named("dqn")
    if _has_prefix(weights, "lstm_actor."):
        return algorithm_named("ppo_lstm")
    if _has_prefix(weights, "actor.latent_pi."):
        return algorithm_named("tqc" if "top_quantiles_to_drop_per_net" in data else "sac")
    if _has_prefix(weights, "actor.mu."):
        return algorithm_named("ddpg" if _critics(data) == 1 else "td3")
    if _has_prefix(weights, "mlp_extractor.") or _has_prefix(weights, "action_net."):
        marked = (algorithm for algorithm in ALGORITHMS if algorithm.marks)
        return next((a for a in marked if all(mark in data for mark in a.marks)), None)
    return None


def _has_prefix(weights: Weights, prefix: str) -> bool:
    """Return whether some weights are named so."""
    return any(name.startswith(prefix) for name in weights)


def policy_class(
    archive: Archive, algorithm: Algorithm, reference: Reference | None, space: Any, given: bool
) -> type[Any]:
    """Return the policy class, which is always one of the libraries' own.

    A class that is none of them is replaced by the algorithm's standard one only if the user
    named the algorithm: the weights must then fit that one exactly.
    """
    name = reference.name if reference and reference.module == algorithm.policies else ""
    if name not in algorithm.classes:
        if reference is not None and not given:
            raise archive.error(
                f"its policy class {reference} is the author's own; if its network is the "
                f"standard one, algo={algorithm.name} uses that, otherwise trust=true in the spec "
                "or --trust-policy loads the file in full"
            )
        name = _standard(algorithm, archive.weights, space)
    module = import_library(algorithm.policies, algorithm)
    found: type[Any] = getattr(module, name)
    return found


def _standard(algorithm: Algorithm, weights: Weights, space: Any) -> str:
    if isinstance(space, spaces.Dict):
        return algorithm.classes[-1]
    convolves = any(".cnn." in name for name in weights)
    return algorithm.classes[1] if convolves else algorithm.classes[0]


def import_library(module: str, algorithm: Algorithm) -> Any:
    """Import a module of the libraries, or say what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ComponentError(
            f"{algorithm.title} is part of sb3-contrib, which is not installed: "
            "pip install sb3-contrib"
        ) from error
