"""Where the policy matters: losses over two variables, with the rules drawn as boxes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rpd_basics.panel_axes import Axis, Scale, round_ticks, scale_of
from rpd_core.plugin.protocols import Circle, Drawing, Line, PanelDecision, PanelView, Polygon, Text
from rpd_core.plugin.protocols.panel import Point, Shape
from rpd_core.results.words import few

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray

_WIDTH, _HEIGHT = 460.0, 420.0
_LEFT, _RIGHT, _TOP, _BELOW = 56.0, 10.0, 34.0, 44.0
_DOTS = 300
"""Steps of the whole policy that are drawn."""
_TONES = 9
_MOST_BOXES = 20
"""Rules beyond which boxes hide more than they show."""
_BADGE = 7.5
"""Radius of the number of a rule."""


def map_drawing(view: PanelView, x: Axis, y: Axis, losses: FloatArray) -> Drawing:
    """Draw the mean loss of the steps in each cell; grey where no step was."""
    sheet = _Sheet(scale_of(x), scale_of(y))
    shapes: list[Shape] = [_rect(_LEFT, _TOP, sheet.wide, sheet.high, "unknown")]
    shapes += sheet.cells(x, y, losses, view.largest)
    shapes += sheet.cloud(x, y)
    rules = any(one.bounds for one in view.decisions) and len(view.decisions) <= _MOST_BOXES
    for rank, decision in enumerate(view.decisions if rules else (), 1):
        shapes += sheet.box(rank, decision, x, y)
    shapes += [*sheet.ticks(x, y), *_legend(view.largest)]
    caption = (
        "Colour: mean loss at the steps there when the default action acts instead. Grey: no "
        f"evidence. Dots: where the whole policy is.{' Boxes: the rules.' if rules else ''}"
    )
    trace = view.traces.smallest.trace
    mine = trace.episode == view.traces.typical
    track = [sheet.at(a, b) for a, b in zip(x.smallest[mine], y.smallest[mine], strict=True)]
    name = f"{x.name} and {y.name}"
    label = f"Loss without the policy over {name}; {_darkest(sheet, x, y, losses)}"
    return Drawing(_WIDTH, _HEIGHT, tuple(shapes), label, caption, name, tuple(track))


class _Sheet:
    """The plane of two variables on paper."""

    def __init__(self, x: Scale, y: Scale) -> None:
        self.x, self.y = x, y
        self.wide, self.high = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BELOW
        self.badges: list[Point] = []

    def at(self, x: float, y: float) -> Point:
        """Return the place of two values."""
        across, up = self.x.share(float(x)), self.y.share(float(y))
        return _LEFT + across * self.wide, _TOP + (1 - up) * self.high

    def means(self, x: Axis, y: Axis, losses: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how many steps lie in each cell, and their mean loss; rows by columns."""
        shape = self.y.count, self.x.count
        cell = self.y.place(y.smallest) * self.x.count + self.x.place(x.smallest)
        counts = np.bincount(cell, minlength=shape[0] * shape[1]).astype(np.float64)
        sums = np.bincount(cell, losses, shape[0] * shape[1])
        return counts.reshape(shape), (sums / np.maximum(counts, 1)).reshape(shape)

    def cells(self, x: Axis, y: Axis, losses: FloatArray, largest: float) -> Iterator[Shape]:
        """Yield the cells that hold steps, those of one tone together."""
        counts, means = self.means(x, y, losses)
        wide, high = self.wide / self.x.count, self.high / self.y.count
        tones: dict[str, list[Shape]] = {}
        for row, column in np.argwhere(counts > 0).tolist():
            share = float(means[row, column]) / largest
            tone = f"loss:{(int(min(share, 0.999) * _TONES) + 0.5) / _TONES:.3f}"
            left, top = _LEFT + column * wide, _TOP + (self.y.count - 1 - row) * high
            fill = tone if means[row, column] > 0 else "paper"
            tones.setdefault(fill, []).append(_rect(left, top, wide, high, fill))
        for _, some in sorted(tones.items()):
            yield from some

    def cloud(self, x: Axis, y: Axis) -> Iterator[Shape]:
        """Yield some places where the whole policy is."""
        some = np.unique(np.linspace(0, len(x.whole) - 1, _DOTS).astype(int))
        for at in some.tolist():
            yield Circle(self.at(x.whole[at], y.whole[at]), 1.1, "soft")

    def box(self, rank: int, decision: PanelDecision, x: Axis, y: Axis) -> Iterator[Shape]:
        """Yield a rule as the box of what it asks of the two variables."""
        asked = {bound.entries: (bound.low, bound.high) for bound in decision.bounds}
        if x.entries not in asked and y.entries not in asked:
            return
        (left, right), (low, high) = (asked.get(axis.entries, (-np.inf, np.inf)) for axis in (x, y))
        (x0, y1), (x1, y0) = (
            self.at(max(left, -1e9), max(low, -1e9)),
            self.at(min(right, 1e9), min(high, 1e9)),
        )
        inset = 1.5 + (rank % 3)
        (x0, x1), (y0, y1) = (
            (low + inset, high - inset) if high - low > 12 else _at_least(low, high)
            for low, high in ((x0, x1), (y0, y1))
        )
        yield Polygon(((x0, y0), (x1, y0), (x1, y1), (x0, y1)), "none", "ink", 1.6)
        at, base = self._free(x0 + 9, y0 + 9)
        yield Circle((at, base), _BADGE, "ink")
        yield Text((at, base + 3.5), str(rank), 10, "middle", "paper", bold=True)

    def _free(self, x: float, y: float) -> Point:
        """Return the first place from here to the right where no number stands."""
        while any(math.dist((x, y), other) < 2 * _BADGE for other in self.badges):
            x += 2 * _BADGE
        self.badges.append((x, y))
        return x, y

    def ticks(self, x: Axis, y: Axis) -> Iterator[Shape]:
        """Yield the scales and the names of the variables."""
        yield Line(((_LEFT, _TOP), (_LEFT, _TOP + self.high), (_LEFT + self.wide,
                    _TOP + self.high)), "soft")  # fmt: skip
        for value in round_ticks(self.x):
            place = _LEFT + self.x.share(value) * self.wide, _TOP + self.high + 15
            yield Text(place, _said(value, x), 10.5, "middle", "soft")
        for value in round_ticks(self.y):
            place = _LEFT - 5, _TOP + (1 - self.y.share(value)) * self.high + 4
            yield Text(place, _said(value, y), 10.5, "end", "soft")
        yield Text((_LEFT + self.wide / 2, _HEIGHT - 8), x.title, 12, "middle")
        yield Text((12, _TOP + self.high / 2), y.title, 12, "middle", upright=True)


