"""What names and shapes do not say of a network, as the library that chose the names has it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from rpd_weights.layers import Block
from rpd_weights.structure import Structure

Squash = Literal["none", "tanh", "scale"]
Meaning = Literal["q", "logits", "mean", "action"]


@dataclass(frozen=True)
class Convention:
    """The defaults of a library."""

    library: str
    activation: str
    squash: Squash = "none"


_LIBRARIES = (
    (r"action_parameterization\.", Convention("Sample-Factory", "elu")),
    (r"(^|\.)nn$", Convention("tianshou's recurrent network", "none")),
    (r"(^|\.)last\.model(\.|$)", Convention("tianshou", "relu", "tanh")),
    (r"(^|\.)mu\.model(\.|$)", Convention("tianshou", "relu", "scale")),
    (r"(^|\.)(preprocess|model)\.model(\.|$)", Convention("tianshou", "relu", "scale")),
    (r"(^|\.)_encoder\._layers(\.|$)", Convention("d3rlpy", "relu", "tanh")),
    (r"(^|\.)net_container(\.|$)", Convention("skrl", "elu")),
    (r"(^|\.)module\.\d+\.module(\.|$)", Convention("torchrl", "tanh", "tanh")),
    (r"(^|\.)(pi|af)\.net\.mlp(\.|$)", Convention("RLlib", "tanh", "scale")),
    (r"(^|\.)actor_state_dict\.mlp$", Convention("RSL-RL", "elu")),
)
_OLD_RSL = re.compile(r"model_state_dict\.(log_)?std")
"""Beside the networks in checkpoints of RSL-RL before its version 4."""
_PICTURES = Convention("networks for pictures", "relu")
_DRAWN = Convention("SAC", "relu", "tanh")
_SCALED = Convention("DDPG and TD3", "relu", "tanh")
_ACTOR_CRITIC = Convention("PPO with actor and critic", "tanh")
_PLAIN = Convention("plain networks", "relu")


def convention_of(
    structure: Structure, names: Iterable[str], all_blocks: list[Block]
) -> Convention:
    """Return the defaults for a network in a file with these names."""
    used = [block.name for block in structure.blocks]
    for pattern, convention in _LIBRARIES:
        if any(re.search(pattern, name) for name in used):
            scaled = structure.drawn and convention.squash == "scale"  # SAC's, beside PPO's
            return replace(convention, squash="tanh") if scaled else convention
    if any(_OLD_RSL.fullmatch(name) for name in names):
        return Convention("RSL-RL", "elu")
    if structure.drawn:
        return _DRAWN
    if any(name.rpartition(".")[2] == "action_scale" for name in names):
        return _SCALED
    if any(layer.kind == "conv" for block in structure.blocks for layer in block.layers):
        return _PICTURES
    roles = {block.role for block in all_blocks}
    deviation = any("logstd" in name.replace("_", "").lower() for name in names)
    return _ACTOR_CRITIC if "actor" in roles and ("critic" in roles or deviation) else _PLAIN


def meaning_of(structure: Structure, all_blocks: list[Block]) -> tuple[Meaning, str]:
    """Return what one number per action means, and why."""
    roles = {block.role for block in all_blocks}
    if structure.value:
        return "q", "a dueling network"
    if roles & {"q", "advantage"} and "actor" not in roles:
        return "q", "by its name"
    if "target" in roles and "critic" not in roles:
        return "q", "a target network lies beside it"
    if [block.name for block in structure.path] == ["network"]:
        return "q", "named as in CleanRL's DQN"
    reason = "by its name" if "actor" in roles else "assumed; say output=q if they are values"
    return "logits", reason
