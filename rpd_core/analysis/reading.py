"""The stored suite, read part by part: nothing here plays, locks or writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rpd_core.analysis.suite import concat_episodes, merge
from rpd_core.errors import StoreError
from rpd_core.plugin.protocols import Episodes, Suite
from rpd_core.store.parts import Parts
from rpd_core.store.tables import read_episodes, read_suite

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import KeyArray


class StoredEpisodes:
    """The mutant episodes of a run, as they lie on disk."""

    def __init__(self, parts: Parts, first_episodes: int | None = None) -> None:
        self.parts = parts
        self.ranges = parts.disjoint()
        if first_episodes is not None:
            self.ranges = _first(self.ranges, first_episodes, str(parts.root))
        if not self.ranges:
            run = str(parts.root)
            raise StoreError(f"{run!r} holds no episodes yet: run rpd suite {run} first")

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.ranges)

    def episodes(self) -> Episodes:
        """Read the table of episodes."""
        tables = (self.parts.read(*range_, tables=("episodes",)) for range_ in self.ranges)
        return concat_episodes([read_episodes(table["episodes"]) for table in tables])

    def chunks(self) -> Iterator[Suite]:
        """Read the suite one part at a time."""
        for first, last in self.ranges:
            yield read_suite(self.parts.read(first, last))

    def whole(self) -> Suite:
        """Read all of the suite at once."""
        return merge(list(self.chunks()))

    def words(self, keys: KeyArray | Iterable[int]) -> dict[int, str]:
        """Read some states in words, by key."""
        wanted = {int(key) for key in keys}
        found: dict[int, str] = {}
        for range_ in self.ranges:
            if not wanted - set(found):
                break
            states = self.parts.read(*range_, tables=("states",))["states"]
            columns = states["key"].to_pylist(), states["words"].to_pylist()
            found |= {key: text for key, text in zip(*columns, strict=True) if key in wanted}
        return found


def _first(ranges: list[tuple[int, int]], count: int, run: str) -> list[tuple[int, int]]:
    """Return the parts that hold the first episodes, and no others."""
    held = sum(last - first + 1 for first, last in ranges)
    below = [(first, last) for first, last in ranges if last < count]
    if held > count and sum(last - first + 1 for first, last in below) < count:
        whole = [last + 1 for _, last in ranges]
        nearest = min(whole, key=lambda end: abs(end - count))
        raise StoreError(
            f"{run!r} holds {held} episodes in parts that do not end at {count}: ask for {nearest}"
        )
    return below
