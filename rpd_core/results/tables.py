"""Rankings as tables that other programs read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from rpd_core.analysis.ranking import Ranking
from rpd_core.analysis.spectrum import Tally
from rpd_core.plugin.importing import import_wanted
from rpd_core.store.files import write_whole
from rpd_core.store.tables import packed_table

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array


@dataclass(frozen=True)
class RankingTable:
    """A ranking as columns: rank, key, score, interval, episodes, visits, four cells, value."""

    name: str
    columns: Mapping[str, Any]
    """Arrays in the order of the ranks; `value` holds a list of them."""

    def __len__(self) -> int:
        return len(self.columns["rank"])

    def to_arrow(self) -> pa.Table:
        """Return a pyarrow table."""
        return pa.table(dict(self.columns))

    def to_dataframe(self) -> Any:
        """Return a pandas data frame; pandas must be installed."""
        return import_wanted("pandas").DataFrame(dict(self.columns))

    def to_polars(self) -> Any:
        """Return a polars data frame; polars must be installed."""
        return import_wanted("polars").from_arrow(self.to_arrow())

    def to_csv(self, path: str | Path, root: Path | None = None) -> None:
        """Write a CSV file; the value's entries become columns value_0, value_1, ..."""
        columns = dict(self.columns)
        values = columns.pop("value")
        for entry in range(len(values[0]) if values else 0):
            columns[f"value_{entry}"] = [row[entry] for row in values]
        sink = pa.BufferOutputStream()
        arrow_csv.write_csv(pa.table(columns), sink)
        write_whole(Path(path), sink.getvalue(), root)

    def to_parquet(self, path: str | Path, root: Path | None = None) -> None:
        """Write a Parquet file."""
        write_whole(Path(path), packed_table(self.to_arrow()), root)


def ranking_table(
    ranking: Ranking, counted: Tally, more: Mapping[str, Mapping[int, Any]] | None = None
) -> RankingTable:
    """Return a ranking as a table in rank order, ready for a data frame.

    `more` are further columns, by name and key.
    """
    order, states, spectrum = ranking.order, counted.states, counted.spectrum
    columns: dict[str, Array | list[Any]] = {
        "rank": np.arange(1, len(order) + 1),
        "key": states.key[order],
        "score": ranking.scores[order],
        "episodes": np.sum(list(vars(spectrum).values()), axis=0)[order],
        "visits": states.visits[order],
    }
    if ranking.interval is not None:
        columns |= {end: getattr(ranking.interval, end)[order] for end in ("low", "high")}
    columns |= {name: cell[order] for name, cell in vars(spectrum).items()}
    for name, known in (more or {}).items():
        columns[name] = [known[key] for key in states.key[order].tolist()]
    columns["value"] = list(states.value.reshape(len(states), -1)[order])
    return RankingTable(ranking.name, columns)
