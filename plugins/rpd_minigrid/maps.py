"""A layout as a drawing in SVG, its cells cut into the four directions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from rpd_minigrid.layouts import Layout, Place

CELL = 40
_CORNERS = (
    ((40, 0), (40, 40)), ((40, 40), (0, 40)), ((0, 40), (0, 0)), ((0, 0), (40, 0)),
)  # fmt: skip
"""The two corners of each direction's triangle; the third is the middle of the cell."""
_FILLS = {"wall": "#7b828a", "lava": "#ff9a3c", "goal": "#3fae5a", "door": "#b08a4a"}
_UNSEEN = "#c9ced4"
_BLUE, _WHITE, _RED = (33, 102, 172), (247, 247, 247), (178, 24, 43)


def draw_map(
    layout: Layout,
    importance: Mapping[int, float],
    shown: Collection[Place] | None,
    path: Sequence[Place],
) -> str:
    """Draw a layout; `shown` are the places that are coloured, none: all in reach."""
    wide, high = layout.width * CELL, layout.height * CELL
    parts = [f'<rect width="{wide}" height="{high}" fill="#ffffff"/>']
    for y, row in enumerate(layout.kinds):
        for x, kind in enumerate(row):
            parts.append(f'<rect x="{x * CELL}" y="{y * CELL}" width="{CELL}" '
                         f'height="{CELL}" fill="{fill_of(kind)}" stroke="#dfe3e7"/>')  # fmt: skip
    for place, key in sorted(layout.keys.items()):
        if shown is None or place in shown:
            parts.append(_triangle(place, importance.get(key)))
    parts.append(_line(path))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" '
        f'height="{high}">{"".join(parts)}</svg>'
    )


def fill_of(kind: str) -> str:
    """Return the colour of a cell by what is in it."""
    return _FILLS.get(kind, "#ffffff" if not kind else "#a7b7c7")


def triangle(place: Place, importance: float | None) -> tuple[list[tuple[int, int]], str]:
    """Return the corners of a direction's triangle, and its colour."""
    x, y, direction = place
    left, top = x * CELL, y * CELL
    corners = [(left + dx, top + dy) for dx, dy in _CORNERS[direction]]
    corners.append((left + CELL // 2, top + CELL // 2))
    return corners, _UNSEEN if importance is None else _colour(importance)


def _triangle(place: Place, importance: float | None) -> str:
    corners, fill = triangle(place, importance)
    points = " ".join(f"{px},{py}" for px, py in corners)
    return f'<polygon points="{points}" fill="{fill}" stroke="#666" stroke-width=".6"/>'


def _colour(share: float) -> str:
    """Return blue for the least, white for the middle, red for the most important."""
    one, other, at = (_BLUE, _WHITE, 2 * share) if share < 0.5 else (_WHITE, _RED, 2 * share - 1)
    mixed = (round(a + (b - a) * at) for a, b in zip(one, other, strict=True))
    return "#" + "".join(f"{level:02x}" for level in mixed)


def _line(path: Sequence[Place]) -> str:
    middles = [(x * CELL + CELL // 2, y * CELL + CELL // 2) for x, y, _ in path]
    points = " ".join(f"{x},{y}" for x, y in dict.fromkeys(middles))
    return f'<polyline points="{points}" fill="none" stroke="#111" stroke-width="2"/>'
