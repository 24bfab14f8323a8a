"""What `policy.save` writes: the policy without its model, and the arguments of its class."""

from __future__ import annotations

from typing import Any

from rpd_core.untrusted.arrays import TENSORS, stored_row
from rpd_core.untrusted.boundary import Flaw, Refused
from rpd_core.untrusted.pickles import AllowedNames, Reference
from rpd_core.untrusted.zips import BoundedZip
from rpd_sb3.pickles import SETTINGS
from rpd_sb3.weights import Weights, open_zip, state_dict

_SPACES = ("observation_space", "action_space")


def _attribute(owner: Any, name: Any) -> Reference:
    """Return a note of a function inside a class, such as the schedule that only training calls."""
    if not (isinstance(owner, Reference) and isinstance(name, str)):
        raise Refused("it wants an attribute of something that is no class")
    return Reference(owner.module, f"{owner.name}.{name}")


_GETATTR = ("builtins.getattr", "__builtin__.getattr")
_NAMES = AllowedNames(
    {**SETTINGS, **TENSORS, **dict.fromkeys(_GETATTR, _attribute)},
    lambda reference: reference,  # classes of activations and the like: looked up by name later
    stored_row,
)


def read_policy(zipped: BoundedZip) -> tuple[dict[str, Any], Weights] | None:
    """Return the settings and weights of a file of `policy.save`; None for other weights."""
    held, fetch = open_zip(zipped, _NAMES)
    arguments = held.get("data") if isinstance(held, dict) else None
    if not isinstance(arguments, dict) or not {*_SPACES} <= {*arguments}:
        return None
    others = {name: value for name, value in arguments.items() if name not in _SPACES}
    if not all(isinstance(name, str) for name in others):
        raise Flaw("its settings are damaged: save the policy again")
    settings = {name: arguments[name] for name in _SPACES} | {"policy_kwargs": others}
    return settings, state_dict(held.get("state_dict"), fetch, zipped.budget)
