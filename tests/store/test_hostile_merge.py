"""Runs of strangers that are given to merge: one line, and nothing written to what they go into."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from commands import refusal
from stores import corridor, tree

import rpd

Damage = Callable[[Path], object]
DEEP = 10**5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of one part each, of three: `0` and `1`."""
    folder = tmp_path_factory.mktemp("parts")
    for number in range(2):
        asked = corridor(abstraction=("bins:5",))
        rpd.build_suite(asked.env, asked.policy, **asked.given(), out=folder / str(number),
                        parts=(number, number + 1), progress=False)  # fmt: skip
    return folder


def record(run: Path) -> Path:
    return min((run / "suite").glob("part-*.json"))


def table(run: Path, name: str = "visits") -> Path:
    return min((run / "suite" / name).iterdir())


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def flip(path: Path) -> None:
    """Change one byte in the middle."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def in_its_place(make: Callable[[Path], object], path: Path) -> None:
    path.unlink()
    make(path)


def link(target: str) -> Callable[[Path], object]:
    return lambda path: path.symlink_to(target)


def claim_rows(run: Path) -> None:
    rows = json.loads(record(run).read_text())["rows"]
    edit(record(run), rows={**rows, "visits": 10**12})


def claim_episodes(run: Path) -> None:
    """Let a part say in its name and its record that it holds a billion episodes."""
    first = record(run)
    target = first.with_name("part-000000020-999999999.json")
    edit(first, last=999_999_999)
    first.rename(target)
    for name in ("episodes", "states", "visits"):
        here = table(run, name)
        here.rename(here.with_name(f"{target.stem}.parquet"))


def many_episodes(run: Path) -> None:
    stored = json.loads((run / "run.json").read_text())
    edit(run / "run.json", settings={**stored["settings"], "episodes": 10**15})


def nested(path: Path) -> None:
    path.write_text("[" * DEEP + "]" * DEEP)


def long_text(path: Path) -> None:
    path.write_text('{"x": "' + "x" * 10**7 + '"}')


def large(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(1 << 40)


def other_table(run: Path) -> None:
    """Put a table of other columns in the place of one, recorded as it is."""
    import hashlib

    shutil.copy(table(run, "states"), table(run))
    digests = json.loads(record(run).read_text())["digests"]
    digests["visits"] = hashlib.sha256(table(run).read_bytes()).hexdigest()
    edit(record(run), digests=digests)
    assert pq.read_table(table(run)).num_rows > 0


STRANGE: dict[str, Damage] = {
    "no configuration": lambda run: (run / "run.json").unlink(),
    "configuration is a pipe": lambda run: in_its_place(os.mkfifo, run / "run.json"),
    "configuration is endless": lambda run: in_its_place(link("/dev/zero"), run / "run.json"),
    "configuration is elsewhere": lambda run: in_its_place(link("/etc/passwd"), run / "run.json"),
    "configuration is deep": lambda run: nested(run / "run.json"),
    "configuration is long": lambda run: long_text(run / "run.json"),
    "far too many episodes": many_episodes,
    "record is a pipe": lambda run: in_its_place(os.mkfifo, record(run)),
    "record is elsewhere": lambda run: in_its_place(link("/etc/passwd"), record(run)),
    "record is deep": lambda run: nested(record(run)),
    "record is a list": lambda run: record(run).write_text("[]"),
    "record claims rows": claim_rows,
    "record claims episodes": claim_episodes,
    "record claims nothing": lambda run: edit(record(run), digests={}),
    "record tells of other versions": lambda run: edit(record(run), origin={"components": "x"}),
    "table is changed": lambda run: flip(table(run)),
    "table is a pipe": lambda run: in_its_place(os.mkfifo, table(run)),
    "table is endless": lambda run: in_its_place(link("/dev/zero"), table(run)),
    "table is elsewhere": lambda run: in_its_place(link("/etc/passwd"), table(run)),
    "table is another": other_table,
    "table is large": lambda run: large(table(run)),
    "learned is a pipe": lambda run: in_its_place(os.mkfifo, run / "prepared.json"),
    "learned is other": lambda run: (run / "prepared.json").write_text('{"fitted": []}'),
    "learned is deep": lambda run: nested(run / "prepared.json"),
    "names are elsewhere": lambda run: in_its_place(link("/etc/passwd"), run / "names.json"),
    "names are a list": lambda run: (run / "names.json").write_text("[]"),
    "pilot is a pipe": lambda run: os.mkfifo(run / "pilot.json"),
}


@pytest.mark.parametrize("what", STRANGE)
def test_a_strange_run_is_one_line_and_nothing_is_written(
    folder: Path, tmp_path: Path, what: str
) -> None:
    strange, mine = tmp_path / "strange", tmp_path / "mine"
    shutil.copytree(folder / "1", strange)
    shutil.copytree(folder / "0", mine)
    STRANGE[what](strange)
    before, outside = tree(mine), Path("/etc/passwd").read_bytes()
    for out in (tmp_path / "new", mine):
        line = refusal("merge", out, strange)
        assert line.startswith("rpd: ")
        assert line.isprintable()
        assert len(line) < 1000
        assert "root:" not in line
    assert tree(mine) == before
    assert not (tmp_path / "new").exists()
    assert Path("/etc/passwd").read_bytes() == outside


@pytest.mark.parametrize("make", [os.mkfifo, link("/etc/passwd"), large, Path.mkdir])
def test_the_file_of_a_policy_that_is_none_is_one_line_and_nothing_is_written(
    folder: Path, tmp_path: Path, make: Callable[[Path], object]
) -> None:
    strange = tmp_path / "strange"
    shutil.copytree(folder / "1", strange)
    (strange / "objects").mkdir()
    make(strange / "objects" / "model.zip")
    line = refusal("merge", tmp_path / "new", strange)
    assert "model.zip" in line
    assert not (tmp_path / "new").exists()


def test_a_target_whose_folders_are_links_is_not_written_through(
    folder: Path, tmp_path: Path
) -> None:
    elsewhere, mine = tmp_path / "elsewhere", tmp_path / "mine"
    shutil.copytree(folder / "0", mine)
    shutil.move(mine / "suite", elsewhere)
    (mine / "suite").symlink_to(elsewhere)
    before = tree(elsewhere)
    assert "is a link out of the run directory: delete it" in refusal("merge", mine, folder / "1")
    assert tree(elsewhere) == before
