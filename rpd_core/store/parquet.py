"""Parquet files, written whole, read by the thread that asks.

Arrow's own threads let go of the content after the table has been returned. That takes the lock of
Python, and if Python is ending by then, the whole process aborts.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq


def open_parquet(content: bytes, texts: Sequence[str] = ()) -> pq.ParquetFile:
    """Open the content of a file; each text in the columns `texts` is read once."""
    return pq.ParquetFile(io.BytesIO(content), read_dictionary=list(texts), pre_buffer=False)


def read_parquet(file: pq.ParquetFile, columns: Sequence[str] | None = None) -> pa.Table:
    """Return the table in an opened file, or some of its columns."""
    return file.read(None if columns is None else list(columns), use_threads=False)


def packed_table(table: pa.Table) -> bytes:
    """Return a table as the content of its file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    content: bytes = sink.getvalue().to_pybytes()
    return content
