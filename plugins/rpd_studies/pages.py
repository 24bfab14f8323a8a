"""The files of a grid and of a reproduction; pages of HTML need no script and no request."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, StrictUndefined

from rpd_core.config.settings import PORTFOLIO
from rpd_core.pruning.curves import ShownCurve
from rpd_core.store.codec import to_bytes
from rpd_core.store.files import write_whole
from rpd_pictures.figures.curves import draw_bands
from rpd_pictures.figures.style import rendered, short_spec
from rpd_studies import grid_tables, reproduction_tables
from rpd_studies.paper import Reproduction
from rpd_studies.results import CellResult, Grid, GridRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GRID_FILES = ("grid.html", "table.parquet", "seeds.parquet", "table.md")
REPRODUCTION_FILES = ("reproduced.html", "reproduced.md", "reproduced.json")
_DRAWN = 40
"""Cells whose curves are drawn; a page with hundreds of figures is of no use."""
_LINES = ("freqvis", "random")
"""What is drawn beside the portfolio."""
_FREQVIS = (
    "FreqVis ranks states by how often they are visited. Where it needs few states, it is not the "
    "winner for that: the policy takes most steps in those few, on some tasks nearly all, so that "
    "little is pruned. Look at its steps, too."
)


def write_grid(grid: Grid, folder: Path) -> None:
    """Write the table as a page, Parquet and Markdown; the same grid always gives the same."""
    page, table, seeds, text = (folder / name for name in GRID_FILES)
    write_whole(page, grid_page(grid).encode(), folder)
    grid_tables.write_parquet(table, grid_tables.cell_rows(grid), folder)
    grid_tables.write_parquet(seeds, grid_tables.seed_rows(grid), folder)
    write_whole(text, grid_tables.markdown(grid).encode(), folder)


def grid_page(grid: Grid) -> str:
    """Return the page of a grid; everything from outside is escaped."""
    drawn = [row for row in grid.rows if row.results][:_DRAWN]
    return _rendered_page(
        "grid.html.txt",
        grid=grid,
        title=grid_tables.title(grid),
        headings=grid_tables.headings(grid),
        words=len(grid.varied) + 1,
        rows=[(row, grid_tables.cells_of(grid, row, interval=True)) for row in grid.rows],
        reasons=grid_tables.reasons(grid),
        explained=grid_tables.explained(grid),
        figures=[(row, _embedded(_curves_figure(row))) for row in drawn],
        left_out=sum(bool(row.results) for row in grid.rows) - len(drawn),
    )


def _rendered_page(template: str, **values: Any) -> str:
    """Return a page of this package from its template."""
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    package = files("rpd_studies") / "templates"
    values["freqvis"] = _FREQVIS
    values["style"] = package.joinpath("page.css.txt").read_text("utf-8")
    text = package.joinpath(template).read_text("utf-8")
    return environment.from_string(text).render(**values)


def _embedded(figure: Figure) -> str:
    """Return a figure as an address that holds it whole."""
    return f"data:image/svg+xml;base64,{base64.b64encode(rendered(figure, 'svg')).decode()}"


def _curves_figure(row: GridRow) -> Figure:
    """Draw the curves of a cell over its seeds."""
    told = ", ".join(short_spec(value) for value in row.settings.values())
    return draw_bands(_lines_of(row.results), f"cell {row.cell}: {told}" if told else "curves")


def _lines_of(results: Sequence[CellResult]) -> dict[str, list[Sequence[ShownCurve]]]:
    """Return the curves of the portfolio, FreqVis and random rankings, run by run."""
    found: dict[str, list[Sequence[ShownCurve]]] = {}
    for one in results:
        names = {"portfolio": PORTFOLIO, **{name: (name,) for name in _LINES}}
        for line, some in names.items():
            curves = [one.curves[name] for name in some if name in one.curves]
            if curves:
                found.setdefault(line, []).append(curves)
    return found


def write_reproduction(found: Reproduction, folder: Path) -> None:
    """Write the tables as a page, as Markdown and as JSON."""
    page, text, plain = (folder / name for name in REPRODUCTION_FILES)
    write_whole(page, _reproduction_page(found).encode(), folder)
    write_whole(text, reproduction_tables.markdown(found).encode(), folder)
    write_whole(plain, to_bytes(found), folder)


def _reproduction_page(found: Reproduction) -> str:
    """Return the page; everything from outside is escaped."""
    drawn = {
        f"{row.task}, default action {row.default_action}": row for row in found.rows if row.results
    }
    figures = [
        (row, _embedded(draw_bands(_lines_of(row.results), title))) for title, row in drawn.items()
    ]
    return _rendered_page(
        "reproduction.html.txt",
        found=found,
        tables=reproduction_tables.tables_of(found),
        sentences=reproduction_tables.sentences(found),
        figures=figures,
    )
