"""Planes as drawings in SVG: every layer over two of the axes."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from rpd_report.blocks import ShownPlane

_LEVELS = ("#00224e", "#35456c", "#666970", "#948e77", "#c8b866", "#fee838")
"""Dark is low, bright is high."""
_WIDTH, _HEIGHT, _MARGIN = 420, 280, 46


def plane_drawings(plane: ShownPlane) -> list[Markup]:
    """Draw every layer over the two axes that the panel chose."""
    return [_drawing(plane, layer) for layer in plane.layers]


def _drawing(plane: ShownPlane, layer: dict[str, Any]) -> Markup:
    x, y = plane.axes[plane.x], plane.axes[plane.y]
    cells = _combined(x["at"], y["at"], layer)
    if not cells:
        return Markup("")
    columns, rows = max(at for at, _ in cells) + 1, max(at for _, at in cells) + 1
    wide, high = (_WIDTH - _MARGIN) / columns, (_HEIGHT - _MARGIN) / rows
    levels = _levels(np.array(list(cells.values())), layer["combine"] == "sum")
    paths: dict[int, list[str]] = defaultdict(list)
    for (column, row), level in zip(cells, levels.tolist(), strict=True):
        left, top = _MARGIN + column * wide, (rows - 1 - row) * high
        paths[level].append(f"M{left:.1f} {top:.1f}h{wide:.1f}v{high:.1f}h-{wide:.1f}z")
    drawn = "".join(
        f'<path fill="{_LEVELS[level]}" d="{"".join(parts)}"/>'
        for level, parts in sorted(paths.items())
    )
    label = f"{layer['name']} over {x['name']} and {y['name']}; bright is high"
    return Markup(
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(label)}">{drawn}'
        f'<text x="{(_WIDTH + _MARGIN) / 2:.0f}" y="{_HEIGHT - 8}" text-anchor="middle">'
        f"{escape(_range(x, columns))}</text>"
        f'<text transform="translate(14 {(_HEIGHT - _MARGIN) / 2:.0f}) rotate(-90)" '
        f'text-anchor="middle">{escape(_range(y, rows))}</text></svg>'
    )


def _range(axis: dict[str, Any], count: int) -> str:
    half = axis["width"] / 2
    first, last = axis["start"] + half, axis["start"] + axis["width"] * count - half
    return f"{axis['name']}: {first:.3g} to {last:.3g}{axis['unit']}"


def _combined(
    columns: list[int], rows: list[int], layer: dict[str, Any]
) -> dict[tuple[int, int], float]:
    found: dict[tuple[int, int], list[float]] = defaultdict(list)
    for column, row, value in zip(columns, rows, layer["values"], strict=True):
        found[column, row].append(value)
    return {place: _one_of(many, layer["combine"]) for place, many in sorted(found.items())}


def _one_of(many: list[float], combine: str) -> float:
    if combine == "max":
        return max(many)
    return sum(many) if combine == "sum" else sum(many) / len(many)


def _levels(values: np.ndarray, logarithmic: bool) -> np.ndarray:
    if logarithmic:
        values = np.log10(np.maximum(values, max(float(values.max()) / 1e4, 1e-12)))
    low, span = float(values.min()), float(np.ptp(values)) or 1.0
    return np.minimum(((values - low) / span * len(_LEVELS)).astype(np.int64), len(_LEVELS) - 1)
