"""The run directory: what lies where, written whole or not at all, and by one process at a time."""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rpd_core.config.configuration import RunConfig, differences
from rpd_core.errors import StoreError
from rpd_core.store.tables import SCHEMA_VERSION, check_schema

_PART = re.compile(r"part-(\d+)-(\d+)\.parquet")
SHOWN = 5
"""Differences between two configurations that a message names."""
_OURS = re.compile(r"\.lock|\..+\.\d+\.tmp")
"""What an interrupted start may leave behind before there is a run.json."""


class RunDirectory:
    """A run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def suite(self) -> Parts:
        """The mutant episodes; `episodes` is written last and so marks a finished part."""
        return Parts(self.path / "suite", ("states", "visits", "episodes"))

    def evaluation(self, name: str) -> Parts:
        """Episodes of pruned policies, under a name that fixes what they are."""
        return Parts(self.path / "pruning" / name, ("episodes",))

    def read_json(self, name: str) -> dict[str, Any] | None:
        """Read one of the run's JSON files; None if it is not there."""
        path = self.path / name
        if not path.is_file():
            return None
        try:
            plain: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise StoreError(f"cannot read {str(path)!r}: {error}; restore or delete it") from error
        if not isinstance(plain, dict):
            raise StoreError(f"{str(path)!r} is no file of rpd: choose another --out")
        return plain

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Write one of the run's JSON files in one piece."""
        text = json.dumps(value, indent=2, sort_keys=False) + "\n"
        write_whole(self.path / name, text.encode())

    def create(self, config: RunConfig, versions: Mapping[str, str]) -> None:
        """Make the directory, or check that the one there holds the same configuration."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"cannot create {str(self.path)!r}: {error.strerror}; choose another --out"
            ) from error
        self.check(config)
        self.write_json("run.json", _run_json(config, versions))

    def check(self, config: RunConfig) -> None:
        """Refuse a directory that holds something else than a part of this run."""
        stored = self.read_json("run.json")
        if stored is None:
            self._refuse_foreign()
        else:
            self._refuse_different(stored, config)

    def _refuse_foreign(self) -> None:
        if (self.path / "run.json").is_file() or not self.path.is_dir():
            return
        strangers = [e.name for e in self.path.iterdir() if not _OURS.fullmatch(e.name)]
        if strangers:
            raise StoreError(
                f"{str(self.path)!r} holds {sorted(strangers)[0]!r} but no run.json: "
                "it is not a run directory; choose another --out"
            )

    def _refuse_different(self, stored: Mapping[str, Any], config: RunConfig) -> None:
        if stored.get("schema") != SCHEMA_VERSION:
            raise StoreError(
                f"{str(self.path)!r} was written with schema {stored.get('schema')!r}, this rpd "
                f"has {SCHEMA_VERSION}: choose another --out"
            )
        before = self.config()
        if not self._holds_work():  # a first try that failed binds nobody
            return
        found = differences(before.suite.identity(), _plain(config))
        if found:
            more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
            raise StoreError(
                f"{str(self.path)!r} holds another configuration "
                f"({'; '.join(found[:SHOWN] + more)}): "
                "choose another --out or repeat the stored one"
            )
        held = max((last + 1 for _, last in self.suite.covered()), default=0)
        if held > config.episodes:
            raise StoreError(
                f"{str(self.path)!r} holds {held} episodes, asked for "
                f"{config.episodes}: a run can grow but not shrink; choose another --out"
            )

    def _holds_work(self) -> bool:
        """Tell whether anything was played or fitted for the stored configuration."""
        played = (self.path / name for name in ("suite", "pruning", "prepared.json"))
        return any(path.exists() for path in played)

    def config(self) -> RunConfig:
        """Read the stored configuration."""
        stored = self.read_json("run.json")
        if stored is None:
            raise StoreError(f"{str(self.path)!r} is not a run directory: it has no run.json")
        try:
            return RunConfig.from_json(stored["config"])
        except (KeyError, TypeError) as error:
            raise StoreError(f"run.json in {str(self.path)!r} lacks {error}") from error

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes from writing to the same run; touch nothing that is not a run."""
        self._refuse_foreign()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            stream = (self.path / ".lock").open("w")
        except OSError as error:
            raise StoreError(
                f"cannot write to {str(self.path)!r}: {error.strerror}; choose another --out"
            ) from error
        with stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise StoreError(
                    f"another rpd is writing to {str(self.path)!r}: wait for it or stop it"
                ) from None
            for leftover in self.path.rglob(".*.tmp"):  # of a process that was killed
                leftover.unlink(missing_ok=True)
            yield


def _plain(config: RunConfig) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(config.suite.identity()))
    return plain


def _run_json(config: RunConfig, versions: Mapping[str, str]) -> dict[str, Any]:
    return {"schema": SCHEMA_VERSION, "config": config.as_json(), "versions": dict(versions)}


class Parts:
    """Tables kept in part files, each for a range of indices; a missing file is missing work."""

    def __init__(self, path: Path, tables: Sequence[str]) -> None:
        self.path, self.tables = path, tuple(tables)

    def _file(self, table: str, first: int, last: int) -> Path:
        folder = self.path / table if len(self.tables) > 1 else self.path
        return folder / f"part-{first:09d}-{last:09d}.parquet"

    def covered(self) -> list[tuple[int, int]]:
        """Give the ranges (first, last), both included, that are finished, in order."""
        found = [self._parts_of(table) for table in self.tables]
        return sorted(set.intersection(*found))

    def _parts_of(self, table: str) -> set[tuple[int, int]]:
        folder = self._file(table, 0, 0).parent
        if not folder.is_dir():
            return set()
        matches = (_PART.fullmatch(entry.name) for entry in folder.iterdir())
        return {(int(match[1]), int(match[2])) for match in matches if match}

    def missing(self, total: int, chunk: int) -> list[tuple[int, int]]:
        """Give the unfinished ranges below `total`, cut at multiples of `chunk`."""
        gaps, start = [], 0
        for first, last in [*self.covered(), (total, total)]:
            while start < min(first, total):
                end = min(first, total, (start // chunk + 1) * chunk)
                gaps.append((start, end - 1))
                start = end
            start = max(start, last + 1)
        return gaps

    def write(self, first: int, last: int, tables: Mapping[str, pa.Table]) -> None:
        """Write the tables of a range; the last one marks it finished."""
        for table in self.tables:
            sink = pa.BufferOutputStream()
            pq.write_table(tables[table], sink, compression="zstd")
            write_whole(self._file(table, first, last), sink.getvalue())

    def read(self, first: int, last: int) -> dict[str, pa.Table]:
        """Read the tables of a range."""
        found = {}
        for table in self.tables:
            path = self._file(table, first, last)
            try:
                found[table] = pq.ParquetFile(path).read()
            except (OSError, pa.ArrowException) as error:
                raise StoreError(
                    f"cannot read {str(path)!r}: {error}; delete it and run again"
                ) from error
            check_schema(found[table], str(path))
        return found


def file_stem(name: str) -> str:
    """Give a file name for a spec string."""
    return "".join(c if c.isalnum() or c in "-._" else "-" for c in name)


def write_whole(path: Path, content: Any) -> None:
    """Write a file so that it is there whole or not at all, even if the machine stops."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StoreError(f"cannot write {str(path)!r}: {error.strerror}") from error
