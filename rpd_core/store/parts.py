"""Part files: tables for a range of episodes, each range with a record of what and who."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rpd_core.errors import StoreError
from rpd_core.plugin.blame import Origin
from rpd_core.store.codec import from_plain, parse_object, to_bytes
from rpd_core.store.files import read_whole, refuse_outside, write_whole

if TYPE_CHECKING:
    import pyarrow as pa

_RECORD = re.compile(r"part-(\d{9,15})-(\d{9,15})\.json")
_LARGEST_RECORD = 2**20
_LARGEST_FILE = 2**32
_MOST_PARTS = 10**6


@dataclass(frozen=True)
class PartRecord:
    """What a part holds and who played it; written last, so it marks a finished part."""

    first: int
    last: int
    """First and last episode, both included."""
    configuration: str
    """Digest of what fixes its episodes."""
    rows: Mapping[str, int]
    """Rows of each table."""
    digests: Mapping[str, str]
    """SHA-256 of each table's file."""
    origin: Origin

    @property
    def count(self) -> int:
        return self.last - self.first + 1


class Parts:
    """Tables kept in part files, each for a range of episodes; a missing record is missing work."""

    def __init__(self, path: Path, tables: Sequence[str], configuration: str, root: Path) -> None:
        self.path, self.tables, self.root = path, tuple(tables), root
        self.configuration = configuration

    def _file(self, table: str, first: int, last: int) -> Path:
        folder = self.path / table if len(self.tables) > 1 else self.path
        return folder / f"part-{first:09d}-{last:09d}.parquet"

    def _record_file(self, first: int, last: int) -> Path:
        return self.path / f"part-{first:09d}-{last:09d}.json"

    def covered(self) -> list[tuple[int, int]]:
        """Return the ranges (first, last), both included, that are finished, in order."""
        if not self.path.is_dir():
            return []
        matches = (_RECORD.fullmatch(entry.name) for entry in self.path.iterdir())
        found = ((int(match[1]), int(match[2])) for match in matches if match)
        return sorted((first, last) for first, last in found if first <= last)

    def count(self) -> int:
        return sum(last - first + 1 for first, last in self.covered())

    def records(self) -> Iterator[PartRecord]:
        for first, last in self.covered():
            yield self.record(first, last)

    def record(self, first: int, last: int) -> PartRecord:
        """Read the record of a part and check that it is of this run."""
        path = self._record_file(first, last)
        content = read_whole(path, self.root, _LARGEST_RECORD)
        if content is None:
            raise StoreError(f"{str(path)!r} has gone: run the same command again")
        record = from_plain(PartRecord, parse_object(content, repr(str(path))), repr(str(path)))
        if (record.first, record.last) != (first, last):
            raise StoreError(f"{str(path)!r} is the record of episodes {record.first} to "
                             f"{record.last}: {_PLAY_AGAIN}")  # fmt: skip
        if record.configuration != self.configuration:
            raise StoreError(
                f"{str(path)!r} is of another run (configuration {record.configuration}, not "
                f"{self.configuration}): {_PLAY_AGAIN}"
            )
        return record

    def gaps(self, total: int, chunk: int, start: int = 0) -> list[tuple[int, int]]:
        return list(self.each_gap(total, chunk, start))

    def each_gap(self, total: int, chunk: int, start: int = 0) -> Iterator[tuple[int, int]]:
        """Yield what `gaps` returns, of what is finished now, without a list of it."""
        if total - start > _MOST_PARTS * chunk:  # so many files fill any file system
            raise StoreError(
                f"{total} episodes in parts of {chunk} are more than {_MOST_PARTS} parts: ask for "
                "fewer episodes, or choose a larger chunk"
            )
        for first, last in [*self.covered(), (total, total)]:
            while start < min(first, total):
                end = min(first, total, (start // chunk + 1) * chunk)
                yield start, end - 1
                start = end
            start = max(start, last + 1)

    def missing(self, total: int) -> list[tuple[int, int]]:
        """Return the unfinished ranges below `total`, each as long as it is."""
        return self.gaps(total, max(total, 1))

    def cut(self, count: int) -> Parts:
        """Return the place of a part that ends with episode `count - 1`."""
        return Parts(self.path / f"first-{count}", self.tables, self.configuration, self.root)

    def across(self, count: int) -> tuple[int, int] | None:
        """Return the finished range that begins before episode `count` and goes on beyond it."""
        return next((one for one in self.covered() if one[0] < count <= one[1]), None)

    def disjoint(self) -> list[tuple[int, int]]:
        """Return the finished ranges; refuse parts that hold the same episodes."""
        ranges = self.covered()
        for (_, end), (first, last) in pairwise(ranges):
            if first <= end:
                raise StoreError(self._overlap(first, last))
        return ranges

    def _overlap(self, first: int, last: int) -> str:
        path = str(self._record_file(first, last))
        return f"{path!r} holds episodes that another part holds, too: {_PLAY_AGAIN}"

    def drop_bad(self) -> list[str]:
        """Remove the records of parts that are damaged, so that they are played again."""
        # Return what was wrong with each.
        refuse_outside(self.path, self.root)  # or another run's records would be removed
        complaints, end = [], -1
        for first, last in self.covered():
            try:
                if first <= end:
                    raise StoreError(self._overlap(first, last))
                self.read(first, last)
                end = last
            except StoreError as error:
                complaints.append(str(error))
                self._record_file(first, last).unlink(missing_ok=True)
        return complaints

    def write(self, first: int, last: int, tables: Mapping[str, pa.Table], origin: Origin) -> None:
        from rpd_core.store.tables import packed_table  # counting parts needs no pyarrow

        digests = {}
        for table in self.tables:
            content = packed_table(tables[table])
            digests[table] = hashlib.sha256(content).hexdigest()
            write_whole(self._file(table, first, last), content, self.root)
        rows = {table: len(tables[table]) for table in self.tables}
        record = PartRecord(first, last, self.configuration, rows, digests, origin)
        write_whole(self._record_file(first, last), to_bytes(record), self.root)

    def take(self, other: Parts, record: PartRecord) -> None:
        """Copy a part of the same episodes from another run, whose files must be as recorded."""
        contents = {table: other._content(table, record) for table in self.tables}
        for table, content in contents.items():
            write_whole(self._file(table, record.first, record.last), content, self.root)
        write_whole(self._record_file(record.first, record.last), to_bytes(record), self.root)

    def read(
        self, first: int, last: int, tables: Sequence[str] | None = None
    ) -> dict[str, pa.Table]:
        """Read the tables of a range, or some of them, and check that they are what was written."""
        from rpd_core.store import tables as checks  # counting parts needs no pyarrow

        record, read = self.record(first, last), {}
        path = self._record_file(first, last)
        try:
            for name in tables or self.tables:
                path = self._file(name, first, last)
                content, rows = self._content(name, record), record.rows.get(name, 0)
                read[name] = checks.unpacked_table(name, content, rows, first, last)
            path = self._record_file(first, last)
            checks.check_together(read)
        except checks.WrongTable as wrong:
            raise StoreError(f"{str(path)!r}: {wrong}: {_PLAY_AGAIN}") from None
        return read

    def _content(self, name: str, record: PartRecord) -> bytes:
        path = self._file(name, record.first, record.last)
        content = read_whole(path, self.root, _LARGEST_FILE)
        if content is None:
            raise StoreError(f"{str(path)!r} is missing: {_PLAY_AGAIN}")
        if hashlib.sha256(content).hexdigest() != record.digests.get(name):
            raise StoreError(f"{str(path)!r} was changed after it was written: {_PLAY_AGAIN}")
        return content


class Part(NamedTuple):
    """A part, finished or not, and where it is stored."""

    parts: Parts
    first: int
    last: int

    @property
    def size(self) -> int:
        return self.last - self.first + 1


_PLAY_AGAIN = "rpd suite RUN or rpd prune RUN plays this part again"


@dataclass
class Provenance:
    """The origins of a run's parts so far."""

    note: Callable[[str], None]
    """Told once if other versions play than before."""
    known: dict[str, Origin] = field(default_factory=dict)
    """Origins that were met, by their text."""
    noted: set[str] = field(default_factory=set)
    """Changes of versions that were told."""

    def check(self, origin: Origin) -> None:
        """Refuse a part whose components come from another distribution than those before it."""
        text = repr(origin)
        if text in self.known:
            return
        for first in list(self.known.values())[:1]:
            for component, now in origin.components.items():
                before = first.components.get(component, now)
                if before != now:
                    raise StoreError(
                        f"{component!r} was played by {before or 'no distribution'} so far and now "
                        f"comes from {now or 'no distribution'}: choose another --out"
                    )
            changes = "; ".join(version_changes(first, origin))
            if changes and changes not in self.noted:
                self.noted.add(changes)
                self.note(
                    f"this run continues under other versions than it began with "
                    f"({changes}): results may differ between its parts"
                )
        self.known[text] = origin


def version_changes(before: Origin, now: Origin) -> list[str]:
    """Return which versions differ between two origins, as `name: old -> new`."""
    # Where other components took part, as in random play, what only one of them needs is no change.
    pairs = {"python": (before.python, now.python), "machine": (before.machine, now.machine)}
    names = {*before.distributions} | {*now.distributions}
    if {*before.components} != {*now.components}:
        names = {*before.distributions} & {*now.distributions}
    for name in sorted(names):
        pairs[name] = before.distributions.get(name, "none"), now.distributions.get(name, "none")
    return [f"{name}: {old} -> {new}" for name, (old, new) in pairs.items() if old != new]
