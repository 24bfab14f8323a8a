"""Run directories of strangers: every file of one changed, also with checksums that fit."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rpd import open_run
from rpd_core.cli.console import CleanConsole
from rpd_core.cli.listing import print_list
from rpd_core.cli.screen import print_answer
from rpd_core.config.resolve import resolve
from rpd_core.config.settings import Request
from rpd_core.errors import RpdError
from rpd_core.plugin.registry import installed
from rpd_core.results.replay import find_episode
from rpd_core.results.requests import stored_request
from rpd_core.results.verification import verify
from rpd_core.store.directory import RunDirectory
from tests.fuzz import small_run
from tests.fuzz.mutations import flipped, json_bomb, members, other_json, zipped

SUFFIX = ".zip"


def cases(seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield run directories as zips, without end; the first is as it should be."""
    chance = random.Random(seed)
    whole = {**small_run.files()[0], "stranger.py": small_run.STRANGER.encode()}
    yield "0 whole", zipped(whole)
    number = 0
    while True:
        number += 1
        changed, names = dict(whole), []
        for _ in range(chance.choice([1, 1, 1, 3])):
            what, changed = chance.choice(_CHANGES)(chance, changed)
            names.append(what)
        yield f"{number} {'; '.join(names)}"[:200], zipped(changed)


def _named(files: dict[str, bytes], ending: str) -> list[str]:
    return [name for name in files if name.endswith(ending)]


def _other_json(chance: random.Random, files: dict[str, bytes]) -> tuple[str, dict[str, bytes]]:
    """Change a value; files that lead to others are changed more often than records of parts."""
    leading = [name for name in _named(files, ".json") if "/part-" not in name]
    name = chance.choice(leading if chance.random() < 0.7 else _named(files, ".json"))
    try:
        what, content = other_json(chance, files[name])
    except ValueError:  # it was damaged before
        what, content = flipped(chance, files[name])
    return f"{name} {what}", {**files, name: content}


def _damaged(chance: random.Random, files: dict[str, bytes]) -> tuple[str, dict[str, bytes]]:
    name = chance.choice(list(files))
    what, content = flipped(chance, files[name])
    return f"{name} {what}", {**files, name: content}


def _gone(chance: random.Random, files: dict[str, bytes]) -> tuple[str, dict[str, bytes]]:
    name = chance.choice(list(files))
    return f"{name} gone", {k: v for k, v in files.items() if k != name} or files


def _swapped(chance: random.Random, files: dict[str, bytes]) -> tuple[str, dict[str, bytes]]:
    one, other = chance.choice(list(files)), chance.choice(list(files))
    return f"{one} is {other}", {**files, one: files[other]}


def _in_the_way(chance: random.Random, files: dict[str, bytes]) -> tuple[str, dict[str, bytes]]:
    """Put a file where a folder should be."""
    folder = chance.choice(["suite", "suite/states", "analyses", "pruning", "run.json/x"])
    kept = {k: v for k, v in files.items() if not f"{k}/".startswith(f"{folder}/")}
    return f"{folder} is a file", {**kept, folder: b"mine"}


def _signed(chance: random.Random, files: dict[str, bytes]) -> tuple[str, dict[str, bytes]]:
    """Damage or rewrite a table and mend the checksum and the rows in its record."""
    tables = [name for name in _named(files, ".parquet") if "/part-" in name]
    if not tables:
        return _damaged(chance, files)
    name = chance.choice(tables)
    what, content, rows = _other_table(chance, files[name])
    record, table = _record_of(name)
    if record not in files:
        return _damaged(chance, files)
    with suppress(ValueError, KeyError, TypeError):  # the record was changed before
        about = json.loads(files[record])
        about["digests"][table] = hashlib.sha256(content).hexdigest()
        if rows is not None:
            about["rows"][table] = rows
        files = {**files, record: json.dumps(about).encode()}
    return f"{name} {what}, signed", {**files, name: content}


def _record_of(name: str) -> tuple[str, str]:
    folder, _, file = name.rpartition("/")
    stem = file.removesuffix(".parquet")
    if folder.startswith("suite/"):
        return f"suite/{stem}.json", folder.removeprefix("suite/")
    return f"{folder}/{stem}.json", "episodes"


def _other_table(chance: random.Random, raw: bytes) -> tuple[str, bytes, int | None]:
    """Return what was done to a table, its bytes, and how many rows it then has."""
    try:
        table = pq.read_table(io.BytesIO(raw))
    except (pa.ArrowException, OSError):
        return *flipped(chance, raw), None
    if chance.random() < 0.3 or not table.num_columns:
        return *flipped(chance, raw), None
    column = chance.choice(table.column_names)
    what, change = chance.choice(list(_TABLES.items()))
    try:
        changed = change(table, column)
        stream = io.BytesIO()
        pq.write_table(changed, stream, compression="zstd")
    except (pa.ArrowException, OSError, ValueError):
        return *flipped(chance, raw), None
    return f"{column} {what}", stream.getvalue(), len(changed)


def _with(table: pa.Table, column: str, values: Any) -> pa.Table:
    return table.set_column(table.column_names.index(column), column, values)


def _noted(table: pa.Table, **notes: str) -> pa.Table:
    changed = {name.encode(): text for name, text in notes.items()}
    return table.replace_schema_metadata({**(table.schema.metadata or {}), **changed})


