"""A few bytes never become gigabytes or hours: what is made of them is charged, and so is time."""

from __future__ import annotations

import io
import os
import struct
import threading
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rpd_core.errors import SpecError
from rpd_core.untrusted import boundary as budgets
from rpd_core.untrusted.arrays import (
    ARRAYS,
    TENSORS,
    NumberKind,
    Shelf,
    Storage,
    StoredTensor,
    stored_row,
)
from rpd_core.untrusted.boundary import Budget, Flaw, Refused, loading
from rpd_core.untrusted.files import open_regular, read_all, read_bounded, read_json
from rpd_core.untrusted.pickles import AllowedNames, Holder, read_pickle
from rpd_core.untrusted.zips import BoundedZip

_ROOM = 2**20
"""Bytes that a budget lets be made in these tests."""
_MEMORY = 2**25
"""Bytes that reading takes at most, then."""
NAMES = AllowedNames(ARRAYS | TENSORS | {"a.Thing": Holder.of("thing")}, outside=stored_row)


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def memo(value: bytes, place: int) -> bytes:
    """Make a value and put it into the memo, but not onto the stack."""
    return value + b"q" + bytes([place]) + b"0"


def called(name: str, arguments: bytes) -> bytes:
    module, _, word = name.rpartition(".")
    return f"c{module}\n{word}\n(".encode() + arguments + b"tR"


LETTERS = memo(text("x" * 50_000), 0)
PAIRS = memo(b"]" + b"(" + b"K\x00K\x01\x86" * 5_000 + b"e", 0)
TABLE = memo(b"}" + b"(" + b"".join(text(f"k{n}") + b"N" for n in range(5_000)) + b"u", 0)
LONG = memo(b"(" + b"N" * 5_000 + b"t", 0)
DTYPE = memo(called("numpy.dtype", text("u1") + b"K\x00K\x01"), 1)
BYTES = memo(b"B" + struct.pack("<I", 50_000) + b"x" * 50_000, 0)
BOMBS = {
    "a text is encoded again and again": LETTERS
    + called("_codecs.encode", b"h\x00" + text("latin1")) * 1000,
    "a dictionary is copied again and again": PAIRS
    + called("collections.OrderedDict", b"h\x00") * 1000,
    "an array is made again and again": BYTES
    + DTYPE
    + called("numpy.core.numeric._frombuffer", b"h\x00h\x01M\x50\xc3" + text("C")) * 1000,
    "holders are filled with one table": TABLE + b"ca\nThing\n)Rh\x00b" * 1000,
    "a state is in a pair": TABLE + b"ca\nThing\n)RNh\x00\x86b" * 1000,
    "arguments are spread out again and again": LONG + b"ca\nThing\nh\x00R0" * 1000,
    "long names are looked up": memo(text("collections"), 0)
    + memo(text("y" * 50_000), 1)
    + b"h\x00h\x01\x930" * 1000,
    "an identifier is spread out again and again": LONG + b"h\x00Q0" * 1000,
}


