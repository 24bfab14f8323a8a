"""Tables of a part, checked before anybody computes with them: columns, types, possible values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rpd_core.plugin.protocols.suite import ENDINGS
from rpd_core.store.tables import ROWS

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
