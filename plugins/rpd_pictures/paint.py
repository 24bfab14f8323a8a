"""Drawings on figures of matplotlib, for PNG and PDF."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle as Disc
from PIL import Image as Pillow

from rpd_core.plugin.protocols import Circle, Drawing, Line, Picture, Polygon, Text
from rpd_core.plugin.protocols.panel import Shape
from rpd_pictures.colours import LIGHT, named

_INCH = 96.0
"""Units of a drawing in an inch."""


def painted(drawing: Drawing) -> Figure:
    """Return a drawing as a figure of its own size."""
    figure = Figure(figsize=(drawing.width / _INCH, drawing.height / _INCH))
    axes: Any = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0, drawing.width)
    axes.set_ylim(drawing.height, 0)
    axes.set_axis_off()
    for order, shape in enumerate(drawing.shapes):
        _paint(axes, shape, order)
    return figure


def _paint(axes: Any, shape: Shape, order: int) -> None:
    if isinstance(shape, Polygon):
        edge = _colour(shape.stroke)
        axes.add_collection(
            PolyCollection(
                [shape.points], facecolors=_colour(shape.fill), edgecolors=edge, zorder=order,
                linewidths=_points(shape.width) if shape.stroke != "none" else 0,
            )
        )  # fmt: skip
    elif isinstance(shape, Line):
        x, y = zip(*shape.points, strict=True)
        style = (0, tuple(_points(one) for one in shape.dashes)) if shape.dashes else "-"
        width = _points(shape.width)
        axes.plot(x, y, color=_colour(shape.stroke), lw=width, ls=style, zorder=order)
    elif isinstance(shape, Circle):
        look = {"facecolor": _colour(shape.fill), "edgecolor": _colour(shape.stroke)}
        axes.add_patch(Disc(shape.at, shape.radius, lw=_points(shape.width), zorder=order, **look))
    elif isinstance(shape, Text):
        _write(axes, shape, order)
    elif isinstance(shape, Picture):
        pixels = np.asarray(Pillow.open(io.BytesIO(shape.image.data)).convert("RGB"))
        left, top = shape.at
        extent = (left, left + shape.width, top + shape.height, top)
        axes.imshow(pixels, extent=extent, zorder=order, aspect="auto")


def _write(axes: Any, shape: Text, order: int) -> None:
    places = {"start": "left", "middle": "center", "end": "right"}
    axes.text(
        *shape.at, shape.text, fontsize=_points(shape.size), color=_colour(shape.fill),
        ha=places[shape.anchor], va="baseline", zorder=order,
        weight="bold" if shape.bold else "normal", rotation=90 if shape.upright else 0,
        rotation_mode="anchor", parse_math=False,
    )  # fmt: skip


def _colour(colour: str) -> str:
    return LIGHT.get(named(colour), named(colour))


def _points(size: float) -> float:
    return size * 72.0 / _INCH
