"""The list of decisions as far as the page shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rpd_core.analysis.decisions import Decisions
from rpd_core.errors import RpdError, StoreError, one_line
from rpd_core.results.decisions import decision_rows
from rpd_core.results.records import Decision
from rpd_core.results.run import Run
from rpd_core.store.files import file_stem, read_whole
from rpd_core.store.tables import LARGEST_TABLE, WrongTable, check_room, open_parquet, read_parquet

MOST_ROWS = 10_000
"""Decisions in the table of the page."""
_READ = ("rank", "key")
"""Columns of a ranking that the page needs."""


@dataclass(frozen=True)
class Listed:
    """The first decisions, and where the others are."""

    rows: tuple[Decision, ...]
    """Those of the table, in order."""
    total: int
    """Decisions in the whole list."""
    file: str
    """The file of the run, from its directory, that ranks all states."""
    ranks: Mapping[str, tuple[int, ...]]
    """By measure, the place of each row among all states, from 1; 0 where it is not known."""
    kept: frozenset[int]
    """Keys of the states that the confirmed policy keeps."""
    judged: Decisions | None
    """Every state judged; None where the stored suite cannot be counted again."""
    note: str = ""
    """Why only what the summary holds is shown; empty if all can be."""

    @property
    def left_out(self) -> int:
        """Decisions that are not in the table."""
        return max(self.total - len(self.rows), 0)


def read_list(run: Run, measures: Sequence[str], most: int = MOST_ROWS) -> Listed:
    """Read the first decisions; where they cannot be judged again, those of the summary."""
    summary, note = run.summary, ""
    judged: Decisions | None = None
    rows = summary.decisions[:most]
    if summary.list.listed:
        try:
            judged = run.decided()
            first = judged.listed()[:most]
            found = decision_rows(judged, first, run.analysis.stored, run.directory.names())
            rows = summary.decisions[:most] + found[len(summary.decisions) :]
        except RpdError as error:  # of a component that is not here, or may not run
            judged, note = None, one_line(error)
    kept = run.kept(float(next(iter(summary.policies), "0.9")))
    list_by = summary.list.measure
    return Listed(
        rows=rows,
        total=summary.list.listed,
        file=_ranking_file(str(run.name), list_by),
        ranks={name: _places(run, name, rows) for name in dict.fromkeys([list_by, *measures])},
        kept=frozenset(kept.keys if kept is not None else ()),
        judged=judged,
        note=note,
    )


def _ranking_file(analysis: str, measure: str) -> str:
    return f"analyses/{analysis}/rankings/{file_stem(measure)}.parquet"


def _places(run: Run, measure: str, rows: Sequence[Decision]) -> tuple[int, ...]:
    """Return where a stored ranking has each decision; it is read, not computed again."""
    path = run.path / _ranking_file(str(run.name), measure)
    content = read_whole(path, run.path, LARGEST_TABLE)
    if content is None:
        return (0,) * len(rows)
    try:
        file = open_parquet(content)
        schema = file.schema_arrow
        check_room(pa.schema([schema.field(name) for name in _READ]), file.metadata.num_rows)
        table = read_parquet(file, _READ)
        keys = table["key"].to_numpy().astype(np.uint64)
        places = table["rank"].to_numpy().astype(np.int64)
    except WrongTable as wrong:
        raise StoreError(f"{str(path)!r}: {wrong}; delete it") from None
    except Exception as error:  # pyarrow raises many kinds for damaged files
        raise StoreError(f"cannot read {str(path)!r}: {one_line(error)}; delete it") from error
    order = np.argsort(keys)
    mine = np.array([row.key for row in rows], dtype=np.uint64)
    at = np.searchsorted(keys[order], mine).clip(0, max(len(keys) - 1, 0))
    if not len(keys):
        return (0,) * len(rows)
    known = keys[order][at] == mine
    return tuple(np.where(known, places[order][at], 0).tolist())
