"""What panels hand in, checked and made ready for the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rpd_core.errors import ComponentError
from rpd_core.plugin.protocols import Axis, Image, Layer, Paragraph, Plane

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray, IntArray

_MOST_BLOCKS = 400
ROOM = 600_000
"""Bytes of the images of all panels."""
_LARGEST_IMAGE = 400_000
_MOST_PLANES = 20
_MOST_NUMBERS = 4_000_000
"""Numbers in the planes of all panels: one per state, axis and layer."""
_MOST_COLUMNS = 200
"""Axes of a plane, or layers."""
_LARGEST_NUMBER = 1e100
"""Sums and differences of such numbers are finite."""
_LONGEST_TEXT = 4000
_LONGEST_NAME = 200
"""Characters of a name, a unit or a title."""
_MOST_STATES = 20_000
"""States that a plane takes; the most visited ones."""
_BINS = 40
_MOST_STEPS = 80
"""Places of a grid that are shown one by one."""

_SIGNATURES = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
    "image/svg+xml": (b"<svg", b"<?xml"),
}
"""How images begin."""


@dataclass
class Room:
    """What is left for the images and planes of panels."""

    left: float = ROOM
    """Bytes."""
    planes: int = _MOST_PLANES
    """Planes that may still be shown."""
    numbers: int = _MOST_NUMBERS
    """Numbers that they may still hold."""

    def take_plane(self, plane: ShownPlane) -> None:
        """Count a plane; raise where there is no room for it."""
        self.planes -= 1
        self.numbers -= plane.numbers
        if self.planes < 0:
            raise ComponentError(f"the panels have more than {_MOST_PLANES} planes: show fewer")
        if self.numbers < 0:
            raise ComponentError(
                f"the planes of the panels hold more than {_MOST_NUMBERS} numbers: show fewer"
            )


@dataclass(frozen=True)
class Bins:
    """One axis of a plane: where its bins lie, and the bin of each state."""

    name: str
    unit: str
    start: float
    """Where the first bin begins."""
    width: float
    at: IntArray
    """Number of the bin, from 0, of each state."""


@dataclass(frozen=True)
class ShownPlane:
    """A plane whose states are put into bins, ready for the page."""

    x: Bins
    y: Bins
    layers: tuple[Layer, ...]
    left_out: int
    """States beyond those that it takes."""

    @property
    def numbers(self) -> int:
        """How many numbers it holds."""
        return len(self.x.at) * (2 + len(self.layers))


Shown = Paragraph | Image | ShownPlane
"""A block that the page can show."""


def checked_blocks(blocks: object, room: Room) -> Iterable[Shown]:
    """Yield the blocks of a panel, ready for the page; raise where one is something else."""
    if isinstance(blocks, str | bytes) or not isinstance(blocks, Sequence):
        raise ComponentError(f"draw() must return a sequence of blocks, got {blocks!r:.80}")
    for block in _few(blocks, _MOST_BLOCKS, "blocks"):
        if isinstance(block, Paragraph):
            yield Paragraph(_plain_text(block.text, "text"))
        elif isinstance(block, Image):
            image = _checked_image(block)
            room.left -= len(image.data)
            yield image if room.left >= 0 else Paragraph("(A picture is left out: no room.)")
        elif isinstance(block, Plane):
            plane = _shown_plane(block)
            room.take_plane(plane)
            yield plane
        else:
            raise ComponentError(f"draw() returned a {type(block).__name__} among its blocks")


def _few(things: Iterable[Any], most: int, what: str) -> list[Any]:
    """Return all things, unless there are too many: what strangers hand in may never end."""
    taken = list(islice(iter(things), most + 1))
    if len(taken) > most:
        raise ComponentError(f"draw() returned more than {most} {what}")
    return taken


def _plain_text(value: object, what: str, longest: int = _LONGEST_TEXT) -> str:
    """Return a text of a panel, cut where it is too long.

    It is made a `str` and nothing more: subclasses may say that they are markup.
    """
    if not isinstance(value, str):
        raise ComponentError(f"{what} must be text, got {value!r:.80}")
    text = str.__str__(value)
    return text if len(text) <= longest else f"{text[:longest]}…"


def plain_name(value: object, what: str) -> str:
    """Return a text that must be short."""
    return _plain_text(value, what, _LONGEST_NAME)


def _checked_image(image: Image) -> Image:
    given: object = image.data
    data = b"".join([given]) if isinstance(given, bytes) else b""  # no subclass, as with texts
    media_type = plain_name(image.media_type, "media_type")
    if not _is_image(data, media_type):
        raise ComponentError(f"an image is not {media_type!r:.40}")
    if len(data) > _LARGEST_IMAGE:
        raise ComponentError(f"an image has {len(data)} bytes; at most {_LARGEST_IMAGE}")
    alt = _plain_text(image.alt, "alt")
    if not alt:
        raise ComponentError("an image has no alt text")
    return Image(data, media_type, alt, _plain_text(image.caption, "caption"))


def _is_image(content: bytes, media_type: str) -> bool:
    """Return whether content begins as images of this type do."""
    begins = content.startswith(_SIGNATURES.get(media_type, ()))
    return begins and (media_type != "image/webp" or content[8:12] == b"WEBP")


def _shown_plane(plane: Plane) -> ShownPlane:
    """Check a plane, leave out what is too much, and put its states into bins."""
    axes: list[Axis] = _few(plane.axes, _MOST_COLUMNS, "axes of a plane")
    layers: list[Layer] = _few(plane.layers, _MOST_COLUMNS, "layers of a plane")
    if len(axes) < 2 or not layers:
        raise ComponentError("a plane needs two axes and a layer")
    x, y = (_position(at, len(axes)) for at in (plane.x, plane.y))
    places = [_numbers(one.values, plain_name(one.name, "name")) for one in axes]
    values = [_numbers(one.values, plain_name(one.name, "name")) for one in layers]
    if len({len(column) for column in (*places, *values)}) != 1:
        raise ComponentError("the axes and layers of a plane have different numbers of states")
    summed = [column for one, column in zip(layers, values, strict=True) if one.combine == "sum"]
    weights = [*summed, values[-1]][0]
    rows = np.sort(np.argsort(-weights, kind="stable")[:_MOST_STATES])
    shown = tuple(
        Layer(plain_name(one.name, "name"), column[rows], _way(one.combine))
        for one, column in zip(layers, values, strict=True)
    )
    ends = (binned(axes[at].name, axes[at].unit, places[at][rows]) for at in (x, y))
    return ShownPlane(next(ends), next(ends), shown, len(weights) - len(rows))


def _way(combine: object) -> Literal["mean", "sum", "max"]:
    return "sum" if combine == "sum" else "max" if combine == "max" else "mean"


def _position(at: object, count: int) -> int:
    """Return the position of an axis, if it is one."""
    if isinstance(at, bool) or not isinstance(at, int) or not 0 <= at < count:
        raise ComponentError(f"x and y of a plane must be from 0 to {count - 1}, got {at!r:.40}")
    return int(at)


def _numbers(values: Any, name: str) -> FloatArray:
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ComponentError(f"{name!r:.40} does not hold numbers") from None
    if column.ndim != 1 or not (np.abs(column) <= _LARGEST_NUMBER).all():
        raise ComponentError(
            f"{name!r:.40} must hold one finite number per state, at most {_LARGEST_NUMBER:g}"
        )
    return column


def binned(name: str, unit: str, values: FloatArray) -> Bins:
    """Return bins of equal width: one per step where values lie on a grid, else a few dozen."""
    named = plain_name(name, "name"), plain_name(unit, "unit")
    different = np.unique(values)
    if not len(different):
        return Bins(*named, 0.0, 1.0, np.zeros(0, dtype=np.int64))
    width = float(np.diff(different).min()) if len(different) > 1 else 1.0
    low, high = float(different[0]), float(different[-1])
    steps = (different - low) / width
    on_grid = np.abs(steps - np.rint(steps)).max() < 0.05 and steps[-1] <= _MOST_STEPS
    if not on_grid:
        width = (high - low) / (_BINS - 1)
    at = np.rint((values - low) / width).astype(np.int64)
    return Bins(*named, low - width / 2, width, at)
