"""The path of an agent as one picture, in the colours of who decided."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw

from rpd_core.errors import FitError
from rpd_pictures.cards import COLOURS, enlarged

if TYPE_CHECKING:
    from rpd_core.play.replay import ReplayedStep
    from rpd_core.plugin.protocols import Array

_APART = 3.0
"""Pixels by which a path keeps to the right of its way, so that there and back differ."""
_RING = 7.0
"""Radius of the ring of dots for steps that do not move the agent."""
_TURN = math.radians(137.5)
"""Angle between two of them: they spread evenly however many there are."""


def draw_path(steps: Sequence[ReplayedStep], last: tuple[float, float] | None) -> Array:
    """Return the first picture of an episode with the agent's path over it."""
    first = steps[0].frame
    places = [step.place for step in steps] + [last]
    if first is None or any(place is None for place in places):
        raise FitError(
            "the environment does not tell where its agent is, so there is no path to draw: "
            "draw a film"
        )
    page = Image.fromarray(enlarged(first))
    points = [(p[0] * page.width, p[1] * page.height) for p in places if p is not None]
    pen, stops = ImageDraw.Draw(page), Counter[tuple[float, float]]()
    for step, here, there in zip(steps, points, points[1:], strict=False):
        colour = COLOURS["policy" if step.policy_decided else "default"]
        if here == there:
            stops[here] += 1
            _dot(pen, _on_ring(here, stops[here]), 3, colour)
        else:
            _way(pen, here, there, colour)
    _dot(pen, points[0], 5, (255, 255, 255))
    x, y = points[-1]
    pen.rectangle((x - 5, y - 5, x + 5, y + 5), (255, 255, 255), (0, 0, 0))
    return np.asarray(page)


def _way(
    pen: ImageDraw.ImageDraw,
    here: tuple[float, float],
    there: tuple[float, float],
    colour: tuple[int, int, int],
) -> None:
    dx, dy = there[0] - here[0], there[1] - here[1]
    length = math.hypot(dx, dy)
    off = -dy / length * _APART, dx / length * _APART
    ends = [(x + off[0], y + off[1]) for x, y in (here, there)]
    pen.line(ends, (255, 255, 255), 5)
    pen.line(ends, colour, 3)


def _on_ring(place: tuple[float, float], number: int) -> tuple[float, float]:
    angle = number * _TURN
    return place[0] + _RING * math.cos(angle), place[1] + _RING * math.sin(angle)


def _dot(
    pen: ImageDraw.ImageDraw, at: tuple[float, float], radius: int, colour: tuple[int, int, int]
) -> None:
    x, y = at
    pen.ellipse((x - radius, y - radius, x + radius, y + radius), colour, (0, 0, 0))
