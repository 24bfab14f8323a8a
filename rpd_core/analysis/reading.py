"""The stored suite, read part by part: nothing here plays, locks or writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rpd_core.analysis.suite import concat_episodes, merge
from rpd_core.errors import StoreError, shell_word
from rpd_core.plugin.protocols import Episodes, Suite
from rpd_core.store.parts import Parts
from rpd_core.store.tables import read_episodes, read_suite

if TYPE_CHECKING:
    from pyarrow import Table

    from rpd_core.plugin.protocols import KeyArray

Piece = tuple[Parts, int, int]
"""Where a part is stored, its first and its last episode."""


class StoredEpisodes:
    """The mutant episodes of a run, as they lie on disk."""

    def __init__(self, parts: Parts, first_episodes: int | None = None) -> None:
        self.parts = parts
        self.pieces = [(parts, *range_) for range_ in parts.disjoint()]
        if first_episodes is not None:
            self.pieces = list(_first(self.pieces, first_episodes))
        if not self.pieces:
            run = str(parts.root)
            raise StoreError(
                f"{run!r} holds no episodes yet: run rpd suite {shell_word(run)} first"
            )

    def __len__(self) -> int:
        return sum(last - first + 1 for _, first, last in self.pieces)

    def tables(self, *names: str) -> Iterator[dict[str, Table]]:
        """Read some tables, or all, one part at a time."""
        for parts, first, last in self.pieces:
            yield parts.read(first, last, names or None)

    def episodes(self) -> Episodes:
        """Read the table of episodes."""
        tables = self.tables("episodes")
        return concat_episodes([read_episodes(table["episodes"]) for table in tables])

    def chunks(self) -> Iterator[Suite]:
        """Read the suite one part at a time."""
        yield from map(read_suite, self.tables())

    def whole(self) -> Suite:
        """Read all of the suite at once."""
        return merge(list(self.chunks()))

    def words(self, keys: KeyArray | Iterable[int]) -> dict[int, str]:
        """Read some states in words, by key."""
        wanted = {int(key) for key in keys}
        found: dict[int, str] = {}
        for parts, first, last in self.pieces:
            if not wanted - set(found):
                break
            states = parts.read(first, last, tables=("states",))["states"]
            columns = states["key"].to_pylist(), states["words"].to_pylist()
            found |= {key: text for key, text in zip(*columns, strict=True) if key in wanted}
        return found


def _first(pieces: list[Piece], count: int) -> Iterator[Piece]:
    """Yield the parts that hold the first episodes, one of them cut where that is needed."""
    for parts, first, last in pieces:
        if last < count:
            yield parts, first, last
        elif first < count:
            cut = parts.cut(count)
            if (first, count - 1) not in cut.covered():
                run = str(parts.root)
                raise StoreError(
                    f"{run!r} stores the episodes {first} to {last} together, and not those below "
                    f"{count} alone: run rpd suite {shell_word(run)} --episodes {count} first"
                )
            yield cut, first, count - 1
