"""The charts of the page as Bokeh's own classes draw them, to compare with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from bokeh.embed import json_item
from bokeh.models import (
    ColumnDataSource,
    HoverTool,
    LinearColorMapper,
    LogColorMapper,
    NumeralTickFormatter,
    Range1d,
)
from bokeh.models.annotations import Band, ColorBar, Span, Whisker
from bokeh.palettes import Cividis256
from bokeh.plotting import figure

from rpd_report.packing import rounded
from rpd_report.printed import DASHES, colours_of, frame_for
from rpd_report.sweep import Line

_TOOLS = "pan,box_zoom,reset"
_OWN_ID = re.compile(r"p\d+")
_AXES = {
    "states": "share of states that keep the policy",
    "steps": "share of steps that the policy decides",
}
_TIPS = [
    ("ranking", "@ranking"), ("kept", "@kept states (@states{0.0%})"),
    ("steps", "@steps{0.0%}"), ("return", "@y{0.000} (@low{0.000} to @high{0.000})"),
    ("episodes", "@episodes"),
]  # fmt: skip
"""What a point says; Bokeh escapes what comes from columns."""


def curve_chart(
    lines: Sequence[Line], axis: str, target: float | None, point: tuple[float, float] | None
) -> Any:
    """Return the curves over the share of states or of steps; parts are found by their names."""
    further = [*([target] if target is not None else []), *([point[1]] if point else [])]
    frame, colours = frame_for(lines, further), colours_of(lines)
    plot = figure(
        height=340, sizing_mode="stretch_width", tools=_TOOLS, toolbar_location="above",
        x_range=Range1d(start=-0.02, end=1.02), y_range=Range1d(start=frame.low, end=frame.high),
        x_axis_label=_AXES[axis], y_axis_label="mean return",
    )  # fmt: skip
    plot.xaxis.formatter = NumeralTickFormatter(format="0%")
    if target is not None:
        plot.add_layout(Span(location=target, dimension="width", line_dash=[3, 3], name="target",
                             line_color="#808080"))  # fmt: skip
    dots = [_add_line(plot, line, axis, colours[line.name]) for line in lines]
    plot.add_tools(HoverTool(renderers=dots, tooltips=_TIPS, visible=False))
    if point:
        plot.scatter([point[0]], [point[1]], marker="diamond", size=16, name="confirmed",
                     fill_color="#111111", line_color="#ffffff", line_width=1.5)  # fmt: skip
    chosen = ColumnDataSource({"x": [], "y": []}, name="chosen")
    plot.scatter("x", "y", source=chosen, marker="circle", size=13, fill_alpha=0,
                 line_color="#d55e00", line_width=3)  # fmt: skip
    return _finished(plot)


def _add_line(plot: Any, line: Line, axis: str, colour: str) -> Any:
    """Draw a line with its intervals; return the dots on it, which answer the pointer."""
    shares = line.states if axis == "states" else line.steps
    columns = {
        "x": shares, "y": line.mean, "low": line.low, "high": line.high,
        "states": line.states, "steps": line.steps,
    }  # fmt: skip
    data: dict[str, Any] = {name: rounded(column, 5) for name, column in columns.items()}
    data["kept"], data["episodes"] = list(line.kept), list(line.episodes)
    data["ranking"] = [line.name] * len(line.kept)
    source = ColumnDataSource(data)
    plot.add_layout(_band(source, line.name, colour, shares))
    plot.line("x", "y", source=source, color=colour, name=f"line {line.name}",
                      line_width=3.5 if line.role == "list" else 1.7,
                      line_dash=list(DASHES.get(line.name, ())))  # fmt: skip
    return plot.scatter("x", "y", source=source, size=5, color=colour, name=f"dots {line.name}")


def _band(source: Any, name: str, colour: str, shares: Sequence[float]) -> Any:
    """Return the intervals of a line: a band, or whiskers where the line turns back."""
    ends = {"base": "x", "lower": "low", "upper": "high", "source": source, "name": f"band {name}"}
    if list(shares) == sorted(shares):
        return Band(**ends, fill_color=colour, fill_alpha=0.1, line_alpha=0)
    return Whisker(**ends, line_color=colour, line_alpha=0.45, upper_head=None, lower_head=None)


def _literal(name: str) -> str:
    """Return a name as a tooltip shows it: its signs for columns and markup are taken out."""
    return "".join(sign if sign not in "@$<>{}&" else " " for sign in name)


def plane_chart(name: str, logarithmic: bool) -> Any:
    """Return an empty heatmap; the page fills it for the two variables that are chosen."""
    plot = figure(
        height=340, sizing_mode="stretch_width", tools=_TOOLS, toolbar_location="above",
        x_range=Range1d(start=0, end=1), y_range=Range1d(start=0, end=1),
    )  # fmt: skip
    source = ColumnDataSource(
        {"x": [], "y": [], "width": [], "height": [], "value": [], "count": []}, name="cells"
    )
    mapper = (LogColorMapper if logarithmic else LinearColorMapper)(
        palette=Cividis256, low=0.1, high=1.0, name="colours"
    )
    cells = plot.rect(
        "x", "y", "width", "height", source=source, line_width=1,
        fill_color={"field": "value", "transform": mapper},
        line_color={"field": "value", "transform": mapper},  # or gaps shine through
    )  # fmt: skip
    plot.add_tools(HoverTool(renderers=[cells], visible=False, tooltips=[
        ("here", "@x{0.00}, @y{0.00}"), (_literal(name), "@value{0.0000}"), ("states", "@count"),
    ]))  # fmt: skip
    plot.grid.visible = False
    plot.add_layout(ColorBar(color_mapper=mapper, width=10, padding=2), "right")
    return _finished(plot)


def _finished(plot: Any) -> Any:
    plot.toolbar.logo = None
    plot.toolbar.active_drag = None  # or a finger on the chart could not scroll the page
    plot.min_border_right = 12
    plot.background_fill_alpha = 0
    plot.border_fill_alpha = 0
    plot.outline_line_alpha = 0
    return renumbered(json_item(plot))


def renumbered(item: Any) -> Any:
    """Return an item whose identities count from 1: Bokeh's go on from chart to chart."""
    known: dict[str, str] = {}

    def walk(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: walk(part, name) for name, part in value.items()}
        if isinstance(value, list):
            return [walk(part) for part in value]
        if key in ("id", "root_id") and isinstance(value, str) and _OWN_ID.fullmatch(value):
            return known.setdefault(value, f"m{len(known) + 1}")
        return value

    return walk(item)
