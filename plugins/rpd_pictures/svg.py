"""Drawings as SVG: inside a page, in its colours, or as a file of their own."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import groupby

from rpd_core.plugin.protocols import Circle, Drawing, Line, Picture, Polygon, Text
from rpd_core.plugin.protocols.panel import Point, Shape
from rpd_pictures.colours import LIGHT, named

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"


def inline_svg(drawing: Drawing, **more: str) -> str:
    """Return a drawing as a part of a page, whose style has the colours."""
    return _svg(drawing, _themed, more)


def svg_file(drawing: Drawing) -> bytes:
    """Return a drawing as a file."""
    more = {"xmlns": "http://www.w3.org/2000/svg", "font-family": _FONT}
    return _svg(drawing, _on_paper, more).encode()


def _themed(colour: str) -> str:
    name = named(colour)
    return f"var(--{name})" if name in LIGHT else name


def _on_paper(colour: str) -> str:
    return LIGHT.get(named(colour), named(colour))


def _svg(drawing: Drawing, colour: Callable[[str], str], more: dict[str, str]) -> str:
    size = f"0 0 {_number(drawing.width)} {_number(drawing.height)}"
    track = " ".join(f"{_number(x)},{_number(y)}" for x, y in drawing.track)
    attributes = {
        "viewBox": size,
        "width": _number(drawing.width),
        "height": _number(drawing.height),
        "role": "img",
        "aria-label": drawing.label,
        **({"data-track": track} if track and "xmlns" not in more else {}),
        **more,
    }
    written = " ".join(f'{name}="{escape(value)}"' for name, value in attributes.items())
    marker = '<circle class="marker" r="9" visibility="hidden"/>' if track else ""
    return f"<svg {written}>{''.join(_shapes(drawing.shapes, colour))}{marker}</svg>"


def _shapes(shapes: Sequence[Shape], colour: Callable[[str], str]) -> Iterator[str]:
    """Yield shapes; polygons of the same look, one after the other, are one path."""
    for look, some in groupby(shapes, key=_look):
        if look is None:
            yield from (_shape(one, colour) for one in some)
            continue
        fill, stroke, width = look
        path = "".join(_closed(one.points) for one in some if isinstance(one, Polygon))
        edge = f' stroke="{colour(stroke)}" stroke-width="{_number(width)}"'
        yield f'<path d="{path}" fill="{colour(fill)}"{edge if stroke != "none" else ""}/>'


def _look(shape: Shape) -> tuple[str, str, float] | None:
    return (shape.fill, shape.stroke, shape.width) if isinstance(shape, Polygon) else None


def _closed(points: Sequence[Point]) -> str:
    """Return a closed path; rectangles are short."""
    if len(points) == 4:
        (x, y), (right, top), (far, bottom), (left, low) = points
        if y == top and right == far and bottom == low and left == x:
            wide, high = _number(right - x), _number(bottom - y)
            return f"M{_number(x)} {_number(y)}h{wide}v{high}h-{wide}z"
    return f"M{'L'.join(f'{_number(x)} {_number(y)}' for x, y in points)}z"


def _shape(shape: Shape, colour: Callable[[str], str]) -> str:
    if isinstance(shape, Line):
        points = " ".join(f"{_number(x)},{_number(y)}" for x, y in shape.points)
        dashes = " ".join(map(_number, shape.dashes))
        return (
            f'<polyline points="{points}" fill="none" stroke="{colour(shape.stroke)}" '
            f'stroke-width="{_number(shape.width)}" stroke-linejoin="round"'
            f"{f' stroke-dasharray={chr(34)}{dashes}{chr(34)}' if dashes else ''}/>"
        )
    if isinstance(shape, Circle):
        edge = f' stroke="{colour(shape.stroke)}" stroke-width="{_number(shape.width)}"'
        return (
            f'<circle cx="{_number(shape.at[0])}" cy="{_number(shape.at[1])}" '
            f'r="{_number(shape.radius)}" fill="{colour(shape.fill)}"'
            f"{edge if shape.stroke != 'none' else ''}/>"
        )
    if isinstance(shape, Picture):
        data = base64.b64encode(shape.image.data).decode()
        x, y, wide, high = map(_number, (*shape.at, shape.width, shape.height))
        return (
            f'<image x="{x}" y="{y}" width="{wide}" height="{high}" '
            f'href="data:{escape(shape.image.media_type)};base64,{data}"/>'
        )
    assert isinstance(shape, Text)
    return _text(shape, colour)


def _text(shape: Text, colour: Callable[[str], str]) -> str:
    x, y = map(_number, shape.at)
    place = f'transform="translate({x} {y}) rotate(-90)"' if shape.upright else f'x="{x}" y="{y}"'
    anchor = "" if shape.anchor == "start" else f' text-anchor="{shape.anchor}"'
    weight = ' font-weight="600"' if shape.bold else ""
    return (
        f'<text {place} font-size="{_number(shape.size)}" fill="{colour(shape.fill)}"'
        f"{anchor}{weight}>{escape(shape.text)}</text>"
    )


def _number(value: float) -> str:
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text
