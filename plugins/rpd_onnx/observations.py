"""How an observation becomes what an input of the model takes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rpd_core.errors import FitError
from rpd_core.plugin.protocols import Facts
from rpd_onnx.model import Value
from rpd_onnx.statistics import Normal

Array = NDArray[Any]
Layout = Literal["auto", "same", "first", "last", "reshaped", "one-hot"]
_PIXELS = 32  # from this height and width on, bytes are taken for pixels
_WORDS = {
    "same": "as it is",
    "first": "channels moved to the front",
    "last": "channels moved to the end",
    "reshaped": "reshaped",
    "one-hot": "one-hot",
}


@dataclass(frozen=True)
class Fit:
    """The way of one part of the observation to one input."""

    value: Value
    part: str | None
    """Part of a dict observation; None: the whole observation."""
    layout: Layout
    shape: tuple[int, ...]
    """Sizes of one row."""
    divisor: float = 1.0
    normal: Normal | None = None

    def __call__(self, observations: Any) -> Array:
        rows = np.asarray(observations if self.part is None else observations[self.part])
        if self.normal is not None:
            rows = self.normal(rows)
        if self.divisor != 1.0:
            rows = rows / np.float32(self.divisor)
        if self.layout == "one-hot":
            rows = rows[..., None] == np.arange(self.shape[0])
        elif self.layout in ("first", "last"):
            rows = np.moveaxis(rows, *((-1, 1) if self.layout == "first" else (1, -1)))
        return np.ascontiguousarray(rows, self.value.dtype).reshape(-1, *self.shape)

    def describe(self) -> str:
        """Return what is done, in words."""
        name = f"{self.part} " if self.part else ""
        scaled = f", divided by {self.divisor:g}" if self.divisor != 1.0 else ""
        normal = f", normalised and clipped at {self.normal.clip:g}" if self.normal else ""
        return f"{name}{_WORDS[self.layout]}{normal}{scaled}"


def parts_of(facts: Facts) -> dict[str | None, Any]:
    """Return the parts of the observation that are numbers, and their spaces."""
    space = facts.observation_space
    inner = getattr(space, "spaces", None)
    parts: dict[str | None, Any] = dict(inner) if isinstance(inner, Mapping) else {None: space}
    return {name: part for name, part in parts.items() if _is_numeric(part)}


def _is_numeric(space: Any) -> bool:
    kind = getattr(space, "dtype", None)
    return kind is not None and space.shape is not None and np.dtype(kind).kind in "iufb"


def fit_input(
    value: Value, part: str | None, space: Any, wanted: tuple[int | str, ...] | None, layout: Layout
) -> Fit | None:
    """Return the way to an input whose rows are of the wanted sizes, or None."""
    if value.dtype is None:
        return None
    shape = tuple(space.shape)
    for chosen, there in _ways(space, shape, wanted):
        if layout in ("auto", chosen) and _agree(there, wanted):
            return Fit(value, part, chosen, there)
    return None


def _ways(
    space: Any, shape: tuple[int, ...], wanted: tuple[int | str, ...] | None
) -> Sequence[tuple[Layout, tuple[int, ...]]]:
    ways: list[tuple[Layout, tuple[int, ...]]] = [("same", shape)]
    if len(shape) == 3:
        ways += [("first", (shape[2], *shape[:2])), ("last", (*shape[1:], shape[0]))]
    sizes = tuple(size for size in wanted or () if isinstance(size, int))
    if wanted is not None and len(sizes) == len(wanted) and _is_reshaped(shape, sizes):
        ways.append(("reshaped", sizes))
    if not shape and hasattr(space, "n"):
        ways.append(("one-hot", (int(space.n),)))
    return ways


def _is_reshaped(shape: tuple[int, ...], sizes: tuple[int, ...]) -> bool:
    """Return whether rows are the same but for axes of one, or one flat row."""
    plain = [[size for size in one if size != 1] for one in (shape, sizes)]
    flat = len(plain[1]) <= 1 and math.prod(shape) == math.prod(sizes)
    return plain[0] == plain[1] or flat


def _agree(shape: tuple[int, ...], wanted: tuple[int | str, ...] | None) -> bool:
    if wanted is None:
        return True
    pairs = zip(shape, wanted, strict=False)
    return len(shape) == len(wanted) and all(isinstance(w, str) or s == w for s, w in pairs)


def check_pixels(fit: Fit, space: Any, divide: float | None) -> None:
    """Refuse bytes of a real picture that become floats without anybody saying how."""
    sides = sorted(space.shape)
    picture = len(sides) >= 2 and sides[-2] >= _PIXELS and np.dtype(space.dtype) == np.uint8
    if picture and np.dtype(fit.value.dtype).kind == "f" and divide is None:
        raise FitError(
            "the model takes floats and the environment gives pixels of 0 to 255: say divide=255 "
            "if it was trained on 0 to 1, divide=1 if it scales them itself or saw 0 to 255"
        )
