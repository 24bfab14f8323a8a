"""What panels hand in, checked and made ready for the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from rpd_core.errors import ComponentError
from rpd_core.plugin.protocols import Axis, Image, Layer, Paragraph, Plane
from rpd_report.markup import rounded

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray

MOST_BLOCKS = 400
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
class ShownPlane:
    """A plane whose states are put into bins, ready for the page."""

    axes: tuple[dict[str, Any], ...]
    """Name, unit, where the bins begin and how wide they are, and the bin of each state."""
    layers: tuple[dict[str, Any], ...]
    """Name, how states are combined, and a number per state."""
    x: int
    y: int
    left_out: int
    """States beyond those that it takes."""

    @property
    def numbers(self) -> int:
        """How many numbers it holds."""
        return sum(len(axis["at"]) for axis in self.axes) + sum(
            len(layer["values"]) for layer in self.layers
        )


def checked_blocks(blocks: object, room: Room) -> Iterable[Any]:
    """Yield the blocks of a panel, ready for the page; raise where one is something else."""
    if isinstance(blocks, str | bytes) or not isinstance(blocks, Sequence):
        raise ComponentError(f"draw() must return a sequence of blocks, got {blocks!r:.80}")
    for block in _few(blocks, MOST_BLOCKS, "blocks"):
        if isinstance(block, Paragraph):
            yield Paragraph(plain_text(block.text, "text"))
        elif isinstance(block, Image):
            image = _checked_image(block)
            room.left -= len(image.data)
            yield image if room.left >= 0 else Paragraph("(A picture is left out: no room.)")
        elif isinstance(block, Plane):
            plane = shown_plane(block)
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


def _checked_image(image: Image) -> Image:
    given: object = image.data
    data = b"".join([given]) if isinstance(given, bytes) else b""  # no subclass, as with texts
    media_type = plain_name(image.media_type, "media_type")
    if not _is_image(data, media_type):
        raise ComponentError(f"an image is not {media_type!r:.40}")
    if len(data) > _LARGEST_IMAGE:
        raise ComponentError(f"an image has {len(data)} bytes; at most {_LARGEST_IMAGE}")
    alt = plain_text(image.alt, "alt")
    if not alt:
        raise ComponentError("an image has no alt text")
    return Image(data, media_type, alt, plain_text(image.caption, "caption"))


def _is_image(content: bytes, media_type: str) -> bool:
    """Return whether content begins as images of this type do."""
    begins = content.startswith(_SIGNATURES.get(media_type, ()))
    return begins and (media_type != "image/webp" or content[8:12] == b"WEBP")


def shown_plane(plane: Plane) -> ShownPlane:
    """Check a plane, leave out what is too much, and put its states into bins."""
    given_axes: list[Axis] = _few(plane.axes, _MOST_COLUMNS, "axes of a plane")
    given_layers: list[Layer] = _few(plane.layers, _MOST_COLUMNS, "layers of a plane")
    if len(given_axes) < 2 or not given_layers:
        raise ComponentError("a plane needs two axes and a layer")
    x, y = (_position(at, len(given_axes)) for at in (plane.x, plane.y))
    parts: list[Axis | Layer] = [*given_axes, *given_layers]
    columns = [_numbers(one.values, plain_name(one.name, "name")) for one in parts]
    if len({len(column) for column in columns}) != 1:
        raise ComponentError("the axes and layers of a plane have different numbers of states")
    weights = next(
        (columns[len(given_axes) + at] for at, one in enumerate(given_layers)
         if one.combine == "sum"), columns[-1],
    )  # fmt: skip
    rows = np.sort(np.argsort(-weights, kind="stable")[:_MOST_STATES])
    axes = tuple(
        {
            "name": plain_name(one.name, "name"),
            "unit": plain_name(one.unit, "unit"),
            **binned(column[rows]),
        }
        for one, column in zip(given_axes, columns, strict=False)
    )
    layers = tuple(
        {
            "name": plain_name(one.name, "name"),
            "combine": next((way for way in ("sum", "max") if way == one.combine), "mean"),
            "values": rounded(column[rows].tolist()),
        }
        for one, column in zip(given_layers, columns[len(given_axes) :], strict=True)
    )
    return ShownPlane(axes, layers, x, y, len(weights) - len(rows))


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


def binned(values: FloatArray) -> dict[str, Any]:
    """Return bins of equal width: one per step where values lie on a grid, else a few dozen."""
    if not len(values):
        return {"start": 0.0, "width": 1.0, "at": []}
    different = np.unique(values)
    width = float(np.diff(different).min()) if len(different) > 1 else 1.0
    low, high = float(different[0]), float(different[-1])
    steps = (different - low) / width
    on_grid = np.abs(steps - np.rint(steps)).max() < 0.05 and steps[-1] <= _MOST_STEPS
    if not on_grid:
        width = (high - low) / (_BINS - 1)
    at = np.rint((values - low) / width).astype(np.int64)
    return {"start": low - width / 2, "width": width, "at": at.tolist()}