_TABLES: dict[str, Callable[[pa.Table, str], pa.Table]] = {
    "nulls": lambda t, c: _with(t, c, pa.nulls(len(t), t[c].type)),
    "of no type": lambda t, c: _with(t, c, pa.nulls(len(t))),
    "text": lambda t, c: _with(t, c, pa.array(["\x1b[31m"] * len(t))),
    "nan": lambda t, c: _with(t, c, pa.array([float("nan")] * len(t))),
    "infinite": lambda t, c: _with(t, c, pa.array([float("inf")] * len(t))),
    "negative": lambda t, c: _with(t, c, pa.array([-1] * len(t))),
    "largest": lambda t, c: _with(t, c, pa.array([2**63 - 1] * len(t))),
    "lists": lambda t, c: _with(t, c, pa.array([[1, 2], [3]] * len(t))[: len(t)]),
    "records": lambda t, c: _with(t, c, pa.array([{"a": 1}] * len(t))),
    "bytes": lambda t, c: _with(t, c, pa.array([b"\xff"] * len(t))),
    "twice": lambda t, c: t.append_column(c, t[c]),
    "gone": lambda t, c: t.drop_columns([c]),
    "empty": lambda t, c: t.slice(0, 0),
    "half": lambda t, c: t.slice(0, len(t) // 2),
    "doubled": lambda t, c: pa.concat_tables([t, t]),
    "a bomb": lambda t, c: pa.concat_tables([t] * 500).take(pa.array([0] * 500_000)),
    "wide": lambda t, c: pa.table({f"info.{n}": pa.array([0] * len(t)) for n in range(11_000)}),
    "of a huge shape": lambda t, c: _noted(t, value_shape="1000000000000"),
    "of a negative shape": lambda t, c: _noted(t, value_shape="-1,4"),
    "of no shape": lambda t, c: _noted(t, value_shape="a"),
    "of objects": lambda t, c: _noted(t, value_dtype="|O"),
    "of no dtype": lambda t, c: _noted(t, value_dtype="\x1b[31m"),
    "without notes": lambda t, c: t.replace_schema_metadata({"rpd_schema": "2"}),
}


def _odd_entry(chance: random.Random, files: dict[str, bytes]) -> tuple[str, dict[str, bytes]]:
    """Put a pipe or a link in the place of a file, or where a file may be."""
    name = chance.choice([*files, ".owner", ".owner", ".lock", "pilot.json"])
    what = chance.choice(["pipe", "link /dev/zero", "link /etc/passwd", "link ../..", "link ."])
    return f"{name} is a {what}", {**files, name: _ODD + what.encode()}


def _heavy(chance: random.Random, files: dict[str, bytes]) -> tuple[str, dict[str, bytes]]:
    name = chance.choice(_named(files, ".json"))
    what, content = json_bomb(chance)
    return f"{name} {what}", {**files, name: content}


_ODD = b"\0odd entry: "
"""How contents begin that stand for what no zip can hold."""
_CHANGES = (
    *(_other_json, _other_json, _other_json, _damaged, _gone, _swapped, _in_the_way),
    *(_signed, _signed, _signed, _odd_entry, _odd_entry, _heavy),
)


def warm() -> None:
    """Import what reading needs."""
    installed().find("measure", "tarantula")


def attempt(path: Path) -> None:
    """Read a run in all the ways there are, and mend it; raise the first refusal at last."""
    refusals: list[RpdError] = []
    with tempfile.TemporaryDirectory(prefix="rpd-fuzz-") as folder:
        run = _unpacked(path, Path(folder) / "run")
        sys.path.append(str(run))  # a stranger's module could be found
        try:
            for step in _STEPS:
                try:
                    step(run)
                except RpdError as error:
                    refusals.append(error)
        finally:
            sys.path.remove(str(run))
            sys.modules.pop("stranger", None)
    if refusals:
        raise refusals[0]


def _unpacked(path: Path, run: Path) -> Path:
    for name, content in members(path.read_bytes()).items():
        target = run / name
        with suppress(OSError):  # a file is in the way of a folder
            target.parent.mkdir(parents=True, exist_ok=True)
            _lay(target, content)
    return run


def _lay(target: Path, content: bytes) -> None:
    what, _, to = content.removeprefix(_ODD).decode("latin1").partition(" ")
    if not content.startswith(_ODD):
        target.write_bytes(content)
    elif what == "pipe":
        os.mkfifo(target)
    else:
        target.symlink_to(to)


def _show(run: Path) -> None:
    opened = open_run(run)
    assert opened.progress[0] >= 0
    if opened.name is not None:
        _printed(lambda console: print_answer(console, opened.summary, run, opened.analyses))


def _rank(run: Path) -> None:
    opened = open_run(run)
    found = opened.analysed("return>=200", typed=True)
    rows = opened.effects(5, "tarantula") if opened.name else ()
    if rows:
        _printed(lambda console: print_list(console, found.condition_text, rows))
    opened.ranking("ochiai").to_arrow()


def _printed(write: Callable[[Any], None]) -> None:
    stream = io.StringIO()
    write(CleanConsole(file=stream, width=160))
    assert all(c.isprintable() or c == "\n" for c in stream.getvalue()), "a control character"


def _continue(run: Path) -> None:
    directory = RunDirectory(run)
    request = Request(**stored_request(directory, directory.latest(), False, {}))
    directory.check(resolve(request, installed()).config)


def _write(run: Path) -> None:
    with RunDirectory(run).lock():
        pass


def _mend(run: Path) -> None:
    for complaint in RunDirectory(run).suite().drop_bad():
        assert complaint


_STEPS: tuple[Callable[[Path], object], ...] = (
    lambda run: verify(RunDirectory(run)),
    _show,
    _rank,
    lambda run: open_run(run).curves,
    lambda run: open_run(run).top(3),
    lambda run: find_episode(open_run(run), "pruned:1").stored_return(),
    lambda run: find_episode(open_run(run), "suite:1").stored_return(),
    _continue,
    _write,
    _mend,
)
