"""An episode on its map: arrows that point where the agent faces, large where it matters."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from rpd_core.plugin.protocols import Circle, Drawing, Line, Polygon, Text
from rpd_core.plugin.protocols.panel import Point, Shape
from rpd_minigrid.paths import Path, Place

CELL = 40.0
_FILLS = {"wall": "wall", "lava": "#ff9a3c", "goal": "goal"}
_THINGS = {"door": "#b08a4a", "key": "#d9a400", "ball": "#4f7cd0", "box": "#8f6fc0"}


def map_drawing(path: Path, losses: Sequence[float], kept: Sequence[bool], title: str,
                name: str, largest: float) -> Drawing:  # fmt: skip
    """Draw an episode; losses and who decides are those of its steps."""
    wide, high = len(path.kinds[0]) * CELL, len(path.kinds) * CELL
    middles = _spread(path.places)
    shapes = [*_floor(path.kinds), Line(tuple(middles), "soft", 1.4)]
    order = sorted(range(len(losses)), key=lambda at: (losses[at], at))
    for at in order:
        share = losses[at] / largest
        shapes.append(_arrow(middles[at], path.places[at][2], share, kept[at]))
    shapes.append(Circle(middles[-1], 3.5, "paper", "ink", 1.5))
    shapes.append(Text((6, high + 16), title, 13, bold=True))
    worst = max(range(len(losses)), key=lambda at: losses[at], default=0)
    x, y, facing = path.places[worst]
    where = f"column {x}, row {y}, facing {('right', 'down', 'left', 'up')[facing]}"
    label = f"{title}: {len(losses)} steps on the map; most would be lost in {where}"
    return Drawing(wide, high + 24, tuple(shapes), label, name=name, track=tuple(middles[:-1]))


def _floor(kinds: Sequence[Sequence[str]]) -> Iterator[Shape]:
    for y, row in enumerate(kinds):
        for x, kind in enumerate(row):
            fill = _FILLS.get(kind, "card")
            yield _square(x * CELL, y * CELL, CELL, fill, "line")
    for y, row in enumerate(kinds):
        for x, kind in enumerate(row):
            if kind in _THINGS:
                size = CELL * (0.84 if kind == "door" else 0.42)
                margin = (CELL - size) / 2
                yield _square(x * CELL + margin, y * CELL + margin, size, _THINGS[kind], "none")
                at = (x + 0.5) * CELL, (y + 0.5) * CELL + 4
                yield Text(at, kind, 10, "middle", "#14171c")


def _square(x: float, y: float, size: float, fill: str, stroke: str) -> Polygon:
    corners = ((x, y), (x + size, y), (x + size, y + size), (x, y + size))
    return Polygon(corners, fill, stroke, 0.8)


def _spread(places: Sequence[Place]) -> list[Point]:
    """Return where each step is drawn: those in the same cell a little apart."""
    seen: Counter[tuple[int, int]] = Counter()
    points = []
    for x, y, _ in places:
        again = seen[x, y]
        seen[x, y] += 1
        away, angle = (0.0, 0.0) if not again else (min(5.0 + again, 12.0), again * 2.4)
        points.append(
            ((x + 0.5) * CELL + away * math.cos(angle), (y + 0.5) * CELL + away * math.sin(angle))
        )
    return points


def _arrow(at: Point, direction: int, share: float, kept: bool) -> Polygon:
    """Return an arrow head: blue where the default acts, brown by what would be lost."""
    size = 6.0 + 9.0 * math.sqrt(max(share, 0.0))
    angle = direction * math.pi / 2
    corners = ((size, 0.0), (-size * 0.8, size * 0.75), (-size * 0.35, 0.0),
               (-size * 0.8, -size * 0.75))  # fmt: skip
    points = tuple(
        (at[0] + x * math.cos(angle) - y * math.sin(angle),
         at[1] + x * math.sin(angle) + y * math.cos(angle))
        for x, y in corners
    )  # fmt: skip
    if share > 0:
        return Polygon(points, f"loss:{min(share, 1.0):.3f}", "ink", 0.8)
    return Polygon(points, "soft" if kept else "default")
