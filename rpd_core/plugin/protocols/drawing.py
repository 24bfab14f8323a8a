"""Drawings: shapes that the page writes as SVG and `rpd draw` as PNG, SVG or PDF.

A colour is `#rrggbb` or a name, which light and dark pages show in their own way: `ink`, `soft`,
`line`, `paper`, `card`, `wall`, `goal`, `policy`, `default`, `unknown` (no evidence), `none`, and
`loss:0.4` for a part, from 0 to 1, of the largest loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Point = tuple[float, float]
"""To the right and downwards, in the units of the drawing."""


@dataclass(frozen=True)
class Image:
    """A picture from a file."""

    data: bytes
    """The content of an image file."""
    media_type: str
    """`image/png`, `image/webp`, `image/jpeg` or `image/gif`."""
    alt: str
    """What it shows, for who cannot see it; never empty."""


@dataclass(frozen=True)
class Polygon:
    """A filled shape; many with the same colours one after the other cost little."""

    points: tuple[Point, ...]
    """At least three."""
    fill: str = "none"
    """Colour inside."""
    stroke: str = "none"
    """Colour of the edge."""
    width: float = 1.0
    """Of the edge."""


@dataclass(frozen=True)
class Line:
    """A line through points."""

    points: tuple[Point, ...]
    """At least two."""
    stroke: str = "ink"
    """Its colour."""
    width: float = 1.0
    """How thick it is."""
    dashes: tuple[float, ...] = ()
    """Lengths of dashes and gaps; none: it is solid."""


@dataclass(frozen=True)
class Circle:
    """A circle."""

    at: Point
    """Its middle."""
    radius: float
    """Above 0."""
    fill: str = "ink"
    """Colour inside."""
    stroke: str = "none"
    """Colour of the edge."""
    width: float = 1.0
    """Of the edge."""


@dataclass(frozen=True)
class Text:
    """A line of text."""

    at: Point
    """Where its baseline begins, has its middle, or ends."""
    text: str
    """Nothing in it is markup."""
    size: float = 11.0
    """Height of the letters."""
    anchor: Literal["start", "middle", "end"] = "start"
    """Which of the three."""
    fill: str = "ink"
    """Colour."""
    bold: bool = False
    """Whether it is heavy."""
    upright: bool = False
    """Whether it runs from bottom to top."""


@dataclass(frozen=True)
class Picture:
    """An image in a place."""

    at: Point
    """Its upper left corner."""
    width: float
    """Above 0."""
    height: float
    """Above 0."""
    image: Image
    """What is seen there."""


Shape = Polygon | Line | Circle | Text | Picture
"""What a drawing is made of; later ones cover earlier ones."""


@dataclass(frozen=True)
class Drawing:
    """Shapes on a sheet."""

    width: float
    """Of the sheet."""
    height: float
    """Of the sheet."""
    shapes: tuple[Shape, ...]
    """From back to front."""
    label: str
    """What it shows, for who cannot see it; never empty."""
    caption: str = ""
    """What stands below it."""
    name: str = ""
    """Entry in the menu of several; those with the same name are shown side by side."""
    track: tuple[Point, ...] = ()
    """Where the typical episode is at each step; a marker follows the timeline along it."""
