"""A grid as one page of HTML that needs nothing else: no script, no request."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, StrictUndefined

from rpd_core.config.settings import PORTFOLIO
from rpd_core.pruning.curves import ShownCurve
from rpd_pictures.figures.bands import draw_bands
from rpd_pictures.figures.style import rendered, short_spec
from rpd_studies.grids.results import CellResult, Grid, GridRow
from rpd_studies.grids.text import cells_of, explained, headings, reasons, title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TEMPLATE = "page.html.txt"
_DRAWN = 40
"""Cells whose curves are drawn; a page with hundreds of figures is of no use."""
_LINES = ("freqvis", "random")
"""What is drawn beside the portfolio."""
FREQVIS = (
    "FreqVis ranks states by how often they are visited. Where it needs few states, it is not the "
    "winner for that: the policy takes most steps in those few, on some tasks nearly all, so that "
    "little is pruned. Look at its steps, too."
)


def page_of(grid: Grid) -> str:
    """Return the page of a grid; everything from outside is escaped."""
    drawn = [row for row in grid.rows if row.results][:_DRAWN]
    return rendered_page(
        _TEMPLATE,
        grid=grid,
        title=title(grid),
        headings=headings(grid),
        words=len(grid.varied) + 1,
        rows=[(row, cells_of(grid, row, interval=True)) for row in grid.rows],
        reasons=reasons(grid),
        explained=explained(grid),
        figures=[(row, embedded(curves_figure(row))) for row in drawn],
        left_out=sum(bool(row.results) for row in grid.rows) - len(drawn),
    )


def rendered_page(template: str, **values: Any) -> str:
    """Return a page of this package from its template."""
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    package = files("rpd_studies.grids")
    values["freqvis"] = FREQVIS
    values["style"] = package.joinpath("page.css.txt").read_text("utf-8")
    text = package.joinpath(template).read_text("utf-8")
    return environment.from_string(text).render(**values)


def embedded(figure: Figure) -> str:
    """Return a figure as an address that holds it whole."""
    return f"data:image/svg+xml;base64,{base64.b64encode(rendered(figure, 'svg')).decode()}"


def curves_figure(row: GridRow) -> Figure:
    """Draw the curves of a cell over its seeds."""
    told = ", ".join(short_spec(value) for value in row.settings.values())
    return draw_bands(lines_of(row.results), f"cell {row.cell}: {told}" if told else "curves")


def lines_of(results: Sequence[CellResult]) -> dict[str, list[Sequence[ShownCurve]]]:
    """Return the curves of the portfolio, FreqVis and random rankings, run by run."""
    found: dict[str, list[Sequence[ShownCurve]]] = {}
    for one in results:
        names = {"portfolio": PORTFOLIO, **{name: (name,) for name in _LINES}}
        for line, some in names.items():
            curves = [one.curves[name] for name in some if name in one.curves]
            if curves:
                found.setdefault(line, []).append(curves)
    return found
