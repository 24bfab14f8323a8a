"""A layout on the axes of matplotlib, as in papers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from matplotlib.collections import PolyCollection

from rpd_minigrid.layouts import Layout, Place
from rpd_minigrid.maps import CELL, fill_of, triangle


def paint_map(
    axes: Any,
    layout: Layout,
    importance: Mapping[int, float],
    shown: Collection[Place] | None,
    path: Sequence[Place],
) -> None:
    """Draw a layout on axes; `shown` are the places that are coloured, none: all in reach."""
    cells, fills = [], []
    for y, row in enumerate(layout.kinds):
        for x, kind in enumerate(row):
            left, top = x * CELL, y * CELL
            cells.append([(left, top), (left + CELL, top), (left + CELL, top + CELL),
                          (left, top + CELL)])  # fmt: skip
            fills.append(fill_of(kind))
    axes.add_collection(PolyCollection(cells, facecolors=fills, edgecolors="#dfe3e7", lw=0.5))
    places = [place for place in sorted(layout.keys) if shown is None or place in shown]
    triangles = [triangle(place, importance.get(layout.keys[place])) for place in places]
    corners = [[(float(x), float(y)) for x, y in points] for points, _ in triangles]
    colours = [fill for _, fill in triangles]
    axes.add_collection(PolyCollection(corners, facecolors=colours, edgecolors="#666", lw=0.3))
    middles = dict.fromkeys(((x + 0.5) * CELL, (y + 0.5) * CELL) for x, y, _ in path)
    axes.plot([x for x, _ in middles], [y for _, y in middles], color="#111111", lw=1.2)
    axes.set_xlim(0, layout.width * CELL)
    axes.set_ylim(layout.height * CELL, 0)
    axes.set_aspect("equal")
    axes.set_axis_off()
