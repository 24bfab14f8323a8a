"""Rankings as tables that other programs read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from rpd_core.store.files import write_whole


@dataclass(frozen=True)
class RankingTable:
    """A ranking as columns: rank, key, score, interval, episodes, visits, four cells, value."""

    name: str
    columns: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.columns["rank"])

    def to_arrow(self) -> pa.Table:
        """Return a pyarrow table."""
        return pa.table(dict(self.columns))

    def to_dataframe(self) -> Any:
        """Return a pandas data frame; pandas must be installed."""
        import pandas  # not a dependency; wanted only by those who have it

        return pandas.DataFrame(dict(self.columns))

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
        sink = pa.BufferOutputStream()
        pq.write_table(self.to_arrow(), sink, compression="zstd")
        write_whole(Path(path), sink.getvalue(), root)
