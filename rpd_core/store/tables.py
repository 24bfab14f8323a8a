"""Suites and episodes as Arrow tables, and back; files of strangers are checked first.

Which columns there are, of which type and with which values, stands in `protocols.suite`.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rpd_core.plugin.protocols import Array, Episodes, States, Suite, Visits
from rpd_core.plugin.protocols.suite import (
    INFO,
    SCHEMA_VERSION,
    Column,
    PrunedColumns,
    StateWords,
    Trace,
    columns_of,
)
from rpd_core.untrusted.boundary import printable

T = TypeVar("T")

LARGEST_TABLE = 2**32  # bytes of a table in memory, or of its file
_LARGEST_CONTENT = LARGEST_TABLE  # bytes that a file may say it unpacks to
_MOST_COLUMNS = 10_000
_TABLES: Mapping[str, tuple[type, ...]] = {
    "episodes": (Episodes,),
    "visits": (Visits,),
    "states": (States, StateWords),
    "trace": (Trace,),
}
"""What every file of a table holds."""
_TYPES: Mapping[str, pa.DataType] = {
    "int32": pa.int32(),
    "int64": pa.int64(),
    "uint64": pa.uint64(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
    "word": pa.dictionary(pa.int8(), pa.string()),
    "text": pa.dictionary(pa.int32(), pa.string()),  # as it is read: of equal ones, one is held
}


class WrongTable(Exception):
    """Says what in a table cannot be."""


# --------------------------------------------------------------------------------- writing


def suite_tables(suite: Suite, words: Sequence[str]) -> dict[str, pa.Table]:
    return {
        "states": table_of(suite.states, StateWords(words)),
        "visits": table_of(suite.visits),
        "episodes": table_of(suite.episodes),
    }


def table_of(*records: object) -> pa.Table:
    """Return records of the same rows as one table."""
    # Entries of `info` become columns named `info.<key>`; the shape of values is in the metadata.
    columns: dict[str, pa.Array | Array] = {}
    noted = {"rpd_schema": str(SCHEMA_VERSION)}
    for record in records:
        for name, column in columns_of(type(record)).items():
            values = getattr(record, name)
            if column.type == "number":
                noted["value_shape"] = ",".join(map(str, values.shape[1:]))
                noted["value_dtype"] = values.dtype.str
            elif column.each and not values.shape[1]:
                continue
            columns[name] = _packed(column, values)
        if isinstance(record, Episodes):
            columns |= {f"{INFO}{name}": values for name, values in record.info.items()}
    return pa.table(columns).replace_schema_metadata(noted)


def _packed(column: Column, values: Array) -> pa.Array | Array:
    if column.each:
        flat = np.ascontiguousarray(values).reshape(len(values), -1)
        if not flat.shape[1]:  # Arrow has no lists of length 0
            flat = np.zeros((len(flat), 1), dtype=flat.dtype)
        if flat.dtype == np.bool_:
            flat = flat.astype(np.uint8)
        return pa.FixedSizeListArray.from_arrays(pa.array(flat.reshape(-1)), flat.shape[1])
    if column.words:
        places = pa.array(values.astype(np.int8))
        return pa.DictionaryArray.from_arrays(places, pa.array(column.words))
    if column.type == "text":
        return pa.array(values, pa.string())
    return values.astype(np.int32) if column.type == "int32" else values


# --------------------------------------------------------------------------------- reading


def read_suite(tables: Mapping[str, pa.Table]) -> Suite:
    return Suite(
        read_episodes(tables["episodes"]),
        read_table(Visits, tables["visits"]),
        read_table(States, tables["states"]),
    )


def read_episodes(table: pa.Table) -> Episodes:
    names = [name for name in table.column_names if name.startswith(INFO)]
    info = {name.removeprefix(INFO): _plain(table[name]) for name in names}
    return read_table(Episodes, table, info=info)


def read_table(kind: type[T], table: pa.Table, **more: object) -> T:
    """Return the record behind a table; `more` are its fields that are no columns."""
    columns = columns_of(kind).items()
    return kind(**{name: _unpacked(column, table, name) for name, column in columns}, **more)


def _unpacked(column: Column, table: pa.Table, name: str) -> Array | None:
    if column.type == "number":
        shape, dtype = _layout(table)
        values = _from_lists(table[name])[:, : math.prod(shape)].astype(dtype, copy=False)
        return values.reshape(len(table), *shape)
    if column.each and name not in table.column_names:
        return np.zeros((len(table), 0), dtype=column.type)
    if column.each:
        return _from_lists(table[name]).astype(column.type, copy=False)
    if column.words:
        places = {word: place for place, word in enumerate(column.words)}
        found = table[name].cast(pa.string()).to_pylist()
        return np.array([places[word] for word in found], dtype=np.int64)
    return _plain(table[name])


def _plain(column: pa.ChunkedArray) -> Array:
    values = plain_numbers(column.combine_chunks())
    return values.astype(np.int64) if values.dtype == np.int32 else values


def plain_numbers(column: pa.Array) -> Array:
    """Return a column of Arrow's as an array; `to_numpy` itself imports pandas, half a second."""
    if column.null_count or not pa.types.is_primitive(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if pa.types.is_boolean(column.type):
        return np.from_dlpack(column.cast(pa.uint8())).view(np.bool_)
    return np.from_dlpack(column)


def _layout(table: pa.Table) -> tuple[list[int], np.dtype[Any]]:
    notes = table.schema.metadata or {}
    shape = [int(part) for part in notes[b"value_shape"].decode().split(",") if part]
    return shape, np.dtype(notes[b"value_dtype"].decode())


def _from_lists(column: pa.ChunkedArray) -> Array:
    size = column.type.list_size
    values = plain_numbers(column.combine_chunks().flatten())
    return values.reshape(len(column), size)


# -------------------------------------------------------------------------------- checking


def unpacked_table(name: str, content: bytes, rows: int, first: int, last: int) -> pa.Table:
    """Return the table in a file that holds these episodes, or raise `WrongTable`."""
    try:
        file = open_parquet(content, _texts_in(name))
        _refuse_bomb(file.metadata, rows)
        noted = (file.schema_arrow.metadata or {}).get(b"rpd_schema", b"none")
        found = noted.decode("utf-8", "replace")
        known = found == str(SCHEMA_VERSION)
        _demand(known, f"it has schema {printable(found, 40)}, this rpd reads {SCHEMA_VERSION}")
        check_columns(name, file.schema_arrow, file.metadata.num_rows)
        table = read_parquet(file)
    except (pa.ArrowException, OSError) as error:
        raise WrongTable(f"it cannot be read ({error})") from error
    check_table(name, table, first, last)
    return _with_plain_texts(name, table)


def _refuse_bomb(metadata: pq.FileMetaData, rows: int) -> None:
    """Refuse a small file that says it unpacks to far more than its part can hold."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    size = sum(group.total_byte_size for group in groups)
    held = metadata.num_rows == rows and metadata.num_columns <= _MOST_COLUMNS
    _demand(held and size <= _LARGEST_CONTENT, "it does not hold what its record says")


def check_columns(name: str, schema: pa.Schema, rows: int) -> None:
    """Raise `WrongTable` unless a table has its columns and fits memory, before it is unpacked."""
    # A few bytes may stand for billions of equal rows, and a long text for all of them.
    _demand(len(set(schema.names)) == len(schema.names), "it has two columns of one name")
    known, pruned = _columns(name), columns_of(PrunedColumns)
    for key, column in known.items():
        if key not in schema.names:
            left_out = column.each and column.type != "number"
            _demand(bool(left_out), f"the column {key!r} is missing")
            continue
        found = schema.field(key).type
        if column.each:
            inner = found.value_type if pa.types.is_fixed_size_list(found) else pa.null()
            plain = pa.types.is_integer(inner) or pa.types.is_floating(inner)
            _demand(plain, f"{key!r} holds {found}, not rows of numbers")
        else:
            wanted = _TYPES[column.type]
            _demand(found == wanted, f"{key!r} holds {found}, not {wanted}")
    for one in schema:
        if name == "episodes" and one.name not in known:
            wanted = _TYPES[pruned[one.name].type if one.name in pruned else "float64"]
            _demand(one.type == wanted, f"{one.name!r} holds {one.type}")
    check_room(schema, rows)


def _columns(name: str) -> dict[str, Column]:
    return {key: one for kind in _TABLES[name] for key, one in columns_of(kind).items()}


def check_room(schema: pa.Schema, rows: int) -> None:
    """Raise `WrongTable` unless so many rows fit memory."""
    width = 0
    for column in schema:
        kind, count = column.type, 1
        if pa.types.is_fixed_size_list(kind):
            kind, count = kind.value_type, kind.list_size
        if pa.types.is_dictionary(kind):
            kind = kind.index_type
        _demand(pa.types.is_primitive(kind), f"{column.name!r} holds {column.type}")
        width += int(kind.bit_width) * count
    fits = rows * width <= 8 * LARGEST_TABLE
    _demand(fits, f"its {rows} rows take more memory than a part may")


def _texts_in(name: str) -> list[str]:
    return [key for key, column in _columns(name).items() if column.type == "text"]


def _with_plain_texts(name: str, table: pa.Table) -> pa.Table:
    """Return a table whose columns of texts have each in its row; they must fit memory."""
    for column in _texts_in(name):
        size = 0
        for chunk in table[column].chunks:
            lengths = plain_numbers(pc.binary_length(chunk.dictionary))
            places = plain_numbers(chunk.indices)
            size += int(lengths[places].sum(dtype=np.int64)) if len(places) else 0
        _demand(size <= LARGEST_TABLE, "its texts take more memory than a part may")
        place = table.column_names.index(column)
        table = table.set_column(place, column, table[column].cast(pa.string()))
    return table


def check_table(name: str, table: pa.Table, first: int, last: int) -> None:
    """Raise `WrongTable` unless a table of these episodes has possible values."""
    for column in table.column_names:
        _demand(table[column].null_count == 0, f"{column!r} has holes")
    for column, declared in _columns(name).items():
        if column in table.column_names:
            _check_values(column, declared, table)
    _check_order(name, table, first, last)


def _check_values(name: str, column: Column, table: pa.Table) -> None:
    if column.each:
        flat = table[name].combine_chunks().flatten()
        _demand(flat.null_count == 0, f"{name!r} has holes")
    if column.type == "number":
        _check_shape(table, name)
    if column.words:
        found = set(pc.unique(table[name].cast(pa.string())).to_pylist())
        _demand(found <= set(column.words), column.wrong)
    if column.finite:
        _demand(bool(np.isfinite(_plain(table[name])).all()), column.wrong)
    if column.least is not None:
        _demand(bool((_plain(table[name]) >= column.least).all()), column.wrong)
    if column.most is not None:
        most = _plain(table[column.most]) if isinstance(column.most, str) else column.most
        _demand(bool((_plain(table[name]) <= most).all()), column.wrong)


def _check_shape(table: pa.Table, name: str) -> None:
    """Check the notes on how values are laid out; lists of length 0 are stored with one entry."""
    try:
        shape, dtype = _layout(table)
    except (KeyError, ValueError, TypeError, SyntaxError):
        raise WrongTable("it does not say how values are laid out") from None
    size = table[name].type.list_size
    fits = all(part >= 0 for part in shape) and max(math.prod(shape), 1) == size
    _demand(fits and dtype.kind in "biuf", "values are not laid out as it says")


def check_together(tables: Mapping[str, pa.Table]) -> None:
    """Raise `WrongTable` unless the states of a part are those that its episodes visited."""
    if {"visits", "states"} <= set(tables):
        known = _plain(tables["states"]["key"])
        visited = np.unique(_plain(tables["visits"]["key"]))
        _demand(np.array_equal(visited, known), "its visits are not of its states")


def _demand(holds: bool, wrong: str) -> None:
    if not holds:
        raise WrongTable(wrong)


def _check_order(name: str, table: pa.Table, first: int, last: int) -> None:
    if name == "episodes":
        index = _plain(table["index"])
        whole = len(index) == last - first + 1  # a range may be said that no memory holds
        whole = whole and np.array_equal(index, np.arange(first, last + 1))
        _demand(whole, "it does not hold its episodes")
        return
    if name == "states":
        key = _plain(table["key"])
        _demand(bool((key[1:] > key[:-1]).all()), "states are not in order of their keys")
        return
    episode = _plain(table["episode"])
    if name == "visits":
        in_order, rows = np.diff(episode) >= 0, "visits"
    else:
        step, later = _plain(table["step"]), np.diff(episode, prepend=-1)
        follows = (later == 0) & (np.diff(step, prepend=0) == 1)
        in_order, rows = ((later > 0) & (step == 0)) | follows, "steps"
    inside = (episode >= first) & (episode <= last)
    _demand(bool(inside.all()), f"{rows} are of other episodes")
    _demand(bool(in_order.all()), f"{rows} are not in order")


def open_parquet(content: bytes, texts: Sequence[str] = ()) -> pq.ParquetFile:
    """Open the content of a file; each text in the columns `texts` is read once."""
    return pq.ParquetFile(io.BytesIO(content), read_dictionary=list(texts), pre_buffer=False)


def read_parquet(file: pq.ParquetFile, columns: Sequence[str] | None = None) -> pa.Table:
    return file.read(None if columns is None else list(columns), use_threads=False)


def packed_table(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    content: bytes = sink.getvalue().to_pybytes()
    return content
