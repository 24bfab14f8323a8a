"""A grid as tables: on the screen, as Markdown, and as Parquet by cell and by seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rpd_core.cli.text import say
from rpd_core.errors import counted
from rpd_core.store.files import write_whole
from rpd_core.store.tables import packed_table
from rpd_studies.figure_names import USUAL, heading, written
from rpd_studies.results import Grid, GridRow

_GAP = 2
"""Blanks between columns."""
_NARROWEST = 10
"""Least width of a setting."""


def _shown_figures(grid: Grid) -> tuple[str, ...]:
    """Return the figures that tables for people show."""
    return grid.show or USUAL[grid.finish]


def headings(grid: Grid) -> list[str]:
    """Return the headings of such a table: settings that differ, then figures."""
    return ["cell", *grid.varied, "seeds", *(heading(name) for name in _shown_figures(grid))]


def cells_of(grid: Grid, row: GridRow, interval: bool = False) -> list[str]:
    """Return the row of a cell as texts; dashes where nothing is known."""
    settings = [row.settings.get(name, "–") for name in grid.varied]
    figures = [written(name, row.figures.get(name), interval) for name in _shown_figures(grid)]
    done = f"{len(row.results)} of {len(grid.seeds)}" if row.failed else str(len(row.results))
    return [str(row.cell), *settings, done, *figures]


def print_grid(console: Console, grid: Grid) -> None:
    """Print a row per cell with the columns that fit, what failed and why, and how to read it."""
    names, rows = headings(grid), [cells_of(grid, row) for row in grid.rows]
    widths = _widths(grid, names, rows, console.width)
    fitting = _fitting(widths, len(grid.varied) + 2, console.width)
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    for place, name in enumerate(names[:fitting]):
        side: Literal["left", "right"] = "left" if place <= len(grid.varied) else "right"
        table.add_column(escape(name), justify=side, overflow="fold", width=widths[place])
    for cells in rows:
        table.add_row(*map(escape, cells[:fitting]))
    say(console, title(grid), style="bold")
    console.print(table)
    if fitting < len(names):
        left_out = ", ".join(f"'{name}'" for name in names[fitting:])
        say(console, f"Left out for want of room: {left_out}; table.md has all.")
    for sentence in (*reasons(grid), *explained(grid, interval=False)):
        say(console, sentence)


def _widths(
    grid: Grid, names: Sequence[str], rows: Sequence[Sequence[str]], screen: int
) -> list[int]:
    """Return widths that break no word; long settings alone are broken, beyond half the screen."""
    most = max(screen // 2 // max(len(grid.varied), 1) - _GAP, _NARROWEST)
    found = []
    for place, name in enumerate(names):
        word = max(map(cell_len, name.split()))
        widest = max([word, *(cell_len(cells[place]) for cells in rows)])
        found.append(min(widest, most) if 0 < place <= len(grid.varied) else widest)
    return found


def _fitting(widths: Sequence[int], least: int, screen: int) -> int:
    """Return how many columns fit, but at least the settings."""
    ends = accumulate(width + _GAP for width in widths)
    return max(sum(end - _GAP <= screen for end in ends), least)


def markdown(grid: Grid) -> str:
    """Return the same as Markdown, with intervals."""
    names = headings(grid)
    lines = [f"{title(grid)}.", ""]
    lines += markdown_table(names, [cells_of(grid, row, interval=True) for row in grid.rows])
    told = [*(f"- {reason}" for reason in reasons(grid)), "", *explained(grid)]
    return "\n".join([*lines, "", *told, ""])


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in lines]


def title(grid: Grid) -> str:
    """Return what was played, in a line."""
    common = ", ".join(f"{name} {value}" for name, value in grid.common.items())
    size = f"{counted(len(grid.rows), 'cell')} with {counted(len(grid.seeds), 'seed')} each"
    return f"{grid.name}: {size}" + (f"; {common}" if common else "")


def reasons(grid: Grid) -> list[str]:
    """Return why cells failed; seeds with the same reason are named together."""
    found = []
    for row in grid.rows:
        seeds: dict[str, list[int]] = {}
        for one in row.failed:
            seeds.setdefault(one.why, []).append(one.seed)
        for why, some in seeds.items():
            which = ", ".join(map(str, some))
            found.append(f"Cell {row.cell} failed with {counted_seeds(some)} {which}: {why}")
    return found


def counted_seeds(seeds: Sequence[int]) -> str:
    """Return `seed` or `seeds`."""
    return "seed" if len(seeds) == 1 else "seeds"


def explained(grid: Grid, interval: bool = True) -> list[str]:
    """Return how to read the table."""
    spread = "mean ± standard deviation over seeds"
    if interval:
        spread += (
            ", with the 95 % interval of the mean (Student's t; that of a share ends at 0 and 100)"
        )
    if len(grid.seeds) == 1:
        spread = "of one seed, which says little: seeds differ a lot"
    return [
        f"Figures: {spread}; shares in percent. A target that a seed never reached counts as the "
        "whole policy, 100 %. The fewest states and the fewest steps usually belong to different "
        "pruned policies.",
    ]


_SPREAD = ("mean", "std", "low", "high", "never")


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
    write_whole(path, packed_table(pa.table(columns)), root)
