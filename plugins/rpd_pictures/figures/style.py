"""How figures look: one set of colours and sizes, and canvases that need no screen.

Colours are those of Okabe and Ito, which people with any kind of colour vision tell apart; lines
differ in their dashes, too, for print in grey. Nothing here uses pyplot, which keeps figures in
global state.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, PercentFormatter

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, RED, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
GREY, LIGHT = "#666666", "#DADADA"
WHOLE = FuncFormatter(lambda value, place: f"{value:,.0f}")
"""Writes numbers in full."""
_LONGEST = 60
"""Characters of a spec in a title."""
_SETTINGS: dict[str, Any] = {
    "figure.dpi": 150,
    "savefig.dpi": 200,
    "font.family": "DejaVu Sans",  # comes with matplotlib, so it is the same everywhere
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "lines.linewidth": 1.4,
    "svg.hashsalt": "rpd",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "text.usetex": False,
    "text.parse_math": False,  # names come from outside: a dollar sign in one is a dollar sign
}


class _DrawnFigure(Figure):
    """A figure that notebooks show without pyplot."""

    def _repr_png_(self) -> bytes:
        return rendered(self, "png")


@dataclass(frozen=True)
class Line:
    """How the line of one measure looks."""

    color: str
    dashes: Any = "-"
    width: float = 1.4

    @property
    def look(self) -> dict[str, Any]:
        """What matplotlib takes."""
        return {"color": self.color, "linestyle": self.dashes, "linewidth": self.width}


_LINES = {
    "tarantula": Line(BLUE),
    "ochiai": Line(SKY, (0, (5, 1.5))),
    "zoltar": Line(GREEN, (0, (6, 1.5, 1, 1.5))),
    "wong2": Line(PURPLE, (0, (3, 1.5))),
    "effect": Line(ORANGE, (0, (6, 2))),
    "effect:shrunken": Line(ORANGE),
    "effect-return:shrunken": Line(GREEN),
    "impact:shrunken": Line(RED, "-", 2.0),
    "freqvis": Line(BLACK, (0, (1, 1.2))),
    "differ": Line(BLACK, (0, (5, 1.2, 1, 1.2))),
    "default-gap": Line(BLACK, (0, (3, 1.2, 1, 1.2, 1, 1.2))),
    "random": Line(GREY, (0, (2, 2))),
}
_MORE = tuple(
    Line(color, dashes)
    for dashes in ((0, (3, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 2)))
    for color in (YELLOW, GREEN, BLUE, PURPLE, SKY, RED)
)


def line_styles(names: list[str]) -> dict[str, Line]:
    """Return how the line of each measure looks; those not known by name get what is left."""
    others = [name for name in names if name not in _LINES]
    found = {name: _MORE[place % len(_MORE)] for place, name in enumerate(others)}
    return {name: _LINES.get(name) or found[name] for name in names}


@contextmanager
def house_style() -> Iterator[None]:
    """Draw, or render, as all figures look, whatever the user's own settings are."""
    with mpl.rc_context():
        mpl.rcdefaults()
        settings: Any = mpl.rcParams
        settings.update(_SETTINGS)
        yield


def new_figure(width: float, height: float) -> _DrawnFigure:
    """Return an empty figure, in inches, that lays itself out."""
    figure = _DrawnFigure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def in_percent(axis: Any) -> None:
    """Label an axis of shares in percent."""
    axis.set_major_formatter(PercentFormatter(xmax=1))


def in_whole_numbers(axis: Any) -> None:
    """Label a logarithmic axis with plain numbers, not with powers."""
    axis.set_major_formatter(WHOLE)
    axis.set_minor_formatter(NullFormatter())


def shared_legend(figure: Figure, axes: Axes, columns: int = 6) -> None:
    """Put one legend for all panels below them."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=columns, handlelength=2.8,
        columnspacing=1.4,
    )  # fmt: skip


def short_spec(spec: str) -> str:
    """Return a spec without the folders of a file in it, and not longer than a title may be."""
    name, colon, value = spec.partition(":")
    text = f"{name}{colon}{value.replace(chr(92), '/').rpartition('/')[2]}" if colon else spec
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def rendered(figure: Figure, kind: str) -> bytes:
    """Return a figure as a PNG, SVG or PDF file; the same figure always gives the same bytes."""
    nothing: dict[str, dict[str, Any]] = {
        "png": {"Software": None},
        "svg": {"Date": None, "Creator": "rpd"},
        "pdf": {"CreationDate": None, "ModDate": None, "Creator": "rpd", "Producer": None},
    }
    sink = BytesIO()
    with house_style():
        figure.savefig(sink, format=kind, metadata=nothing[kind])
    return sink.getvalue()
