"""The charts that answer the pointer: documents of BokehJS, the same in every process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bokeh.palettes import Cividis256
from bokeh.resources import Resources

from rpd_report.models import Model, column, constant, document, drawn, table
from rpd_report.packing import rounded
from rpd_report.printed import DASHES, colours_of, frame_for
from rpd_report.sweep import Line

_AXES = {
    "states": "share of states that keep the policy",
    "steps": "share of steps that the policy decides",
}
_TIPS = (
    ("ranking", "@ranking"), ("kept", "@kept states (@states{0.0%})"),
    ("steps", "@steps{0.0%}"), ("return", "@y{0.000} (@low{0.000} to @high{0.000})"),
    ("episodes", "@episodes"),
)  # fmt: skip
"""What a point says; Bokeh escapes what comes from columns."""
_PLACE = {"x": column("x"), "y": column("y")}
_SIDES = ("left", "right", "top", "bottom")


def library() -> str:
    """Return Bokeh's script, which the page carries."""
    scripts = Resources(mode="inline", components=["bokeh"], log_level="error").js_raw
    return "\n".join(scripts).replace("</script", "<\\/script")


# ----------------------------------------------------------------------- curves


def curve_chart(
    lines: Sequence[Line], axis: str, target: float | None, point: tuple[float, float] | None
) -> Any:
    """Return the curves over the share of states or of steps; parts are found by their names."""
    further = [*([target] if target is not None else []), *([point[1]] if point else [])]
    frame, colours = frame_for(lines, further), colours_of(lines)
    marks, dots = list[Model](), list[Model]()
    behind = [] if target is None else [_target(target)]
    for line in lines:
        shares, colour = line.states if axis == "states" else line.steps, colours[line.name]
        source = _curve_table(line, shares)
        dots.append(_dots(source, line.name, colour))
        marks += [_curve(source, line, colour), dots[-1]]
        behind.append(_band(source, line.name, colour, shares))
    if point:
        marks.append(_confirmed(point))
    percent = Model("NumeralTickFormatter", {"format": "0%"})
    return _figure(
        _Parts(
            ranges=({"start": -0.02, "end": 1.02}, {"start": frame.low, "end": frame.high}),
            marks=[*marks, _chosen()],
            hover=_hover(dots, _TIPS),
            below=_axis(percent, _AXES[axis]),
            left=_axis(Model("BasicTickFormatter"), "mean return"),
            behind=behind,
        )
    )


def _curve_table(line: Line, shares: Sequence[float]) -> Model:
    columns = {
        "x": shares, "y": line.mean, "low": line.low, "high": line.high,
        "states": line.states, "steps": line.steps,
    }  # fmt: skip
    data: dict[str, Sequence[Any]] = {name: rounded(part, 5) for name, part in columns.items()}
    named = [line.name] * len(line.kept)
    return table({**data, "kept": line.kept, "episodes": line.episodes, "ranking": named})


def _curve(source: Model, line: Line, colour: str) -> Model:
    width = 3.5 if line.role == "list" else 1.7
    dashes = {"line_dash": list(DASHES[line.name])} if line.name in DASHES else {}
    look = {"line_color": colour, "line_width": width, **dashes}
    return drawn(source, Model("Line", {**_PLACE, **look}), f"line {line.name}")


def _dots(source: Model, name: str, colour: str) -> Model:
    """Return the dots on a line, which answer the pointer."""
    look = {f"{what}_color": constant(colour) for what in ("line", "fill", "hatch")}
    return drawn(source, Model("Scatter", {**_PLACE, "size": constant(5), **look}), f"dots {name}")


def _band(source: Model, name: str, colour: str, shares: Sequence[float]) -> Model:
    """Return the intervals of a line: a band, or whiskers where the line turns back."""
    about, base = {"name": f"band {name}", "source": source}, {"base": column("x")}
    lower, upper = {"lower": column("low")}, {"upper": column("high")}
    if list(shares) == sorted(shares):
        look = {"line_alpha": 0, "fill_color": colour, "fill_alpha": 0.1}
        return Model("Band", {**about, **lower, **upper, **base, **look})
    ends = {**lower, "lower_head": None, **upper, "upper_head": None}
    look = {"line_color": constant(colour), "line_alpha": constant(0.45)}
    return Model("Whisker", {**about, **ends, **base, **look})


def _target(target: float) -> Model:
    look = {"line_color": "#808080", "line_dash": [3, 3]}
    return Model("Span", {"name": "target", "location": target, **look})


def _confirmed(point: tuple[float, float]) -> Model:
    """Return the mark of the policy that was confirmed."""
    look = {
        "size": 16, "line_color": "#ffffff", "line_width": 1.5, "fill_color": "#111111",
        "marker": "diamond",
    }  # fmt: skip
    mark = Model("Scatter", {**_PLACE, **{name: constant(value) for name, value in look.items()}})
    return drawn(table({"x": [point[0]], "y": [point[1]]}), mark, "confirmed")


