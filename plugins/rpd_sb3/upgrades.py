"""Weights of older versions, renamed to what today's policy classes call them."""

from __future__ import annotations

from typing import Any

from rpd_sb3.weights import Weights

_SHARED = "mlp_extractor.shared_net."


def plain_architecture(arch: Any, shared: bool) -> Any:
    """Return `net_arch` as today's classes take it: no layers shared by actor and critic.

    Before 1.8 a list could start with shared layers and end with a dictionary; without a
    dictionary all of its layers were shared.
    """
    if not isinstance(arch, list) or not any(isinstance(part, dict) for part in arch):
        return {"pi": list(arch), "vf": list(arch)} if shared and isinstance(arch, list) else arch
    common = [part for part in arch if not isinstance(part, dict)]
    own = next(part for part in arch if isinstance(part, dict))
    return {name: [*common, *own.get(name, [])] for name in ("pi", "vf")}


def has_shared_layers(weights: Weights) -> bool:
    """Return whether actor and critic share layers, as they could before 1.8."""
    return any(name.startswith(_SHARED) for name in weights)


def upgraded(weights: Weights, expected: set[str]) -> Weights:
    """Return the weights under the names that today's class expects."""
    found = _unshared(weights) if has_shared_layers(weights) else dict(weights)
    for kind in ("weight", "bias"):  # the linear policy of ARS in sb3-contrib 1.3
        if f"action_net.0.{kind}" in expected and f"action_net.{kind}" in found:
            found[f"action_net.0.{kind}"] = found.pop(f"action_net.{kind}")
    for name in expected - set(found):  # before 1.7 the extractor was stored once
        for prefix in ("pi_features_extractor.", "vf_features_extractor."):
            if name.startswith(prefix):
                source = "features_extractor." + name.removeprefix(prefix)
                if source in found:
                    found[name] = found[source]
    return found


def _unshared(weights: Weights) -> Weights:
    """Put a copy of the shared layers in front of the actor's and of the critic's."""
    shared = {k.removeprefix(_SHARED): v for k, v in weights.items() if k.startswith(_SHARED)}
    places = 2 * len({name.partition(".")[0] for name in shared})  # each with its activation
    found: Weights = {}
    for name, value in weights.items():
        if name.startswith(_SHARED):
            continue
        for net in ("mlp_extractor.policy_net.", "mlp_extractor.value_net."):
            if name.startswith(net):
                number, _, kind = name.removeprefix(net).partition(".")
                name = f"{net}{int(number) + places}.{kind}"
                break
        found[name] = value
    for name, value in shared.items():
        found[f"mlp_extractor.policy_net.{name}"] = value
        found[f"mlp_extractor.value_net.{name}"] = value
    return found
