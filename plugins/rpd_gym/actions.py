"""Actions as rows of numbers, whatever the environment's action space is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rpd_core.errors import FitError

Array = NDArray[Any]
Space = spaces.Space[Any]
ToAction = Callable[[Any], Any]
"""From a row of numbers to what the environment takes."""


def flat_actions(space: Space) -> tuple[Space, ToAction]:
    """Return the space of rows, and what turns a row into an action.

    The parts of a dict, in the order of its space, or of a tuple are joined into one row: whole
    numbers if all of them are, else floats, in which whole numbers are rounded.
    """
    if not isinstance(space, spaces.Dict | spaces.Tuple):
        return space, int if isinstance(space, spaces.Discrete) else lambda row: row
    lows, highs = (np.concatenate(ends) for ends in zip(*_ends(space), strict=True))
    if all(_is_whole(part) for part in _leaves(space)):
        flat: Space = spaces.MultiDiscrete((highs - lows + 1).astype(np.int64), start=_whole(lows))
    else:
        flat = spaces.Box(lows.astype(np.float32), highs.astype(np.float32), dtype=np.float32)
    return flat, lambda row: _nested(space, np.asarray(row), 0)[0]


def _children(space: Space) -> list[tuple[Any, Space]]:
    if isinstance(space, spaces.Dict):
        return list(space.spaces.items())
    return list(enumerate(space.spaces)) if isinstance(space, spaces.Tuple) else []


def _leaves(space: Space) -> list[Space]:
    if not isinstance(space, spaces.Dict | spaces.Tuple):
        return [space]
    return [leaf for _, child in _children(space) for leaf in _leaves(child)]


def _is_whole(space: Space) -> bool:
    return isinstance(space, spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary)


def _ends(space: Space) -> list[tuple[Array, Array]]:
    """Return the lowest and highest row of every part."""
    return [_ends_of(leaf) for leaf in _leaves(space)]


def _ends_of(leaf: Space) -> tuple[Array, Array]:
    if isinstance(leaf, spaces.Discrete):
        return np.array([leaf.start]), np.array([leaf.start + leaf.n - 1])
    if isinstance(leaf, spaces.MultiDiscrete):
        return leaf.start.reshape(-1), (leaf.start + leaf.nvec - 1).reshape(-1)
    if isinstance(leaf, spaces.MultiBinary):
        size = int(np.prod(leaf.shape))
        return np.zeros(size, dtype=np.int64), np.ones(size, dtype=np.int64)
    if isinstance(leaf, spaces.Box):
        return leaf.low.reshape(-1), leaf.high.reshape(-1)
    raise FitError(
        f"actions with a part of {leaf} are not supported; Discrete, Box, MultiDiscrete and "
        "MultiBinary parts are"
    )


def _whole(numbers: Array) -> Array:
    return np.asarray(np.rint(numbers), dtype=np.int64)


def _nested(space: Space, row: Array, at: int) -> tuple[Any, int]:
    """Return the action that a row means from a place on, and the place behind it."""
    if not isinstance(space, spaces.Dict | spaces.Tuple):
        size = int(np.prod(space.shape or ()))
        return _leaf(space, row[at : at + size]), at + size
    parts: dict[Any, Any] = {}
    for key, child in _children(space):
        parts[key], at = _nested(child, row, at)
    return (parts if isinstance(space, spaces.Dict) else tuple(parts.values())), at


def _leaf(space: Space, numbers: Array) -> Any:
    if isinstance(space, spaces.Discrete):
        return int(_whole(numbers)[0])
    whole = space.dtype is not None and space.dtype.kind in "biu"
    return (_whole(numbers) if whole else numbers).reshape(space.shape or ()).astype(space.dtype)