def _chosen() -> Model:
    """Return the ring around what is chosen in the page, which fills its table."""
    look = {
        "size": 13, "line_color": "#d55e00", "line_width": 3, "fill_color": "#1f77b4",
        "fill_alpha": 0,
    }  # fmt: skip
    ring = Model("Scatter", {**_PLACE, **{name: constant(value) for name, value in look.items()}})
    return drawn(table({"x": [], "y": []}, "chosen"), ring)


# ----------------------------------------------------------------------- planes


def plane_chart(name: str, logarithmic: bool) -> Any:
    """Return an empty heatmap; the page fills it for the two variables that are chosen."""
    columns = dict.fromkeys(("x", "y", "width", "height", "value", "count"), ())
    look = {"name": "colours", "palette": list(Cividis256), "low": 0.1, "high": 1.0}
    mapper = Model("LogColorMapper" if logarithmic else "LinearColorMapper", look)
    colour = {**column("value"), "transform": mapper}
    size = {"width": column("width"), "height": column("height")}
    colours = {"line_color": colour, "fill_color": colour}  # a line, or gaps shine through
    cells = drawn(table(columns, "cells"), Model("Rect", {**_PLACE, **size, **colours}))
    here = ("here", "@x{0.00}, @y{0.00}")
    tips = (here, (_literal(name), "@value{0.0000}"), ("states", "@count"))
    return _figure(
        _Parts(
            ranges=({}, {}),
            marks=[cells],
            hover=_hover([cells], tips),
            below=_axis(Model("BasicTickFormatter")),
            left=_axis(Model("BasicTickFormatter")),
            right=[_colour_bar(mapper)],
            grid={"visible": False},
        )
    )


def _colour_bar(mapper: Model) -> Model:
    labels = Model("NoOverlap")
    look = {"width": 10, "major_label_policy": labels, "padding": 2, "color_mapper": mapper}
    return Model("ColorBar", look)


def _literal(name: str) -> str:
    """Return a name as a tooltip shows it: its signs for columns and markup are taken out."""
    return "".join(sign if sign not in "@$<>{}&" else " " for sign in name)


# ---------------------------------------------------------------------- figures


@dataclass(frozen=True)
class _Parts:
    """What one figure has and another has not."""

    ranges: tuple[Mapping[str, float], Mapping[str, float]]
    """Across and up; nothing: from 0 to 1."""
    marks: Sequence[Model]
    hover: Model
    below: Model
    left: Model
    right: Sequence[Model] = ()
    grid: Mapping[str, Any] = field(default_factory=dict)
    behind: Sequence[Model] = ()
    """What is drawn beneath the marks."""


def _figure(parts: _Parts) -> Any:
    across, up = (Model("Range1d", ends) for ends in parts.ranges)
    grids = (
        Model("Grid", {**parts.grid, "axis": parts.below}),
        Model("Grid", {**parts.grid, "dimension": 1, "axis": parts.left}),
    )
    return document(Model("Figure", {
        "height": 340, "sizing_mode": "stretch_width", "x_range": across, "y_range": up,
        "x_scale": Model("LinearScale"), "y_scale": Model("LinearScale"), "title": Model("Title"),
        "outline_line_alpha": 0, "renderers": parts.marks, "toolbar": _toolbar(parts.hover),
        "toolbar_location": "above", "left": [parts.left],
        **({"right": parts.right} if parts.right else {}), "below": [parts.below],
        "center": [*grids, *parts.behind], "background_fill_alpha": 0, "border_fill_alpha": 0,
        "min_border_right": 12,
    }))  # fmt: skip


def _toolbar(hover: Model) -> Model:
    """Return the tools; none is active from the start, or a finger could not scroll the page."""
    zoom = Model("BoxZoomTool", {"dimensions": "both", "overlay": _zoom_box()})
    tools = [Model("PanTool"), zoom, Model("ResetTool"), hover]
    return Model("Toolbar", {"tools": tools, "logo": None, "active_drag": None})


def _zoom_box() -> Model:
    """Return the box that is drawn to zoom into it."""
    handles = Model("AreaVisuals", {"fill_color": "white", "hover_fill_color": "lightgray"})
    return Model("BoxAnnotation", {
        "syncable": False, "line_color": "black", "line_alpha": 1.0, "line_width": 2,
        "line_dash": [4, 4], "fill_color": "lightgrey", "fill_alpha": 0.5, "level": "overlay",
        "visible": False,
        **{side: {"type": "number", "value": "nan"} for side in _SIDES},
        **{f"{side}_units": "canvas" for side in _SIDES},
        "handles": Model("BoxInteractionHandles", {"all": handles}),
    })  # fmt: skip


def _hover(answering: Sequence[Model], tips: Sequence[tuple[str, str]]) -> Model:
    about = {"renderers": list(answering), "tooltips": [list(tip) for tip in tips]}
    return Model("HoverTool", {"visible": False, **about, "sort_by": None})


def _axis(formatter: Model, label: str | None = None) -> Model:
    ticker = Model("BasicTicker", {"mantissas": [1, 2, 5]})
    named = {} if label is None else {"axis_label": label}
    policy = {"major_label_policy": Model("AllLabels")}
    return Model("LinearAxis", {"ticker": ticker, "formatter": formatter, **named, **policy})
