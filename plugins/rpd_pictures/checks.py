"""What panels hand in, checked: nobody's records can break a page, or say that they are markup."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from rpd_core.errors import ComponentError
from rpd_core.plugin.protocols import (
    Card,
    Circle,
    Drawing,
    Image,
    Line,
    PanelView,
    Picture,
    Polygon,
    Text,
)
from rpd_core.plugin.protocols.panel import Shape
from rpd_pictures.colours import LIGHT, named

_MOST_DRAWINGS = 12
_MOST_SHAPES = 20_000
MOST_CARDS = 6
_MOST_FRAMES = 60
_LARGEST_IMAGE = 400_000
_ROOM = 1_000_000
"""Bytes of the images of all frames, or of a drawing."""
_LARGEST_NUMBER = 1e5
_LONGEST_TEXT = 600
_LONGEST_NAME = 200
_SIGNATURES = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}
"""How images begin."""


def checked_hero(given: object, view: PanelView) -> tuple[Drawing, ...]:
    """Return the drawings of a hero, or raise where one cannot be shown."""
    drawings = few_of(given, _MOST_DRAWINGS, "hero() must return drawings")
    return tuple(checked_drawing(one) for one in drawings)


def checked_frames(given: object, view: PanelView) -> dict[int, Image]:
    """Return frames by step, or raise."""
    if not isinstance(given, Mapping):
        raise ComponentError(f"frames() must return images by step, got {given!r:.80}")
    found = {
        _whole(step): checked_image(given[step])
        for step in few_of(list(given), _MOST_FRAMES, "frames() must return images by step")
    }
    if sum(len(one.data) for one in found.values()) > _ROOM:
        raise ComponentError(f"frames() returned more than {_ROOM} bytes of images")
    return dict(sorted(found.items()))


def checked_cards(given: object, view: PanelView) -> tuple[Card, ...]:
    """Return cards, or raise where one is none."""
    known = {one.key for one in view.decisions}
    return tuple(
        _checked_card(one, known) for one in few_of(given, MOST_CARDS, "cards() must return cards")
    )


def _checked_card(card: Any, known: set[int]) -> Card:
    if not isinstance(card, Card):
        raise ComponentError(f"cards() returned a {type(card).__name__} among its cards")
    keys = tuple(_whole(key) for key in card.keys)
    strangers = [key for key in keys if key not in known]
    if not keys or strangers:
        raise ComponentError(f"a card stands for {strangers[:1] or 'nothing'}, no decision")
    picture = card.picture
    if isinstance(picture, Drawing):
        picture = checked_drawing(picture)
    elif picture is not None:
        picture = checked_image(picture)
    title, text = plain_name(card.title, "title"), plain_text(card.text, "text")
    return Card(title, text, keys, picture)


def few_of(things: object, most: int, wrong: str) -> list[Any]:
    """Return all things, unless there are too many: what strangers hand in may never end."""
    if isinstance(things, str | bytes) or not isinstance(things, Sequence):
        raise ComponentError(f"{wrong}, got {things!r:.80}")
    taken = list(islice(iter(things), most + 1))
    if len(taken) > most:
        raise ComponentError(f"{wrong}, at most {most}")
    return taken


def checked_drawing(drawing: Any) -> Drawing:
    """Return a drawing that can be written, or raise."""
    if not isinstance(drawing, Drawing):
        raise ComponentError(f"a {type(drawing).__name__} is no drawing")
    shapes = few_of(drawing.shapes, _MOST_SHAPES, "a drawing must have shapes")
    width, height = _positive(drawing.width), _positive(drawing.height)
    label = plain_text(drawing.label, "label")
    if not label:
        raise ComponentError("a drawing has no label")
    return Drawing(
        width,
        height,
        tuple(_checked_shape(one) for one in shapes),
        label,
        plain_text(drawing.caption, "caption"),
        plain_name(drawing.name, "name"),
        _points(drawing.track, 0),
    )


def _checked_shape(shape: Any) -> Shape:
    if isinstance(shape, Polygon):
        look = _colour(shape.fill), _colour(shape.stroke), _number(shape.width)
        return Polygon(_points(shape.points, 3), *look)
    if isinstance(shape, Line):
        dashes = tuple(map(_positive, few_of(shape.dashes, 8, "dashes must be numbers")))
        stroke, width = _colour(shape.stroke), _number(shape.width)
        return Line(_points(shape.points, 2), stroke, width, dashes)
    if isinstance(shape, Circle):
        look = _colour(shape.fill), _colour(shape.stroke), _number(shape.width)
        return Circle(_points((shape.at,), 1)[0], _positive(shape.radius), *look)
    if isinstance(shape, Text):
        at, anchor = _points((shape.at,), 1)[0], shape.anchor
        if anchor not in ("start", "middle", "end"):
            raise ComponentError(f"a text has the anchor {anchor!r:.40}")
        text, size = plain_name(shape.text, "text"), _positive(shape.size)
        bold, upright = bool(shape.bold), bool(shape.upright)
        return Text(at, text, size, anchor, _colour(shape.fill), bold, upright)
    if isinstance(shape, Picture):
        at, wide, high = _points((shape.at,), 1)[0], shape.width, shape.height
        return Picture(at, _positive(wide), _positive(high), checked_image(shape.image))
    raise ComponentError(f"a {type(shape).__name__} is no shape")


def _points(given: Any, least: int) -> tuple[tuple[float, float], ...]:
    points = few_of(given, _MOST_SHAPES, "points must be pairs of numbers")
    if len(points) < least or any(len(one) != 2 for one in points):
        raise ComponentError(f"a shape needs {least} points, pairs of numbers")
    return tuple((_number(x), _number(y)) for x, y in points)


def _number(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ComponentError(f"{value!r:.40} is no number") from None
    if not math.isfinite(number) or abs(number) > _LARGEST_NUMBER:
        raise ComponentError(f"{number} is no place in a drawing")
    return number


def _positive(value: Any) -> float:
    number = _number(value)
    if number <= 0:
        raise ComponentError(f"{number:g} must be above 0")
    return number


def _whole(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        raise ComponentError(f"{value!r:.40} is no whole number") from None


def _colour(value: Any) -> str:
    text = plain_name(value, "colour")
    kind, _, share = text.partition(":")
    if kind == "loss" and not share.replace(".", "", 1).isdecimal():
        raise ComponentError(f"{text!r:.40} is no colour: write loss:0.4")
    digits = text.removeprefix("#")
    is_hex = text.startswith("#") and len(digits) == 6 and digits.isalnum() and digits.isascii()
    if not is_hex and text != "none" and named(text) not in LIGHT:
        raise ComponentError(f"{text!r:.40} is no colour")
    return text


def checked_image(image: Any) -> Image:
    """Return an image whose content is what it says, or raise."""
    if not isinstance(image, Image):
        raise ComponentError(f"a {type(image).__name__} is no image")
    given: object = image.data
    data = b"".join([given]) if isinstance(given, bytes) else b""  # no subclass, as with texts
    media_type = plain_name(image.media_type, "media_type")
    if not is_image(data, media_type):
        raise ComponentError(f"an image is not {media_type!r:.40}")
    if len(data) > _LARGEST_IMAGE:
        raise ComponentError(f"an image has {len(data)} bytes; at most {_LARGEST_IMAGE}")
    alt = plain_text(image.alt, "alt")
    if not alt:
        raise ComponentError("an image has no alt text")
    return Image(data, media_type, alt)


def is_image(content: bytes, media_type: str) -> bool:
    """Return whether content begins as images of this type do."""
    begins = content.startswith(_SIGNATURES.get(media_type, ()))
    return begins and (media_type != "image/webp" or content[8:12] == b"WEBP")


def plain_text(value: object, what: str, longest: int = _LONGEST_TEXT) -> str:
    """Return a text of a panel, cut where it is too long.

    It is made a `str` and nothing more: subclasses may say that they are markup.
    """
    if not isinstance(value, str):
        raise ComponentError(f"{what} must be text, got {value!r:.80}")
    text = str.__str__(value)
    return text if len(text) <= longest else f"{text[:longest]}…"


def plain_name(value: object, what: str) -> str:
    """Return a text that must be short."""
    return plain_text(value, what, _LONGEST_NAME)
