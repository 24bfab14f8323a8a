"""Suites and episodes as Arrow tables, and back; tables of strangers are checked first."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rpd_core.errors import StoreError
from rpd_core.plugin.protocols import ENDINGS, Episodes, States, Suite, Visits

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
_NARROW = {"length", "policy_steps", "first_step", "count", "differed"}


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
    return column.astype(np.int32) if name in _NARROW else column


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


LARGEST_TABLE = 2**32
"""Bytes of a table in memory, or of its file."""
_WORDS = "words"
"""The one column of texts; read as a list of different ones and where each stands."""
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
        "value_gap": _REAL, "entropy": _REAL, _WORDS: pa.dictionary(pa.int32(), pa.string()),
    },
}  # fmt: skip
_POINT = ("ranking", "kept", "test_episode")
"""Columns that only the episodes of pruned policies have."""


class WrongTable(Exception):
    """Says what in a table cannot be."""


def check_columns(name: str, schema: pa.Schema, rows: int) -> None:
    """Raise `WrongTable` unless a table has its columns and fits memory, before it is unpacked.

    A few bytes may stand for billions of equal rows, and a long text for all of them.
    """
    names = schema.names
    _demand(len(set(names)) == len(names), "it has two columns of one name")
    for column, kind in _COLUMNS[name].items():
        _demand(column in names, f"the column {column!r} is missing")
        found = schema.field(column).type
        _demand(found == kind, f"{column!r} holds {found}, not {kind}")
    for column in schema:
        if name == "episodes" and column.name not in _COLUMNS[name]:
            wanted = _WHOLE if column.name in _POINT else _REAL
            _demand(column.type == wanted, f"{column.name!r} holds {column.type}")
    check_room(schema, rows)


def check_room(schema: pa.Schema, rows: int) -> None:
    """Raise `WrongTable` unless so many rows fit memory."""
    width = sum(_bits(column) for column in schema)
    fits = rows * width <= 8 * LARGEST_TABLE
    _demand(fits, f"its {rows} rows take more memory than a part may")


def texts_in(name: str) -> list[str]:
    """Return the columns of texts in a table, of which equal ones are to be read once."""
    return [_WORDS] if _WORDS in _COLUMNS[name] else []


def _bits(column: pa.Field) -> int:
    """Return the room that a row takes in a column."""
    kind, count = column.type, 1
    if pa.types.is_fixed_size_list(kind):
        kind, count = kind.value_type, kind.list_size
    if pa.types.is_dictionary(kind):
        kind = kind.index_type
    _demand(pa.types.is_primitive(kind), f"{column.name!r} holds {column.type}")
    return int(kind.bit_width) * count


def check_table(name: str, table: pa.Table, first: int, last: int) -> None:
    """Raise `WrongTable` unless a table of these episodes has possible values."""
    for column in table.column_names:
        _demand(table[column].null_count == 0, f"{column!r} has holes")
    _VALUES[name](table, first, last)


def with_plain_words(table: pa.Table) -> pa.Table:
    """Return a table whose column of texts has each in its row; they must fit memory."""
    if _WORDS not in table.column_names:
        return table
    size = sum(_text_bytes(chunk) for chunk in table[_WORDS].chunks)
    _demand(size <= LARGEST_TABLE, "its texts take more memory than a part may")
    place = table.column_names.index(_WORDS)
    return table.set_column(place, _WORDS, table[_WORDS].cast(pa.string()))


def _text_bytes(chunk: pa.DictionaryArray) -> int:
    lengths = pc.binary_length(chunk.dictionary).to_numpy(zero_copy_only=False)
    places = chunk.indices.to_numpy(zero_copy_only=False)
    return int(lengths[places].sum(dtype=np.int64)) if len(places) else 0


def check_together(tables: Mapping[str, pa.Table]) -> None:
    """Raise `WrongTable` unless the states of a part are those that its episodes visited."""
    if {"visits", "states"} <= set(tables):
        known = tables["states"]["key"].to_numpy()
        visited = np.unique(tables["visits"]["key"].to_numpy())
        _demand(np.array_equal(visited, known), "its visits are not of its states")


def _demand(holds: bool, wrong: str) -> None:
    if not holds:
        raise WrongTable(wrong)


def _check_episodes(table: pa.Table, first: int, last: int) -> None:
    index = table["index"].to_numpy()
    whole = len(index) == last - first + 1  # a range may be said that no memory holds
    whole = whole and np.array_equal(index, np.arange(first, last + 1))
    _demand(whole, "it does not hold its episodes")
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
