"""Parts that are not what was written: refused by name when read, played again when written."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stores import build, contents, corridor, finish, ready, session_at

import rpd
from rpd_core.errors import StoreError

PART = "part-000000020-000000039"
FILES = {
    "record": f"suite/{PART}.json",
    "episodes": f"suite/episodes/{PART}.parquet",
    "visits": f"suite/visits/{PART}.parquet",
    "states": f"suite/states/{PART}.parquet",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ready(tmp_path_factory.mktemp("whole") / "run").path


@pytest.fixture(scope="module")
def other_seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("other") / "run"
    finish(path, corridor(seed=1))
    return path


def check_damage(path: Path, whole: Path, told: str) -> None:
    """Check that a damaged run is refused by name when read, and mended when written."""
    with pytest.raises(StoreError) as caught:
        rpd.open_run(path).ranking("tarantula")
    line = str(caught.value)
    assert PART in line, line
    assert told in line
    assert "\n" not in line
    notes: list[str] = []
    build(session_at(path, corridor(), note=notes.append))
    assert len(notes) == 1, notes
    assert PART in notes[0]
    assert notes[0].endswith("; it is played again")
    assert contents(path, "*") == contents(whole, "*"), "the same bytes as an unbroken run"


def test_a_part_says_what_it_holds_and_who_played_it(whole: Path) -> None:
    record = json.loads((whole / FILES["record"]).read_text())
    assert (record["first"], record["last"]) == (20, 39)
    directory = rpd.open_run(whole).directory
    assert record["configuration"] == directory.suite().configuration
    for table in ("episodes", "visits", "states"):
        content = (whole / FILES[table]).read_bytes()
        assert record["digests"][table] == hashlib.sha256(content).hexdigest()
        assert record["rows"][table] == pq.read_table(pa.BufferReader(content)).num_rows
    assert record["rows"]["episodes"] == 20
    assert record["origin"]["distributions"]["numpy"] == np.__version__
    for path in whole.glob("pruning/*/part-*.json"):
        record = json.loads(path.read_text())
        assert record["configuration"] == path.parent.name.rpartition("-")[2]
        for table, digest in record["digests"].items():
            several = len(record["digests"]) > 1
            name = path.with_suffix(".parquet").name
            content = (path.parent / table / name if several else path.parent / name).read_bytes()
            assert digest == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("table", ["episodes", "visits", "states"])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.999])
def test_one_flipped_bit_in_a_table_is_found(
    tmp_path: Path, whole: Path, table: str, share: float
) -> None:
    path = shutil.copytree(whole, tmp_path / "run")
    content = bytearray((path / FILES[table]).read_bytes())
    content[int(share * len(content))] ^= 1
    (path / FILES[table]).write_bytes(content)
    with pytest.raises(StoreError, match=rf"{table}/{PART}.parquet' was changed after it was"):
        rpd.open_run(path).directory.suite().read(20, 39)
    if share == 0.3:
        check_damage(path, whole, "was changed after it was written")


def lose_rows(path: Path) -> None:
    table = pq.read_table(path / FILES["episodes"])
    pq.write_table(table.slice(0, 10), path / FILES["episodes"])


def forge_returns(path: Path) -> None:
    """Write returns that are no numbers, and a record that has no checksums."""
    table = pq.read_table(path / FILES["episodes"])
    place = table.column_names.index("total_return")
    table = table.set_column(place, "total_return", pa.array(np.full(len(table), np.nan)))
    pq.write_table(table, path / FILES["episodes"])
    edit_record(path, lambda record: record.pop("digests"))


def forge_half(path: Path) -> None:
    """Half of the rows, with the checksum that belongs to them."""
    lose_rows(path)
    content = (path / FILES["episodes"]).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    edit_record(path, lambda record: record["digests"].update(episodes=digest))


def forge_half_and_count(path: Path) -> None:
    """The same, with the number of rows that belongs to them."""
    forge_half(path)
    edit_record(path, lambda record: record["rows"].update(episodes=10))


def forge_schema(path: Path) -> None:
    table = pq.read_table(path / FILES["visits"]).replace_schema_metadata({"rpd_schema": "1"})
    pq.write_table(table, path / FILES["visits"])
    digest = hashlib.sha256((path / FILES["visits"]).read_bytes()).hexdigest()
    edit_record(path, lambda record: record["digests"].update(visits=digest))


def edit_record(path: Path, edit: Callable[[Any], object]) -> None:
    record = json.loads((path / FILES["record"]).read_text())
    edit(record)
    (path / FILES["record"]).write_text(json.dumps(record))


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "half of the rows": (lose_rows, "was changed after it was written"),
    "forged returns": (forge_returns, "digests is missing"),
    "half, with its checksum": (forge_half, "does not hold what its record says"),
    "half, with checksum and count": (forge_half_and_count, "does not hold its episodes"),
    "another schema": (forge_schema, "has schema 1, this rpd reads 5"),
    "a file that is gone": (lambda path: (path / FILES["states"]).unlink(), "is missing"),
    "an empty file": (lambda path: (path / FILES["visits"]).write_bytes(b""), "was changed after"),
    "a record of nothing": (lambda path: (path / FILES["record"]).write_text(""), "cannot read"),
    "a record that is a list": (
        lambda path: (path / FILES["record"]).write_text("[]"), "is not a file of rpd",
    ),
    "a record of other episodes": (
        lambda path: edit_record(path, lambda record: record.update(first=0, last=19)),
        "is the record of episodes 0 to 19",
    ),
    "a record with text for numbers": (
        lambda path: edit_record(path, lambda record: record.update(rows={"episodes": "20"})),
        "rows.episodes must be a whole number, not '20'",
    ),
    "a record of another configuration": (
        lambda path: edit_record(path, lambda record: record.update(configuration="0badf00d")),
        "is of another run (configuration 0badf00d",
    ),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named_when_read_and_mended_when_written(
    tmp_path: Path, whole: Path, damage: str
) -> None:
    path = shutil.copytree(whole, tmp_path / "run")
    spoil, told = DAMAGES[damage]
    spoil(path)
    check_damage(path, whole, told)


def test_a_part_of_another_seeds_run_is_refused(
    tmp_path: Path, whole: Path, other_seed: Path
) -> None:
    path = shutil.copytree(whole, tmp_path / "run")
    for name in FILES.values():
        shutil.copy(other_seed / name, path / name)
    check_damage(path, whole, "is of another run (configuration ")


def test_pruned_episodes_of_another_seeds_run_are_refused(
    tmp_path: Path, whole: Path, other_seed: Path
) -> None:
    path = shutil.copytree(whole, tmp_path / "run")
    (mine,), (theirs,) = (list(one.glob("pruning/tarantula-*")) for one in (path, other_seed))
    assert mine.name != theirs.name
    shutil.rmtree(mine)
    shutil.copytree(theirs, mine)
    with pytest.raises(StoreError, match="is of another run"):
        _ = rpd.open_run(path).curves
    notes: list[str] = []
    finish(path, note=notes.append)
    notes = [one for one in notes if "default-gap" not in one]
    assert len(notes) == 1
    assert mine.name in notes[0]
    assert contents(path, "*") == contents(whole, "*")


def test_two_parts_with_the_same_episodes_are_refused(tmp_path: Path, whole: Path) -> None:
    """Another chunk size makes other ranges of the same run: each part is right for itself."""
    build(session_at(tmp_path / "wide", corridor(chunk=30)))
    path = shutil.copytree(whole, tmp_path / "run")
    for file in (tmp_path / "wide" / "suite").rglob("part-000000030-000000059.*"):
        shutil.copy(file, path / file.relative_to(tmp_path / "wide"))
    with pytest.raises(StoreError, match="holds episodes that another part holds, too"):
        rpd.open_run(path).ranking("tarantula")
    notes: list[str] = []
    suite = build(session_at(path, corridor(), note=notes.append))
    assert len(notes) == 1
    assert "part-000000030-000000059.json' holds episodes that another part" in notes[0]
    assert suite.episodes.index.tolist() == list(range(60))


def test_a_table_beside_the_parts_is_nobodys(tmp_path: Path, whole: Path) -> None:
    """Only a record makes a part; what else lies there is neither read nor removed."""
    path = shutil.copytree(whole, tmp_path / "run")
    extra = path / "suite" / "episodes" / "part-000000060-000000079.parquet"
    shutil.copy(path / FILES["episodes"], extra)
    assert rpd.open_run(path).progress == (60, 60)
    build(session_at(path, corridor()))
    assert extra.exists()
