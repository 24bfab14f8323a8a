"""A grid as files: one row per cell, one row per cell and seed, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rpd_core.store.files import write_whole
from rpd_studies.grid_tables import markdown
from rpd_studies.results import Grid, GridRow

TABLE, SEEDS, MARKDOWN, PAGE = "table.parquet", "seeds.parquet", "table.md", "grid.html"
_SPREAD = ("mean", "std", "low", "high", "never")


def write_grid(grid: Grid, folder: Path) -> None:
    """Write the table as Parquet, Markdown and a page; the same grid always gives the same."""
    from rpd_studies.pages import page_of  # drawing takes a while to import

    write_parquet(folder / TABLE, cell_rows(grid), folder)
    write_parquet(folder / SEEDS, seed_rows(grid), folder)
    write_whole(folder / MARKDOWN, markdown(grid).encode(), folder)
    write_whole(folder / PAGE, page_of(grid).encode(), folder)


def cell_rows(grid: Grid) -> list[dict[str, Any]]:
    """Return a row per cell: settings, how many seeds, why some failed, figures."""
    rows = []
    for row in grid.rows:
        figures = {
            f"{name}.{part}": getattr(spread, part)
            for name, spread in row.figures.items()
            for part in _SPREAD
        }
        why = "; ".join(f"seed {one.seed}: {one.why}" for one in row.failed)
        head = {"cell": row.cell, **_settings(grid, row), "seeds": len(row.results)}
        rows.append({**head, "failed": len(row.failed), "why": why or None, **figures})
    return rows


def seed_rows(grid: Grid) -> list[dict[str, Any]]:
    """Return a row per cell and seed; one that failed has a reason and no figures."""
    rows: list[dict[str, Any]] = []
    for row in grid.rows:
        head = {"cell": row.cell, **_settings(grid, row)}
        for result in row.results:
            told = {"path": result.path, "condition_in_force": result.condition, "why": None}
            never = {f"{name}.never": True for name in result.never}
            rows.append({**head, "seed": result.seed, **told, **result.figures, **never})
        rows += [{**head, "seed": one.seed, "why": one.why} for one in row.failed]
    return sorted(rows, key=lambda row: (row["cell"], grid.seeds.index(row["seed"])))


def _settings(grid: Grid, row: GridRow) -> dict[str, str | None]:
    told = {**grid.common, **row.settings}
    return {name: told.get(name) for name in (*grid.common, *grid.varied)}


def write_parquet(path: Path, rows: Sequence[Mapping[str, Any]], root: Path) -> None:
    """Write rows with the columns that any of them has; what a row lacks is null."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink, compression="zstd")
    write_whole(path, sink.getvalue(), root)
