"""Where the numbers of an observation go in a batch, whatever the space is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rpd_core.errors import FitError, WrongAnswerError

Array = NDArray[Any]
Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Layout:
    """The parts of an observation: one without a name, or several named ones.

    The parts of a dict are named by their keys and those of a tuple by their positions; a dict in
    a dict joins the names with a dot. Parts without numbers, such as text, are left out.
    """

    parts: dict[str, tuple[Path, spaces.Space[Any]]]

    @classmethod
    def of(cls, space: spaces.Space[Any]) -> Layout:
        """Find the parts, or refuse a space that is not supported."""
        found = list(_parts(space, ()))
        if not found:
            raise FitError(f"observations of {space} hold no numbers: wrap the environment")
        named = {".".join(map(str, path)): (path, part) for path, part in found}
        if len(named) < len(found) or ("" in named and len(found) > 1):
            names = ", ".join(repr(".".join(map(str, path))) for path, _ in found)
            raise FitError(f"parts of the observation share a name ({names}): rename one")
        return cls(named)

    def blank(self, lanes: int) -> Array | dict[str, Array]:
        """Make room for one observation per lane: zeros, or the first value of a space."""
        found = {name: _blank(space, lanes) for name, (_, space) in self.parts.items()}
        return found.get("", found)

    def writer(self, batch: Array | dict[str, Array]) -> Callable[[int, Any], None]:
        """Return what writes an observation into a lane of a batch, or refuses it.

        Arrays of the batch's own kind, as nearly every step gives them, need no check.
        """
        if not isinstance(batch, dict):
            ((path, space),) = self.parts.values()
            return _part_writer(batch, space, "", path)
        writers = [
            _part_writer(batch[name], space, name, path)
            for name, (path, space) in self.parts.items()
        ]

        def write(lane: int, observation: Any) -> None:
            for one in writers:
                one(lane, observation)

        return write


def _part_writer(
    rows: Array, space: spaces.Space[Any], name: str, path: Path
) -> Callable[[int, Any], None]:
    dtype, shape = rows.dtype, rows.shape[1:]

    def write(lane: int, observation: Any) -> None:
        part = observation
        for key in path:
            part = part[key]
        if type(part) is np.ndarray and part.dtype == dtype and part.shape == shape:
            rows[lane] = part
            return
        with np.errstate(over="ignore"):  # what is too large becomes infinite
            rows[lane] = _checked(part, space, name)

    return write


def _parts(space: spaces.Space[Any], path: Path) -> list[tuple[Path, spaces.Space[Any]]]:
    inner: list[tuple[str | int, spaces.Space[Any]]]
    if isinstance(space, spaces.Dict):
        inner = list(space.spaces.items())
    elif isinstance(space, spaces.Tuple):
        inner = list(enumerate(space.spaces))
    elif isinstance(space, spaces.Text) or (space.dtype is not None and space.dtype.kind in "USO"):
        return []
    elif space.shape is None or space.dtype is None:
        raise FitError(f"observations of {space} are not supported: wrap the environment")
    else:
        return [(path, space)]
    return [found for key, part in inner for found in _parts(part, (*path, key))]


def _checked(value: Any, space: spaces.Space[Any], name: str) -> Array:
    found = np.asarray(value)
    if found.shape != space.shape:
        wrong = f"of shape {found.shape}, where its space has {space.shape}"
    elif space.dtype is not None and space.dtype.kind in "biu" and found.dtype != space.dtype:
        wrong = _misfit(found, space.dtype)
    else:
        return found
    if wrong:
        raise WrongAnswerError(f"an observation {f'of {name!r} ' if name else ''}{wrong}")
    return found


def _misfit(found: Array, dtype: np.dtype[Any]) -> str:
    """Describe a value that does not fit a type of whole numbers, if there is one."""
    with np.errstate(invalid="ignore"):
        wrong = found[found.astype(dtype) != found]
    return f"holding {wrong.flat[0]:g}, where its space is of {dtype}" if wrong.size else ""


def _blank(space: spaces.Space[Any], lanes: int) -> Array:
    first: Any = 0
    if isinstance(space, spaces.Box):
        first = np.clip(0, space.low, space.high)
    elif isinstance(space, spaces.Discrete | spaces.MultiDiscrete):
        first = space.start
    rows = np.zeros((lanes, *(space.shape or ())), dtype=space.dtype)
    rows[...] = first
    return rows


def holds_nan(batch: Array | dict[str, Array]) -> NDArray[np.bool_]:
    """Return in which lanes an observation holds something that is not a number."""
    parts = list(batch.values()) if isinstance(batch, dict) else [batch]
    wrong = np.zeros(len(parts[0]), dtype=bool)
    for part in parts:
        if part.dtype.kind == "f":
            wrong |= np.isnan(part.reshape(len(part), -1)).any(axis=1)
    return wrong