@contextmanager
def little_memory() -> Iterator[None]:
    """Check that what is done meanwhile never holds much memory."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < _MEMORY
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("case", BOMBS)
def test_what_a_pickle_hands_over_again_is_charged_again(case: str) -> None:
    raw = b"\x80\x02" + BOMBS[case] + b"."
    lenient = AllowedNames(NAMES.known, lambda reference: reference, lambda identifier: None)
    with little_memory(), pytest.raises(Refused, match="far more bytes than are stored in it"):
        read_pickle(raw, lenient, Budget(_ROOM, made=_ROOM))


def test_a_class_of_holders_is_made_once_for_each_name() -> None:
    made: list[str] = []

    def otherwise(reference: Any) -> type[Holder]:
        made.append(str(reference))
        return Holder.of(str(reference))

    raw = b"\x80\x02(" + b"ca\nOther\n)R" * 1000 + b"t."
    held = read_pickle(raw, AllowedNames({}, otherwise), Budget(_ROOM))
    assert made == ["a.Other"]
    assert len({type(one) for one in held}) == 1


# ----------------------------------------------------------------------------------------- zips


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_are_stored_or_deflated(packing: int) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", packing) as archive:
        archive.writestr("a", bytes(2**26))
    raw = bytearray(stream.getvalue())
    place = raw.rfind(b"PK\x01\x02")
    struct.pack_into("<I", raw, place + 24, 1000)  # what it claims to unpack to
    with little_memory(), pytest.raises(Flaw, match="packed in a way that is not read"):
        BoundedZip(io.BytesIO(bytes(raw)), Budget(2**31)).read("a")


def test_a_deflated_member_is_not_unpacked_beyond_what_it_claims() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(2**28))
    raw = bytearray(stream.getvalue())
    struct.pack_into("<I", raw, raw.rfind(b"PK\x01\x02") + 24, 1000)
    with little_memory(), pytest.raises(zipfile.BadZipFile):
        BoundedZip(io.BytesIO(bytes(raw)), Budget(2**31)).read("a")


# ----------------------------------------------------------------------------------------- JSON


def test_every_value_of_a_json_text_is_charged_before_it_is_parsed() -> None:
    budget = Budget(0, made=10_000)
    assert read_json(b'{"a": [1, 2.5, "x"], "b": null}', budget) == {"a": [1, 2.5, "x"], "b": None}
    assert budget.made == 10_000 - 31 - 7 * budgets.ITEM
    with little_memory(), pytest.raises(Flaw, match="far more bytes"):
        read_json(b"[" + b"[],[[]]," * 100_000 + b"0]", Budget(0, made=_ROOM))


@pytest.mark.parametrize("content", [b"[" * 101 + b"]" * 101, b"[" * 10**6, b'{"a":' * 10**5])
def test_json_is_not_nested_deeply(content: bytes) -> None:
    with pytest.raises(Flaw, match="nested too deeply"):
        read_json(content, Budget(0))


@pytest.mark.parametrize("content", [b'{"a": [1, 2', b'{"a": "x', b"]", b"\xff", b"[1]2", b""])
def test_damaged_json_is_left_to_the_parser(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"(?!.*deeply)."):
        read_json(content, Budget(0))


def test_brackets_in_texts_do_not_nest() -> None:
    assert read_json(b'["' + b"[" * 500 + b'\\"{"]', Budget(0)) == ["[" * 500 + '"{']


@pytest.mark.parametrize("content", [b'"' * 10**6, b'["' + b'\\"' * 10**6, b"[" + b"[]," * 10**6])
def test_the_depth_of_json_is_found_in_time_that_grows_with_it(content: bytes) -> None:
    begun = time.process_time()
    with pytest.raises((Flaw, ValueError)):
        read_json(content, Budget(0, made=2**40))
    assert time.process_time() - begun < 10


# ----------------------------------------------------------------------------------------- time


def test_loading_has_one_limit_for_all_that_it_reads() -> None:
    with loading(0.05), loading(1000):
        budget = Budget(1000)
        budget.take_bytes(1, "it")
        time.sleep(0.06)
        for take in (lambda: budget.take_bytes(1, "it"), budget.take_operations, budget.check_time):
            with pytest.raises(Flaw, match=r"longer than 0\.05 seconds: .* longer --load-timeout"):
                take()
        with pytest.raises(Flaw, match="--load-timeout"):
            Budget(1000).take_made(1)
    Budget(1000).take_bytes(1, "it")


def test_a_clock_that_is_set_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with loading(60):
        monkeypatch.setattr(time, "time", lambda: 0.0)
        Budget(1000).take_bytes(1, "it")
        monkeypatch.setattr(time, "time", lambda: 2.0**40)
        Budget(1000).take_bytes(1, "it")


@pytest.mark.parametrize("case", ["pickle", "zip"])
def test_reading_ends_when_loading_has_taken_too_long(case: str) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(2**22))
    read: dict[str, Callable[[Budget], Any]] = {
        "pickle": lambda budget: read_pickle(b"\x80\x02" + b"N0" * 1000 + b"N.", NAMES, budget),
        "zip": lambda budget: BoundedZip(stream, budget).read("a"),
    }
    with pytest.raises(Flaw, match="longer than 60 seconds"):
        read[case](Budget(2**30, limit=(time.monotonic() - 61, 60.0)))


# -------------------------------------------------------------------------------------- tensors


class Row:
    """A row of numbers that counts how many are searched."""

    def __init__(self, numbers: Any) -> None:
        self.numbers = numbers

    def as_strided(self, size: Any, stride: Any, offset: int) -> Any:
        return Row(np.lib.stride_tricks.as_strided(self.numbers[offset:], size, [4 * stride[0]]))


def test_tensors_that_share_their_numbers_are_searched_once() -> None:
    searched: list[int] = []

    def is_finite(row: Row) -> bool:
        searched.append(row.numbers.size)
        return bool(np.isfinite(row.numbers).all())

    float32 = NumberKind("float32", 4)
    content = {"0": np.zeros(1000, np.float32), "1": np.full(1000, np.nan, np.float32)}
    content["1"][:10] = 0
    shelf = Shelf(
        lambda storage: content[storage.key].tobytes(),
        lambda raw, kind: Row(np.frombuffer(raw, kind)),
    )

    def found(key: str, size: int, offset: int = 0) -> bool:
        stored = StoredTensor(Storage(key, float32, 1000), offset, (size,), (1,))
        shelf.tensor(stored)
        return shelf.is_finite(stored, is_finite, budget)

    budget = Budget(0, made=100)
    assert [found("0", 900) for _ in range(50)] == [True] * 50
    assert searched == [1000]
    assert found("1", 10)  # nothing of the NaN beside it
    assert budget.made == 60
    assert not found("1", 10, 5)
    with pytest.raises(Flaw, match="far more bytes"):
        found("1", 10)
    assert searched == [1000, 1000, 10, 10]


# ---------------------------------------------------------------------------------------- files


def test_a_pipe_is_not_waited_for_and_a_device_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zeros").symlink_to("/dev/zero")
    before = threading.active_count()
    for name in ("pipe", "zeros"):
        for read in (
            lambda path: read_bounded(path, Budget(1000), "give a file"),
            lambda path: read_all(path, "give a file"),
            lambda path: open_regular(path, "give a file").__enter__(),
        ):
            with pytest.raises(SpecError, match="a device or a pipe, not a regular file: give"):
                read(tmp_path / name)
    with pytest.raises(SpecError, match="is a directory: give"):
        read_all(tmp_path, "give a file")
    assert threading.active_count() == before
