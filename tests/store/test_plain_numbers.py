"""Columns of Arrow's become arrays, and reading a run imports no pandas."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from rpd_core.store.tables import plain_numbers


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ([1, -2, 3], pa.int32()),
        ([2**64 - 1, 0], pa.uint64()),
        ([0.5, -0.0], pa.float64()),
        ([True, False, True] * 5, pa.bool_()),
        ([], pa.int64()),
        ([1.0, None], pa.float64()),
    ],
)
def test_numbers_are_what_pyarrow_makes_of_them(given: list[float], kind: pa.DataType) -> None:
    column = pa.array(given, kind)
    for some in (column, column[1:]):
        expected = some.to_numpy(zero_copy_only=False)
        found = plain_numbers(some)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_numbers_are_read_without_pandas() -> None:
    program = """
import sys
import pyarrow as pa
from rpd_core.store.tables import plain_numbers
for kind in (pa.int64(), pa.bool_()):  # as it is read: to make one of a list imports pandas, too
    plain_numbers(pa.Array.from_buffers(kind, 2, [None, pa.py_buffer(bytes(16))]))
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
