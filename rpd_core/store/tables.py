"""Suites and episodes as Arrow tables, and back: the stored schema."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rpd_core.errors import StoreError
from rpd_core.plugin.protocols import Episodes, States, Suite, Visits
from rpd_core.plugin.protocols.suite import ENDINGS

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array

SCHEMA_VERSION = 4
"""Stored with every table; raised when a column changes its meaning."""

_INFO = "info."
ROWS = (
    "choices", "default_choices",
    "action_sum", "action_squares", "default_sum", "default_squares",
)  # fmt: skip
"""Columns of states that hold a row of numbers each; those without entries are not stored."""
_SMALL = {"length", "policy_steps", "first_step", "count", "differed"}


def suite_tables(suite: Suite, words: Sequence[str]) -> dict[str, pa.Table]:
    """Return the three tables of a suite, with each state in words."""
    return {
        "states": states_table(suite.states).append_column("words", [pa.array(words, pa.string())]),
        "visits": visits_table(suite.visits),
        "episodes": episodes_table(suite.episodes),
    }


def check_schema(schema: pa.Schema, where: str) -> None:
    """Refuse a table that was written with another schema."""
    found = (schema.metadata or {}).get(b"rpd_schema", b"none").decode()
    if found != str(SCHEMA_VERSION):
        raise StoreError(f"{where} has schema {found}, this rpd reads {SCHEMA_VERSION}")


def read_suite(tables: dict[str, pa.Table]) -> Suite:
    """Return the suite behind three tables."""
    return Suite(
        read_episodes(tables["episodes"]),
        read_visits(tables["visits"]),
        read_states(tables["states"]),
    )


def episodes_table(episodes: Episodes) -> pa.Table:
    """Return one row per episode; entries of `info` become columns named `info.<key>`."""
    columns: dict[str, Any] = {
        item.name: _narrow(item.name, getattr(episodes, item.name))
        for item in fields(episodes)
        if item.name not in ("info", "ended")
    }
    endings = pa.DictionaryArray.from_arrays(
        pa.array(episodes.ended.astype(np.int8)), pa.array(ENDINGS)
    )
    columns["ended"] = endings
    columns |= {f"{_INFO}{name}": column for name, column in episodes.info.items()}
    return _table(columns)


def read_episodes(table: pa.Table) -> Episodes:
    """Return the episodes behind a table."""
    names = [item.name for item in fields(Episodes) if item.name not in ("info", "ended")]
    columns = {name: _column(table, name) for name in names}
    ended = table["ended"].cast(pa.string()).to_pylist()
    info = {
        name.removeprefix(_INFO): _column(table, name)
        for name in table.column_names
        if name.startswith(_INFO)
    }
    codes = {name: code for code, name in enumerate(ENDINGS)}
    return Episodes(**columns, ended=np.array([codes[e] for e in ended], dtype=np.int64), info=info)


def visits_table(visits: Visits) -> pa.Table:
    """Return one row per (episode, state visited in it)."""
    return _table(
        {item.name: _narrow(item.name, getattr(visits, item.name)) for item in fields(visits)}
    )


def read_visits(table: pa.Table) -> Visits:
    """Return the visits behind a table."""
    return Visits(**{item.name: _column(table, item.name) for item in fields(Visits)})


def states_table(states: States) -> pa.Table:
    """Return one row per state; `value` is a list whose shape is in the metadata."""
    columns: dict[str, Any] = {
        item.name: getattr(states, item.name)
        for item in fields(states)
        if item.name not in ("value", *ROWS)
    }
    columns["value"] = _fixed_lists(states.value)
    for name in ROWS:
        if getattr(states, name).shape[1]:
            columns[name] = _fixed_lists(getattr(states, name))
    shape = ",".join(map(str, states.value.shape[1:]))
    return _table(columns, {"value_shape": shape, "value_dtype": states.value.dtype.str})


def read_states(table: pa.Table) -> States:
    """Return the states behind a table."""
    names = [item.name for item in fields(States) if item.name not in ("value", *ROWS)]
    columns = {name: _column(table, name) for name in names}
    metadata = table.schema.metadata
    shape = [int(part) for part in metadata[b"value_shape"].decode().split(",") if part]
    values = _from_lists(table["value"])[:, : math.prod(shape)]
    values = values.astype(metadata[b"value_dtype"].decode(), copy=False)
    columns |= {name: _rows(table, name) for name in ROWS}
    return States(**columns, value=values.reshape(len(table), *shape))


def _rows(table: pa.Table, name: str) -> Array:
    kind = np.int64 if name.endswith("choices") else np.float64
    if name not in table.column_names:
        return np.zeros((len(table), 0), dtype=kind)
    return _from_lists(table[name]).astype(kind, copy=False)


def _table(columns: dict[str, Any], metadata: dict[str, str] | None = None) -> pa.Table:
    noted = {"rpd_schema": str(SCHEMA_VERSION), **(metadata or {})}
    return pa.table(columns).replace_schema_metadata(noted)


def _narrow(name: str, column: Array) -> Array:
    return column.astype(np.int32) if name in _SMALL else column


def _column(table: pa.Table, name: str) -> Array:
    column: Array = table[name].combine_chunks().to_numpy(zero_copy_only=False)
    return column.astype(np.int64) if column.dtype == np.int32 else column


def _fixed_lists(rows: Array) -> pa.Array:
    flat = np.ascontiguousarray(rows).reshape(len(rows), -1)
    if not flat.shape[1]:  # Arrow has no lists of length 0
        flat = np.zeros((len(flat), 1), dtype=flat.dtype)
    if flat.dtype == np.bool_:
        flat = flat.astype(np.uint8)
    return pa.FixedSizeListArray.from_arrays(pa.array(flat.reshape(-1)), flat.shape[1])


def _from_lists(column: Any) -> Array:
    size = column.type.list_size
    values: Array = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return values.reshape(len(column), size)
