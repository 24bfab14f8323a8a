"""The pictures of the page, one by one: what `rpd draw` writes as files."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from rpd_core.errors import ConfigError, nearest
from rpd_core.plugin.protocols import Circle, Drawing, Line, PanelView, Picture, Polygon, Text
from rpd_core.plugin.protocols.panel import Point, Shape
from rpd_core.plugin.registry import installed
from rpd_core.results.run import Run
from rpd_pictures.panels import Gathered, panel_view, show_panels
from rpd_pictures.proof import proof_drawing
from rpd_pictures.stored import read_pictures
from rpd_pictures.timeline import barcode_drawing, timeline_drawing
from rpd_pictures.traces import read_traces

_GAP = 16.0


def page_drawing(run: Run, name: str, pair: tuple[str, str] | None = None) -> Drawing:
    """Return a picture of the page: `map`, `timeline`, `barcode` or `proof`."""
    found = _DRAWN[name](run) if pair is None else _hero(run, pair)
    if found is None:
        raise ConfigError(
            f"{str(run.path)!r} has no {name} to draw: no smallest policy is confirmed, or nothing "
            "is stored step by step; rpd run stores that"
        )
    return found


def _view(run: Run) -> PanelView | None:
    traces = read_traces(run)
    return None if traces is None else panel_view(run, traces, _stored(run))


def _stored(run: Run) -> Any:
    return read_pictures(run.path, str(run.name))


def _hero(run: Run, pair: tuple[str, str] | None = None) -> Drawing | None:
    """Return what stands beside the timeline; `pair` names two variables of a map."""
    view, stored = _view(run), _stored(run)
    if view is None:
        return None
    gathered = Gathered(run, stored.panels if stored is not None else {})
    heroes = show_panels(installed(), view, gathered).hero
    names = list(dict.fromkeys(one.name for one in heroes))
    if not heroes:
        return None
    chosen = names[0] if pair is None else _chosen(names, pair)
    return beside([one for one in heroes if one.name == chosen])


def _chosen(names: list[str], pair: tuple[str, str]) -> str:
    one, other = (part.strip() for part in pair)
    for name in (f"{one} and {other}", f"{other} and {one}"):
        if name in names:
            return name
    wanted = f"{one} and {other}"
    known = nearest(wanted, names) or f" There are: {', '.join(names)}."
    raise ConfigError(f"there is no map over {wanted!r}.{known}")


def beside(drawings: list[Drawing]) -> Drawing:
    """Return drawings in a row as one."""
    if len(drawings) == 1:
        return drawings[0]
    shapes: list[Shape] = []
    left = 0.0
    for one in drawings:
        shapes += [_moved(shape, left) for shape in one.shapes]
        left += one.width + _GAP
    height = max(one.height for one in drawings)
    label = "; ".join(one.label for one in drawings)
    return Drawing(left - _GAP, height, tuple(shapes), label, drawings[0].caption)


def _moved(shape: Shape, right: float) -> Shape:
    def there(point: Point) -> Point:
        return point[0] + right, point[1]

    if isinstance(shape, Polygon | Line):
        return dataclasses.replace(shape, points=tuple(map(there, shape.points)))
    assert isinstance(shape, Circle | Text | Picture)
    return dataclasses.replace(shape, at=there(shape.at))


def _timeline(run: Run) -> Drawing | None:
    view = _view(run)
    return None if view is None else timeline_drawing(view)


def _barcode(run: Run) -> Drawing | None:
    view = _view(run)
    return None if view is None else barcode_drawing(view)


_DRAWN: Mapping[str, Callable[[Run], Drawing | None]] = {
    "map": _hero,
    "timeline": _timeline,
    "barcode": _barcode,
    "proof": proof_drawing,
}
