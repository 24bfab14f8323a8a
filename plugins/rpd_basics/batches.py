"""Batches of observations as rows of numbers, without copying more than necessary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpd_core.errors import FitError
from rpd_core.plugin.wording import order_of_parts

Array = NDArray[Any]
Batch = Array | dict[str, Array]


def shape_of(values: Batch) -> str:
    """Write the shape of one row of a batch as people do, of every part of a dict."""
    if isinstance(values, dict):
        shapes = {key: np.shape(values[key])[1:] for key in _ordered_keys(values)}
        return "{" + ", ".join(f"{key}: {shape}" for key, shape in shapes.items()) + "}"
    return str(np.shape(values)[1:])


def as_rows(values: Batch) -> list[Array]:
    """Return each part of a batch as rows of numbers, those of a dict in the order of keys."""
    if isinstance(values, dict):
        ordered = [values[key] for key in _ordered_keys(values)]
    else:
        ordered = [np.asarray(values)]
    return [np.asarray(part).reshape(len(part), -1) for part in ordered]


def flatten(values: Batch) -> Array:
    """Return a batch as one row of numbers per lane, its parts joined."""
    rows = as_rows(values)
    return rows[0] if len(rows) == 1 else np.concatenate(rows, axis=1)


def width(values: Batch) -> int:
    """Return how many numbers a row of `flatten` has."""
    return sum(part.shape[1] for part in as_rows(values))


def rows_of(values: Batch, rows: Array) -> Batch:
    """Return some rows of a batch."""
    if isinstance(values, dict):
        return {key: part[rows] for key, part in values.items()}
    return values[rows]


def pick_entries(values: Batch, entries: Sequence[int]) -> Array:
    """Return some entries as `flatten` numbers them, without joining the parts first."""
    rows = as_rows(values)
    if len(rows) == 1:
        return rows[0][:, list(entries)]
    ends = np.cumsum([part.shape[1] for part in rows])
    picked = np.empty((len(rows[0]), len(entries)), dtype=np.result_type(*rows))
    for column, entry in enumerate(entries):
        number = int(np.searchsorted(ends, entry, side="right"))
        picked[:, column] = rows[number][:, entry - ends[number]]
    return picked


def check_finite(values: Batch, who: str) -> None:
    """Refuse values that nothing can be learned from, and name the first entry that has one."""
    found, start = [], 0
    for part in as_rows(values):
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


def as_vectors(values: Batch, who: str) -> Array:
    """Return a batch of vectors, joining single numbers and the parts of a dict; no pictures."""
    inside = values.values() if isinstance(values, dict) else [values]
    if any(np.ndim(part) > 2 for part in inside):
        join = "put --abstraction identity first, which joins the parts"
        small = "make pictures small first, with grey, resize and levels"
        raise FitError(
            f"{who} works on vectors of shape (n,) and got shape {shape_of(values)}: "
            f"{join if isinstance(values, dict) else small}, or use clusters or auto"
        )
    return flatten(values)


def _ordered_keys(values: dict[str, Array]) -> list[str]:
    """Return the keys in the order in which entries are numbered."""
    return sorted(values, key=order_of_parts)
