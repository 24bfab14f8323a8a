"""Batches of observations as rows of numbers, without copying more than is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpd_core.errors import FitError

Array = NDArray[Any]
Batch = Array | dict[str, Array]


def shape_of(values: Batch) -> str:
    """Give the shape of one row of a batch as people write it, of every part of a dict."""
    if isinstance(values, dict):
        shapes = {key: np.shape(values[key])[1:] for key in _in_order(values)}
        return "{" + ", ".join(f"{key}: {shape}" for key, shape in shapes.items()) + "}"
    return str(np.shape(values)[1:])


def parts(values: Batch) -> list[Array]:
    """Give each part of a batch as rows of numbers, those of a dict in the order of keys."""
    if isinstance(values, dict):
        ordered = [values[key] for key in _in_order(values)]
    else:
        ordered = [np.asarray(values)]
    return [np.asarray(part).reshape(len(part), -1) for part in ordered]


def flat(values: Batch) -> Array:
    """Give a batch as one row of numbers per lane, its parts joined."""
    rows = parts(values)
    return rows[0] if len(rows) == 1 else np.concatenate(rows, axis=1)


def width(values: Batch) -> int:
    """Give how many numbers a row of `flat` has."""
    return sum(part.shape[1] for part in parts(values))


def rows_of(values: Batch, rows: Array) -> Batch:
    """Give some rows of a batch."""
    if isinstance(values, dict):
        return {key: part[rows] for key, part in values.items()}
    return values[rows]


def pick(values: Batch, entries: Sequence[int]) -> Array:
    """Give some entries as `flat` numbers them, without joining the parts first."""
    rows = parts(values)
    if len(rows) == 1:
        return rows[0][:, list(entries)]
    ends = np.cumsum([part.shape[1] for part in rows])
    picked = np.empty((len(rows[0]), len(entries)), dtype=np.result_type(*rows))
    for column, entry in enumerate(entries):
        number = int(np.searchsorted(ends, entry, side="right"))
        picked[:, column] = rows[number][:, entry - ends[number]]
    return picked


def check_finite(values: Batch, who: str) -> None:
    """Say which entry holds what nothing can be learned from, if one does."""
    found, start = [], 0
    for part in parts(values):
        if part.dtype.kind == "f" and not np.isfinite(part).all():
            row, entry = np.argwhere(~np.isfinite(part))[0].tolist()
            found.append((row, start + entry, part[row, entry]))
        start += part.shape[1]
    if found:
        _, entry, value = min(found, key=lambda one: one[:2])
        raise FitError(
            f"{who} cannot learn from {value} in entry {entry} of an observation: "
            "clip it in the environment, or leave the entry out with select"
        )


def vector(values: Batch, who: str) -> Array:
    """Give a batch of vectors, joining single numbers and the parts of a dict; no pictures."""
    inside = values.values() if isinstance(values, dict) else [values]
    if any(np.ndim(part) > 2 for part in inside):
        join = "put --abstraction identity first, which joins the parts"
        small = "make pictures small first, with grey, resize and levels"
        raise FitError(
            f"{who} works on vectors of shape (n,) and got shape {shape_of(values)}: "
            f"{join if isinstance(values, dict) else small}, or use clusters or auto"
        )
    return flat(values)


def _in_order(values: dict[str, Array]) -> list[str]:
    """Give the keys in the order in which entries are numbered."""
    return sorted(values, key=_numbers_as_such)


def _numbers_as_such(key: str) -> list[tuple[bool, int, str]]:
    """Order the parts of tuples by number: 2 comes before 10."""
    words = key.split(".")
    return [(False, int(word), "") if word.isdecimal() else (True, 0, word) for word in words]
