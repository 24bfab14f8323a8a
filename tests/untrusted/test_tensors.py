"""Tensors lie within the bytes that are stored for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from rpd_core.untrusted.arrays import (
    TENSORS,
    NumberKind,
    Shelf,
    Storage,
    StoredTensor,
    stored_row,
)
from rpd_core.untrusted.boundary import Flaw, Refused

FLOAT = NumberKind("float32", 4)
ROW = Storage("0", FLOAT, 12)
RAW = np.arange(12, dtype=np.float32).tobytes()


class Row:
    """A row of numbers that can be seen in strides, as torch has it."""

    def __init__(self, raw: bytes, kind: str) -> None:
        self.numbers = np.frombuffer(raw, kind)

    def as_strided(self, size: Any, stride: Any, offset: int) -> np.ndarray:
        steps = [4 * step for step in stride]
        return as_strided(self.numbers[offset:], size, steps)


def shelf(repeats: int = 0) -> Shelf:
    return Shelf(lambda storage: RAW, Row, repeats)


def test_tensors_are_cut_from_a_row_and_share_it() -> None:
    made = shelf()
    whole = made.tensor(StoredTensor(ROW, 0, (3, 4), (4, 1)))
    column = made.tensor(StoredTensor(ROW, 1, (3,), (4,)))
    assert whole.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert column.tolist() == [1, 5, 9]
    assert np.shares_memory(whole, column)


@pytest.mark.parametrize(
    ("offset", "size", "stride"),
    [(0, (4, 4), (4, 1)), (1, (3, 4), (4, 1)), (0, (3, 4), (5, 1)), (13, (0,), (1,))],
)
def test_a_tensor_that_reaches_beyond_its_numbers_is_refused(
    offset: int, size: tuple[int, ...], stride: tuple[int, ...]
) -> None:
    with pytest.raises(Flaw, match=r"'w' in it are of size .* but only 12 numbers are stored"):
        shelf().tensor(StoredTensor(ROW, offset, size, stride), "'w'")


def test_numbers_are_used_several_times_only_where_a_loader_allows_it() -> None:
    stored = StoredTensor(ROW, 0, (100,), (0,))
    assert shelf(repeats=100).tensor(stored).shape == (100,)
    for most in (0, 99):
        with pytest.raises(Flaw, match="only 12 numbers"):
            shelf(repeats=most).tensor(stored)


def test_a_row_must_have_the_bytes_that_it_says() -> None:
    longer = StoredTensor(Storage("0", FLOAT, 13), 0, (3,), (1,))
    with pytest.raises(Flaw, match="need 52 bytes, but 48 are stored"):
        shelf().tensor(longer)


def test_a_row_is_of_one_type() -> None:
    made = shelf()
    made.tensor(StoredTensor(ROW, 0, (3,), (1,)))
    with pytest.raises(Flaw, match="described in two ways"):
        made.tensor(StoredTensor(Storage("0", NumberKind("int32", 4), 12), 0, (3,), (1,)))


@pytest.mark.parametrize(
    "identifier",
    [
        "storage",
        ("storage", "Float", "0", "cpu", 3),
        ("storage", FLOAT, "0", "cpu", -1),
    ],
)
def test_rows_that_make_no_sense_are_refused(identifier: Any) -> None:
    with pytest.raises(Refused):
        stored_row(identifier)


@pytest.mark.parametrize(
    "arguments",
    [(ROW, -1, (3,), (1,)), (ROW, 0, (3,), (1, 1)), (ROW, 0, (3,), (-1,)), ("row", 0, (3,), (1,))],
)
def test_tensors_that_make_no_sense_are_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(Refused, match="makes no sense"):
        TENSORS["torch._utils._rebuild_tensor_v2"](*arguments)
