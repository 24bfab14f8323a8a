"""Episodes of pruned policies, read from what is stored, and the curves of their sweep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rpd_core.analysis.suite import concat_episodes
from rpd_core.errors import StoreError
from rpd_core.plugin.protocols import Episodes
from rpd_core.plugin.protocols.suite import INFO, RANKED_STEPS, PrunedColumns, columns_of
from rpd_core.pruning.curves import Curve
from rpd_core.store.directory import RunDirectory, StoredAnalysis, SweptPoint
from rpd_core.store.parts import Parts
from rpd_core.store.tables import plain_numbers, read_episodes

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, FloatArray, IntArray


@dataclass(frozen=True)
class PlayedPoints:
    """What pruned policies did so far; rows are policies, columns test episodes."""

    returns: FloatArray
    """nan where an episode was not played."""
    lengths: IntArray
    policy_steps: IntArray
    overrides: IntArray
    ranked_steps: FloatArray

    @classmethod
    def nothing(cls, policies: int, episodes: int) -> PlayedPoints:
        """Return room for so many policies and test episodes."""
        shape = (policies, episodes)
        zeros = np.zeros(shape, dtype=np.int64)
        return cls(np.full(shape, np.nan), zeros, zeros.copy(), zeros.copy(), np.zeros(shape))

    def curve(self, name: str, kept: Sequence[int], states: int, rows: Sequence[int]) -> Curve:
        """Return the policies of some rows as the points of a curve."""
        cutoffs, some = np.asarray(kept, dtype=np.int64), list(rows)
        return Curve(
            name,
            cutoffs / states,
            cutoffs,
            self.returns[some],
            self.lengths[some],
            self.policy_steps[some],
            self.overrides[some],
            self.ranked_steps[some],
        )


_OWN_COLUMNS = {*columns_of(PrunedColumns), f"{INFO}{RANKED_STEPS}"}
"""Columns that episodes of pruned policies have beside those of others."""


def read_evaluation(parts: Parts, total: int) -> Episodes:
    """Read the `total` episodes of an evaluation; refuse one that is not complete."""
    read = _read_parts(parts)
    episodes = concat_episodes([read_episodes(table) for table in read])
    if len(episodes) != total or not np.array_equal(episodes.index, np.arange(total)):
        raise StoreError(
            f"{str(parts.path)!r} holds {len(episodes)} of {total} episodes: run rpd prune again"
        )
    return episodes


def _read_parts(parts: Parts) -> list[pa.Table]:
    """Read the tables of an evaluation, which have more columns than others."""
    read = [parts.read(first, last, ("episodes",))["episodes"] for first, last in parts.covered()]
    if not read:
        raise StoreError(f"{str(parts.path)!r} holds no episodes: run rpd prune again")
    for table in read:
        lacking = sorted(_OWN_COLUMNS - {*table.column_names})
        if lacking:
            raise StoreError(
                f"{str(parts.path)!r} has no column {lacking[0]!r}: delete it and run "
                "rpd prune again"
            )
    return read


def stored_table(directory: RunDirectory, folder: str) -> pa.Table:
    """Read an evaluation as a table, with the columns `ranking`, `kept` and `test_episode`."""
    parts = directory.evaluation(folder)
    return pa.concat_tables(_read_parts(parts), promote_options="default")


def read_curves(
    directory: RunDirectory, asked: StoredAnalysis, states: int, names: Iterable[str]
) -> dict[str, Curve]:
    """Read the curves of some rankings, as far as they are stored."""
    wanted = [name for name in names if name in asked.sweep]
    tables = {
        name: stored_table(directory, _folder(asked, name))
        for name in {one for curve in wanted for point in asked.sweep[curve] for one in point.sets}
    }
    columns = {name: _columns(table) for name, table in tables.items()}
    held = sum(len(one["kept"]) for one in columns.values())
    total = min(asked.settings.test_episodes, held)  # what is written there costs no memory
    return {name: _curve(name, asked.sweep[name], columns, states, total) for name in wanted}


def stored_return(
    directory: RunDirectory, asked: StoredAnalysis, name: str, kept: int, test_episode: int
) -> float | None:
    """Return what a pruned policy of a sweep returned in a test episode; None: not played."""
    for point in asked.sweep.get(name, ()):
        if point.kept == kept and test_episode < point.episodes:
            columns = {one: _columns(stored_table(directory, _folder(asked, one)))
                       for one in point.sets}  # fmt: skip
            return float(_rows(name, point, columns)["total_return"][test_episode])
    return None


def _folder(asked: StoredAnalysis, name: str) -> str:
    if name not in asked.evaluations:
        raise StoreError(f"the analysis has no set of episodes {name!r}: run rpd prune again")
    return asked.evaluations[name]


_NAMES = (
    *columns_of(PrunedColumns), "total_return", "length", "policy_steps", "overrides",
    f"{INFO}{RANKED_STEPS}",
)  # fmt: skip


def _columns(table: pa.Table) -> dict[str, Array]:
    return {name: plain_numbers(table[name].combine_chunks()) for name in _NAMES}


def _curve(
    name: str,
    points: Sequence[SweptPoint],
    columns: Mapping[str, Mapping[str, Array]],
    states: int,
    total: int,
) -> Curve:
    read = [_rows(name, point, columns) for point in points]
    played = PlayedPoints.nothing(len(points), max([total, *(len(one["kept"]) for one in read)]))
    for row, (point, found) in enumerate(zip(points, read, strict=True)):
        some = slice(0, point.episodes)
        played.returns[row, some] = found["total_return"]
        played.lengths[row, some] = found["length"]
        played.policy_steps[row, some] = found["policy_steps"]
        played.overrides[row, some] = found["overrides"]
        played.ranked_steps[row, some] = found[f"{INFO}{RANKED_STEPS}"]
    return played.curve(name, [point.kept for point in points], states, range(len(points)))


def _rows(
    name: str, point: SweptPoint, columns: Mapping[str, Mapping[str, Array]]
) -> dict[str, Array]:
    """Return the episodes of one point in order; refuse a point that lacks some."""
    parts = []
    for one in point.sets:
        mine = (columns[one]["kept"] == point.kept) & (columns[one]["ranking"] == point.ranking)
        parts.append({key: column[mine] for key, column in columns[one].items()})
    found = {key: np.concatenate([part[key] for part in parts]) for key in _NAMES}
    numbers = found["test_episode"]
    if len(numbers) != point.episodes or not np.array_equal(numbers, np.arange(len(numbers))):
        raise StoreError(
            f"{point.sets[-1]!r} holds {len(found['kept'])} of {point.episodes} episodes of "
            f"{name} with {point.kept} states kept: run rpd prune again"
        )
    return found
