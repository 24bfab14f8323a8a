"""The stored suite, read part by part and merged; which states the unmutated policy reaches.

Nothing here plays, locks or writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.errors import EvidenceError, StoreError, shell_word
from rpd_core.plugin.protocols import Episodes, States, Suite, Visits
from rpd_core.plugin.protocols.suite import columns_of
from rpd_core.store.directory import RunDirectory
from rpd_core.store.parts import Part, Parts
from rpd_core.store.tables import read_episodes, read_suite

if TYPE_CHECKING:
    from pyarrow import Table

    from rpd_core.plugin.protocols import Array, FloatArray, IntArray, KeyArray


def merge(parts: Sequence[Suite]) -> Suite:
    """Join suites of disjoint episodes; the order of the parts does not matter."""
    if not parts:
        raise EvidenceError("there are no episodes to merge")
    ordered = sorted(parts, key=lambda part: int(part.episodes.index[0]))
    if len(ordered) == 1:
        return ordered[0]
    episodes = concat_episodes([part.episodes for part in ordered])
    if not (np.diff(episodes.index) > 0).all():
        raise EvidenceError("parts of the suite overlap: two hold the same range of episodes")
    visits = concat_visits([part.visits for part in ordered])
    return Suite(episodes, visits, merge_states([part.states for part in ordered]))


def concat_episodes(parts: Sequence[Episodes]) -> Episodes:
    """Join tables of episodes in the order given."""
    names = sorted({name for part in parts for name in part.info})
    info = {
        name: np.concatenate([part.info.get(name, np.full(len(part), np.nan)) for part in parts])
        for name in names
    }
    return Episodes(**_stack(parts), info=info)


def concat_visits(parts: Sequence[Visits]) -> Visits:
    return Visits(**_stack(parts))


def take_visits(visits: Visits, rows: IntArray) -> Visits:
    return Visits(**_taken(visits, rows))


def take_episodes(episodes: Episodes, rows: IntArray) -> Episodes:
    info = {name: column[rows] for name, column in episodes.info.items()}
    return Episodes(**_taken(episodes, rows), info=info)


def merge_states(parts: Sequence[States]) -> States:
    """Join tables of states; counts of the same state add up."""
    return merge_with_sums(parts, [])[0]


def merge_with_sums(parts: Sequence[States], sums: Sequence[Array]) -> tuple[States, Array | None]:
    """Join tables of states and, row by row, arrays that belong to them and add up.

    Column by column: a million states take 0.1 GB, and few of them should lie there twice.
    """

    def stacked(name: str) -> Array:
        return np.concatenate([getattr(part, name) for part in parts])

    order = np.lexsort((stacked("first_step"), stacked("first_episode"), stacked("key")))
    keys = stacked("key")[order]
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
    first = order[starts]

    def total(column: Array) -> Array:
        summed: Array = np.add.reduceat(column[order], starts, axis=0)
        return summed

    columns = {
        name: total(stacked(name)) if column.adds_up else stacked(name)[first]
        for name, column in columns_of(States).items()
        if all(getattr(part, name) is not None for part in parts)
    }
    return States(**columns), total(np.concatenate(sums)) if sums else None


def _stack(parts: Sequence[object]) -> dict[str, Array]:
    """Return the columns of tables, one after the other; without those that some do not have."""
    columns = {name: [getattr(part, name) for part in parts] for name in columns_of(type(parts[0]))}
    return {
        name: np.concatenate(values)
        for name, values in columns.items()
        if all(one is not None for one in values)
    }


def _taken(table: object, rows: IntArray) -> dict[str, Array]:
    columns = {name: getattr(table, name) for name in columns_of(type(table))}
    return {name: values[rows] for name, values in columns.items() if values is not None}


def redrawn(suite: Suite, counts: IntArray) -> Suite:
    """Return a suite that holds each episode as often as given, numbered anew.

    Its states are those of the whole suite, with their counts there: what is added up per state
    is not known episode by episode.
    """
    drawn = np.repeat(np.arange(len(suite.episodes)), counts)
    starts = np.searchsorted(suite.episode_of_visit(), np.arange(len(suite.episodes) + 1))
    lengths = np.diff(starts)[drawn]
    begins = np.cumsum(lengths) - lengths
    place = np.arange(lengths.sum()) + np.repeat(starts[drawn] - begins, lengths)
    number = np.arange(len(drawn))
    episodes = replace(take_episodes(suite.episodes, drawn), index=number)
    visits = replace(take_visits(suite.visits, place), episode=np.repeat(number, lengths))
    return Suite(episodes, visits, suite.states)


class StoredEpisodes:
    """The mutant episodes of a run, as they lie on disk."""

    def __init__(self, parts: Parts, first_episodes: int | None = None) -> None:
        self.parts = parts
        self.pieces = [Part(parts, *range_) for range_ in parts.disjoint()]
        if first_episodes is not None:
            self.pieces = list(_first(self.pieces, first_episodes))
        if not self.pieces:
            run = str(parts.root)
            raise StoreError(
                f"{run!r} holds no episodes yet: run rpd suite {shell_word(run)} first"
            )

    def __len__(self) -> int:
        return sum(part.size for part in self.pieces)

    def tables(self, *names: str) -> Iterator[dict[str, Table]]:
        """Read some tables, or all, one part at a time."""
        for parts, first, last in self.pieces:
            yield parts.read(first, last, names or None)

    def episodes(self) -> Episodes:
        tables = self.tables("episodes")
        return concat_episodes([read_episodes(table["episodes"]) for table in tables])

    def chunks(self) -> Iterator[Suite]:
        yield from map(read_suite, self.tables())

    def whole(self) -> Suite:
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


def _first(pieces: list[Part], count: int) -> Iterator[Part]:
    """Yield the parts that hold the first episodes, one of them cut where that is needed."""
    for parts, first, last in pieces:
        if last < count:
            yield Part(parts, first, last)
        elif first < count:
            cut = parts.cut(count)
            if (first, count - 1) not in cut.covered():
                run = str(parts.root)
                raise StoreError(
                    f"{run!r} stores the episodes {first} to {last} together, and not those below "
                    f"{count} alone: run rpd suite {shell_word(run)} --episodes {count} first"
                )
            yield Part(cut, first, count - 1)


@dataclass(frozen=True)
class Reach:
    """States that some episodes visited, in order of their keys."""

    keys: KeyArray
    episodes: IntArray
    """Episodes that visited each."""
    steps: IntArray
    """Steps spent in each."""
    total_episodes: int
    total_steps: int

    def share_of_episodes(self, keys: KeyArray) -> FloatArray:
        """Return the share of the episodes that visit each state."""
        return self._look_up(keys, self.episodes) / max(self.total_episodes, 1)

    def share_of_steps(self, keys: KeyArray) -> FloatArray:
        """Return the share of all steps that are spent in each state."""
        return self._look_up(keys, self.steps) / max(self.total_steps, 1)

    def _look_up(self, keys: KeyArray, column: IntArray) -> IntArray:
        if not len(self.keys):
            return np.zeros(len(keys), dtype=np.int64)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, column[at], 0)


def reach_of(chunks: Iterable[Suite]) -> Reach:
    """Count the visits of episodes, part by part."""
    keys, counts = [np.zeros(0, dtype=np.uint64)], [np.zeros((0, 2), dtype=np.int64)]
    episodes = steps = 0
    for chunk in chunks:
        at, size = chunk.state_of_visit(), len(chunk.states)
        keys.append(chunk.states.key)
        visiting = np.bincount(at, minlength=size)
        counts.append(np.stack([visiting, chunk.states.visits], axis=1))
        episodes += len(chunk.episodes)
        steps += int(chunk.episodes.length.sum())
    unique, place = np.unique(np.concatenate(keys), return_inverse=True)
    summed = np.zeros((len(unique), 2), dtype=np.int64)
    np.add.at(summed, place, np.concatenate(counts))
    return Reach(unique, summed[:, 0], summed[:, 1], episodes, steps)


def stored_reach(directory: RunDirectory) -> Reach:
    """Count what the stored episodes of the policy as it is have visited."""
    parts = directory.unmutated()
    return reach_of(StoredEpisodes(parts).chunks() if parts.covered() else [])