def _at_least(low: float, high: float, least: float = 5.0) -> tuple[float, float]:
    """Return two ends that are far enough apart to be seen."""
    more = max(least - (high - low), 0.0) / 2
    return low - more, high + more


def _legend(largest: float) -> Iterator[Shape]:
    yield Text((_LEFT, 14), "lost without the policy there", 11, "start", "soft")
    left, wide = _WIDTH - _RIGHT - 150, 96 / _TONES
    yield Text((left - 4, 14), "0", 10.5, "end", "soft")
    for tone in range(_TONES):
        fill = f"loss:{(tone + 0.5) / _TONES:.3f}"
        yield _rect(left + tone * wide, 5, wide, 10, fill)
    yield Text((left + 100, 14), few(largest), 10.5, "start", "soft")


def _rect(x: float, y: float, wide: float, high: float, fill: str) -> Polygon:
    return Polygon(((x, y), (x + wide, y), (x + wide, y + high), (x, y + high)), fill)


def _said(value: float, axis: Axis) -> str:
    """Return a value of an axis, or the beginning of what is said of it."""
    known = axis.words and value == int(value) and 0 <= value < len(axis.words)
    return axis.words[int(value)][:9] if known else few(value)


def _darkest(sheet: _Sheet, x: Axis, y: Axis, losses: FloatArray) -> str:
    """Return in words where most is lost."""
    _, means = sheet.means(x, y, losses)
    row, column = divmod(int(means.argmax()), sheet.x.count)
    if means[row, column] <= 0:
        return "nothing is lost anywhere"
    across = sheet.x.start + (column + 0.5) * sheet.x.width
    up = sheet.y.start + (row + 0.5) * sheet.y.width
    return f"most near {x.name} {few(across)}{x.unit} and {y.name} {few(up)}{y.unit}"
