"""Spaces: from a saved model's file to Gymnasium, and in few words."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from rpd_core.errors import SpecError, one_line
from rpd_core.untrusted.boundary import Refused, printable
from rpd_core.untrusted.pickles import Holder, Reference

Space = spaces.Space[Any]


_KINDS = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary, spaces.Dict)


def same_kind(left: Any, right: Any) -> bool:
    """Return whether one class of Gymnasium's spaces is the base of both."""
    return any(isinstance(left, kind) and isinstance(right, kind) for kind in _KINDS)


def read_space(held: Any) -> Space:
    """Return the Gymnasium space that a pickled gym or gymnasium space stands for."""
    try:
        return _space(held, 0)
    except Refused:
        raise
    except Exception as error:  # Gymnasium checks what it is given in many ways
        raise SpecError(f"it lacks parts of a space ({printable(one_line(error), 200)})") from error


def _space(held: Any, depth: int) -> Space:
    if not isinstance(held, Holder) or depth > 5:
        raise Refused(f"it holds a {type(held).__name__} where a space is needed")
    state = held.state
    if held.kind == "Box":
        return spaces.Box(state["low"], state["high"], dtype=_dtype(state["dtype"]))
    if held.kind == "Discrete":
        return spaces.Discrete(int(state["n"]), start=int(state.get("start", 0)))
    if held.kind == "MultiDiscrete":
        return spaces.MultiDiscrete(np.asarray(state["nvec"]))
    if held.kind == "MultiBinary":
        size = state["n"]
        return spaces.MultiBinary(size if isinstance(size, int) else tuple(np.ravel(size).tolist()))
    if held.kind == "Dict":
        return spaces.Dict(
            {str(name): _space(part, depth + 1) for name, part in state["spaces"].items()}
        )
    raise Refused(f"{held.kind} spaces are not used by stable-baselines3")


def _dtype(held: Any) -> Any:
    """Box takes a type as it stands in the file: a dtype, or the name of a NumPy scalar."""
    return np.dtype(held.name.rstrip("_") if isinstance(held, Reference) else held)


def show(space: Any) -> str:
    """Return a space in a few words: `Box(3, 7, 7) uint8 0..255`."""
    if isinstance(space, spaces.Dict):
        return "{" + ", ".join(f"{name}: {show(part)}" for name, part in space.items()) + "}"
    if isinstance(space, spaces.Box):
        low, high = float(np.min(space.low)), float(np.max(space.high))
        sizes = ", ".join(map(str, space.shape))
        return f"Box({sizes}) {space.dtype} {low:g}..{high:g}"
    if isinstance(space, spaces.Discrete):
        return f"Discrete({int(space.n)})" if not space.start else str(space)
    return str(space)
