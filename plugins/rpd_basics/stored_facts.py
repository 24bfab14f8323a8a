"""What an exported policy knows about its environment, so that it plays where that is not there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from rpd_core.config.configuration import Json
from rpd_core.plugin.protocols import Entry, Facts
from rpd_core.store.codec import from_plain, to_plain

_LARGEST = 2**24
"""Most numbers of an observation or an action that a file may claim."""
Space = spaces.Space[Any]


@dataclass(frozen=True)
class _StoredFacts:
    """The content of `facts` in an exported policy."""

    observation_space: Json
    action_space: Json
    views: tuple[str, ...]
    no_op: Any
    action_names: tuple[str, ...]
    entry_names: tuple[str, ...]
    entries: tuple[Entry, ...]
    description: str


def facts_as_json(facts: Facts) -> Json:
    """Return facts as JSON values."""
    stored = _StoredFacts(
        _space_as_json(facts.observation_space),
        _space_as_json(facts.action_space),
        tuple(facts.views),
        None if facts.no_op is None else np.asarray(facts.no_op).tolist(),
        tuple(facts.action_names),
        tuple(facts.entry_names),
        tuple(facts.entries),
        facts.description,
    )
    plain: Json = to_plain(stored)
    return plain


def facts_from_json(value: object, where: str) -> Facts:
    """Return the facts that JSON values describe, for one lane; raise where they describe none."""
    stored = from_plain(_StoredFacts, value, where)
    _check_size([stored.observation_space, stored.action_space])
    action_space = _space_from_json(stored.action_space)
    no_op = None if stored.no_op is None else np.asarray(stored.no_op, dtype=action_space.dtype)
    return Facts(
        _space_from_json(stored.observation_space),
        action_space,
        1,
        stored.views,
        no_op,
        stored.action_names,
        stored.entry_names,
        stored.entries,
        stored.description,
    )


def _space_as_json(space: Space) -> Json:
    if isinstance(space, spaces.Dict):
        return {"dict": {key: _space_as_json(part) for key, part in space.spaces.items()}}
    if isinstance(space, spaces.Tuple):
        return {"tuple": [_space_as_json(part) for part in space.spaces]}
    if isinstance(space, spaces.Discrete):
        return {"discrete": int(space.n), "start": int(space.start)}
    if isinstance(space, spaces.MultiDiscrete):
        return {"multi_discrete": space.nvec.tolist(), "start": space.start.tolist()}
    if isinstance(space, spaces.MultiBinary):
        return {"multi_binary": list(space.shape)}
    if isinstance(space, spaces.Box):
        ends = {"low": _end(space.low), "high": _end(space.high)}
        return {"box": list(space.shape), "dtype": space.dtype.str, **ends}
    return {"other": str(space)[:200]}


def _end(bound: Any) -> Any:
    """Return a bound as one number where all are the same; none: there is no bound."""
    first = bound.reshape(-1)[:1].tolist()
    if first and (bound == first[0]).all():
        return first[0] if math.isfinite(first[0]) else None
    return [value if math.isfinite(value) else None for value in bound.reshape(-1).tolist()]


def _space_from_json(about: Json) -> Space:
    if "dict" in about:
        return spaces.Dict({key: _space_from_json(part) for key, part in about["dict"].items()})
    if "tuple" in about:
        return spaces.Tuple([_space_from_json(part) for part in about["tuple"]])
    if "discrete" in about:
        return spaces.Discrete(int(about["discrete"]), start=int(about["start"]))
    if "multi_discrete" in about:
        return spaces.MultiDiscrete(np.array(about["multi_discrete"]), start=about["start"])
    if "multi_binary" in about:
        shape = _shape(about["multi_binary"])
        return spaces.MultiBinary(shape if len(shape) != 1 else shape[0])
    if "box" in about:
        shape, dtype = _shape(about["box"]), np.dtype(about["dtype"])
        if dtype.kind not in "biuf":
            raise ValueError(f"a space of {dtype}")
        low, high = (_bound(about[end], shape, dtype, end == "low") for end in ("low", "high"))
        return spaces.Box(low, high, dtype=dtype.type)
    return spaces.Text(1)  # a part without numbers, which nothing looks at


def _check_size(abouts: list[Any]) -> None:
    """Refuse spaces that, with all of their parts, have too many numbers."""
    numbers, waiting = 0, abouts
    while waiting:
        about = waiting.pop()
        waiting += about.get("tuple", ())
        waiting += about.get("dict", {}).values()
        numbers += 1 + math.prod(_shape(about["box"])) if "box" in about else 1
        if numbers > _LARGEST:
            raise ValueError(f"spaces of more than {_LARGEST:,} numbers")


def _shape(value: Any) -> tuple[int, ...]:
    shape = tuple(int(length) for length in value)
    if len(shape) > 32 or math.prod(shape) > _LARGEST or min(shape, default=1) < 0:
        raise ValueError(f"a space of shape {str(shape)[:100]}")
    return shape


def _bound(value: Any, shape: tuple[int, ...], dtype: np.dtype[Any], low: bool) -> Any:
    none = -math.inf if low else math.inf
    if isinstance(value, list):
        return np.array([none if one is None else one for one in value], dtype).reshape(shape)
    return np.full(shape, none if value is None else value, dtype)
