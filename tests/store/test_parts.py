"""Part files: whole or not there, known by their range, configuration and checksums."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpd_core.errors import StoreError
from rpd_core.plugin.blame import origin_of
from rpd_core.plugin.protocols import Episodes
from rpd_core.store.files import write_whole
from rpd_core.store.parts import Parts
from rpd_core.store.tables import table_of

ORIGIN = origin_of([])


def rows(first: int, last: int) -> pa.Table:
    index = np.arange(first, last + 1)
    ones = np.ones(len(index))
    steps = ones.astype(np.int64)
    return table_of(Episodes(index, index, ones, steps, 0 * steps, steps, steps))


def parts_at(path: Path, *ranges: tuple[int, int], configuration: str = "c0ffee00") -> Parts:
    parts = Parts(path, ("episodes",), configuration, path)
    for first, last in ranges:
        parts.write(first, last, {"episodes": rows(first, last)}, ORIGIN)
    return parts


# ------------------------------------------------------------------------- whole files


def test_leftovers_of_interrupted_writes_are_ignored(tmp_path: Path) -> None:
    parts = parts_at(tmp_path, (0, 9))
    (tmp_path / ".part-000000010-000000019.parquet.99.tmp").write_bytes(b"PAR1 half")
    (tmp_path / "part-000000010-000000019.parquet").write_bytes(b"no record yet")
    (tmp_path / "notes.txt").write_text("mine")
    assert parts.covered() == [(0, 9)]
    assert parts.gaps(30, 10) == [(10, 19), (20, 29)]


def test_a_failed_write_leaves_the_old_file_and_no_leftover(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a.json"
    write_whole(target, b"old")

    def full(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(StoreError, match=r"cannot write .*a\.json.: No space left on device"):
        write_whole(target, b"new")
    assert [(e.name, e.read_bytes()) for e in tmp_path.iterdir()] == [("a.json", b"old")]


def test_a_part_whose_record_was_not_written_is_missing(tmp_path: Path) -> None:
    parts = parts_at(tmp_path, (0, 9), (10, 19))
    (tmp_path / "part-000000000-000000009.json").unlink()
    assert parts.covered() == [(10, 19)]
    assert parts.gaps(20, 10) == [(0, 9)]


def test_a_part_of_another_schema_is_refused(tmp_path: Path) -> None:
    parts = Parts(tmp_path, ("episodes",), "c0ffee00", tmp_path)
    parts.write(0, 0, {"episodes": pa.table({"index": [0]})}, ORIGIN)
    with pytest.raises(StoreError, match="has schema none, this rpd reads 5"):
        parts.read(0, 0)


def test_a_part_that_does_not_hold_its_episodes_is_refused(tmp_path: Path) -> None:
    parts = Parts(tmp_path, ("episodes",), "c0ffee00", tmp_path)
    parts.write(0, 9, {"episodes": rows(5, 14)}, ORIGIN)
    with pytest.raises(StoreError, match="does not hold its episodes"):
        parts.read(0, 9)


# ------------------------------------------------------------------------- missing ranges


@st.composite
def ranges(draw: Any) -> list[tuple[int, int]]:
    """Disjoint ranges in order."""
    edges = sorted(draw(st.sets(st.integers(0, 60), max_size=12)))
    return [(first, last - 1) for first, last in zip(edges[::2], edges[1::2], strict=False)]


class Covering(Parts):
    """Parts whose files are made up."""

    def __init__(self, ranges: list[tuple[int, int]]) -> None:
        self.ranges = ranges

    def covered(self) -> list[tuple[int, int]]:
        return self.ranges


@given(ranges(), st.integers(1, 70), st.integers(1, 25))
def test_missing_ranges_are_exactly_the_gaps_cut_at_chunks(
    covered: list[tuple[int, int]], total: int, chunk: int
) -> None:
    gaps = Covering(covered).gaps(total, chunk)
    there = {index for first, last in covered for index in range(first, last + 1)}
    found = [index for first, last in gaps for index in range(first, last + 1)]
    assert found == sorted(set(range(total)) - there)
    assert all(first <= last for first, last in gaps)
    assert all(first // chunk == last // chunk for first, last in gaps)


def test_missing_ranges_by_hand() -> None:
    assert Covering([]).gaps(25, 10) == [(0, 9), (10, 19), (20, 24)]
    assert Covering([(0, 9), (20, 24)]).gaps(40, 10) == [(10, 19), (25, 29), (30, 39)]
    assert Covering([(0, 9)]).gaps(10, 10) == []
    assert Covering([(0, 99)]).gaps(10, 10) == []


def test_more_parts_than_memory_holds_are_refused_before_they_are_listed() -> None:
    with pytest.raises(StoreError, match="are more than 1000000 parts: ask for fewer episodes"):
        Covering([]).gaps(10**12, 250)
