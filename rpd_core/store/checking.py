"""Tables of a part, checked before anybody computes with them: columns, types, possible values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rpd_core.plugin.protocols import ENDINGS
from rpd_core.store.tables import ROWS

_WHOLE, _SMALL, _REAL = pa.int64(), pa.int32(), pa.float64()
_COLUMNS: Mapping[str, Mapping[str, pa.DataType]] = {
    "episodes": {
        "index": _WHOLE, "seed": _WHOLE, "total_return": _REAL, "length": _SMALL,
        "policy_steps": _SMALL, "ended": pa.dictionary(pa.int8(), pa.string()),
    },
    "visits": {
        "episode": _WHOLE, "key": pa.uint64(), "mutated": pa.bool_(), "mutation_rate": _REAL,
        "first_step": _SMALL, "count": _SMALL, "return_before": _REAL, "differed": _SMALL,
        "differed_first": pa.bool_(),
    },
    "states": {
        "key": pa.uint64(), "first_episode": _WHOLE, "first_step": _WHOLE, "visits": _WHOLE,
        "value_gap": _REAL, "entropy": _REAL, "words": pa.string(),
    },
}  # fmt: skip
_POINT = ("ranking", "kept", "test_episode")
"""Columns that only the episodes of pruned policies have."""


class WrongTable(Exception):
    """Says what in a table cannot be."""


def check_table(name: str, table: pa.Table, first: int, last: int) -> None:
    """Raise `WrongTable` unless a table of these episodes has its columns and possible values."""
    _check_columns(name, table)
    _VALUES[name](table, first, last)


def check_together(tables: Mapping[str, pa.Table]) -> None:
    """Raise `WrongTable` unless the states of a part are those that its episodes visited."""
    if {"visits", "states"} <= set(tables):
        known = tables["states"]["key"].to_numpy()
        visited = np.unique(tables["visits"]["key"].to_numpy())
        _demand(np.array_equal(visited, known), "its visits are not of its states")


def _check_columns(name: str, table: pa.Table) -> None:
    names = table.column_names
    _demand(len(set(names)) == len(names), "it has two columns of one name")
    for column, kind in _COLUMNS[name].items():
        _demand(column in names, f"the column {column!r} is missing")
        _demand(table[column].type == kind, f"{column!r} holds {table[column].type}, not {kind}")
    for column in names:
        _demand(table[column].null_count == 0, f"{column!r} has holes")
        if name == "episodes" and column not in _COLUMNS[name]:
            wanted = _WHOLE if column in _POINT else _REAL
            _demand(table[column].type == wanted, f"{column!r} holds {table[column].type}")


def _demand(holds: bool, wrong: str) -> None:
    if not holds:
        raise WrongTable(wrong)


def _check_episodes(table: pa.Table, first: int, last: int) -> None:
    index = table["index"].to_numpy()
    _demand(np.array_equal(index, np.arange(first, last + 1)), "it does not hold its episodes")
    _demand(bool(np.isfinite(table["total_return"].to_numpy()).all()), "a return is no number")
    length, steps = table["length"].to_numpy(), table["policy_steps"].to_numpy()
    _demand(bool((length >= 1).all()), "an episode has no steps")
    _demand(bool(((steps >= 0) & (steps <= length)).all()), "'policy_steps' is beyond 'length'")
    endings = set(pc.unique(table["ended"].cast(pa.string())).to_pylist())
    _demand(endings <= set(ENDINGS), "an episode ended in a way that is not known")


def _check_visits(table: pa.Table, first: int, last: int) -> None:
    episode = table["episode"].to_numpy()
    _demand(bool((np.diff(episode) >= 0).all()), "visits are not in order")
    _demand(bool(((episode >= first) & (episode <= last)).all()), "visits are of other episodes")
    _demand(bool((table["count"].to_numpy() >= 1).all()), "a visit is counted less than once")
    rate = table["mutation_rate"].to_numpy()
    _demand(bool(((rate >= 0) & (rate <= 1)).all()), "a mutation rate is no probability")
    _demand(bool(np.isfinite(table["return_before"].to_numpy()).all()), "a return is no number")


def _check_states(table: pa.Table, first: int, last: int) -> None:
    key = table["key"].to_numpy()
    _demand(bool((key[1:] > key[:-1]).all()), "states are not in order of their keys")
    _demand(bool((table["visits"].to_numpy() >= 1).all()), "a state was never visited")
    for name in sorted({"value", *ROWS} & set(table.column_names)):
        kind = table[name].type
        plain = pa.types.is_fixed_size_list(kind) and _is_number(kind.value_type)
        _demand(plain, f"{name!r} holds {kind}, not rows of numbers")
        _demand(table[name].combine_chunks().flatten().null_count == 0, f"{name!r} has holes")
    _demand("value" in table.column_names, "the column 'value' is missing")
    _check_shape(table)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _check_shape(table: pa.Table) -> None:
    """Check the notes on how values are laid out; lists of length 0 are stored with one entry."""
    notes = table.schema.metadata or {}
    try:
        shape = [int(part) for part in notes[b"value_shape"].decode().split(",") if part]
        kind = np.dtype(notes[b"value_dtype"].decode()).kind
    except (KeyError, ValueError, TypeError, SyntaxError):
        raise WrongTable("it does not say how values are laid out") from None
    size = table["value"].type.list_size
    fits = all(part >= 0 for part in shape) and max(math.prod(shape), 1) == size
    _demand(fits and kind in "biuf", "values are not laid out as it says")


_VALUES: Mapping[str, Callable[[pa.Table, int, int], None]] = {
    "episodes": _check_episodes,
    "visits": _check_visits,
    "states": _check_states,
}
