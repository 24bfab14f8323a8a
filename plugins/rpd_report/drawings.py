"""Curves and intervals as small drawings in SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from rpd_core.pruning.curves import ShownCurve
from rpd_core.results.words import few, percent

_COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#b0457f", "#a97800", "#2f8fc6", "#8c564b", "#6f57b8",
    "#5c7f00", "#c23b3b",
)  # fmt: skip
"""Of the measures; told apart by people who do not see all colours, on light and on dark."""
_BASELINE_COLOURS = {
    "random": "#808080", "freqvis": "#8a7a55", "differ": "#5b8a8a", "default-gap": "#7a6f9b",
}  # fmt: skip
DASHES = {
    "random": (6, 4), "freqvis": (2, 3), "differ": (9, 3, 2, 3), "default-gap": (9, 3),
}  # fmt: skip
_WIDTH, _HEIGHT = 460, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 20, 10, 40
_BAR = 120
"""Width of a drawn interval."""


def colours_of(lines: Sequence[ShownCurve]) -> dict[str, str]:
    """Return the colour of each line."""
    free = iter(_COLOURS * (1 + len(lines) // len(_COLOURS)))
    return {line.measure: _BASELINE_COLOURS.get(line.measure) or next(free) for line in lines}


@dataclass(frozen=True)
class _Frame:
    """Where numbers lie in a drawing: shares from left to right, returns from bottom to top."""

    low: float
    high: float

    def x(self, share: float) -> float:
        """Return the place of a share."""
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        """Return the place of a return."""
        span = max(self.high - self.low, 1e-12)
        return _TOP + (self.high - value) / span * (_HEIGHT - _TOP - _BOTTOM)

    def inside(self, value: float) -> float:
        """Return the place of a return, or the edge that is nearest to it."""
        return self.y(min(max(value, self.low), self.high))

    def ticks(self) -> list[float]:
        """Return four to ten round returns."""
        power = 10.0 ** math.floor(math.log10(max(self.high - self.low, 1e-12)))
        step = next(s for s in (power / 5, power / 2, power) if (self.high - self.low) / s <= 10)
        first = math.ceil(self.low / step)
        return [step * at for at in range(first, math.floor(self.high / step) + 1)]


def _frame_for(lines: Sequence[ShownCurve], further: Sequence[float]) -> _Frame:
    """Return a frame that holds all lines and some further returns."""
    low = min([*further, *(value for line in lines for value in line.returns)])
    high = max([*further, *(value for line in lines for value in line.returns)])
    margin = 0.05 * (high - low) or 1.0
    return _Frame(low - margin, high + margin)


def curve_drawing(
    lines: Sequence[ShownCurve],
    axis: str,
    list_by: str,
    target: float | None,
    point: tuple[float, float] | None,
) -> Markup:
    """Draw all curves over the share of states or of steps, with the confirmed policy."""
    further = [*([target] if target is not None else []), *([point[1]] if point else [])]
    frame, colours = _frame_for(lines, further), colours_of(lines)
    parts = [_axes(frame, f"share of {axis} that keep the policy" if axis == "states" else
                   "share of steps that the policy decides")]  # fmt: skip
    if target is not None:
        y = frame.y(target)
        parts.append(f'<line class="target" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" '
                     f'y1="{y:.1f}" y2="{y:.1f}"/>')  # fmt: skip
    parts += [
        _path(frame, line, axis, colours[line.measure], line.measure == list_by) for line in lines
    ]
    if point:
        parts.append(f'<path class="confirmed" transform="translate({frame.x(point[0]):.1f} '
                     f'{frame.y(point[1]):.1f})" d="M0 -7L6 0L0 7L-6 0Z"/>')  # fmt: skip
    label = f"Mean return against the share of {axis}, one line per ranking"
    return Markup(
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(label)}">'
        f"{''.join(parts)}</svg>"
    )


def _path(frame: _Frame, line: ShownCurve, axis: str, colour: str, first: bool) -> str:
    shares = line.states if axis == "states" else line.steps
    places = zip(shares, line.returns, strict=True)
    points = " ".join(f"{frame.x(share):.1f},{frame.y(mean):.1f}" for share, mean in places)
    dashes = " ".join(map(str, DASHES.get(line.measure, ())))
    width = 2.6 if first else 1.4
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    band = _band(frame, line, colour) if axis == "states" else ""  # steps may turn back
    return (
        f'<g data-curve="{escape(line.measure)}">{band}<polyline points="{points}" fill="none" '
        f'stroke="{colour}" stroke-width="{width}"{dashed}>'
        f"<title>{escape(line.measure)}</title></polyline></g>"
    )


def _band(frame: _Frame, line: ShownCurve, colour: str) -> str:
    ends = [*zip(line.states, line.high, strict=True)]
    ends += reversed([*zip(line.states, line.low, strict=True)])
    points = " ".join(f"{frame.x(share):.1f},{frame.inside(end):.1f}" for share, end in ends)
    return f'<polygon points="{points}" fill="{colour}" fill-opacity="0.1"/>'


def _axes(frame: _Frame, label: str) -> str:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts = [f'<path class="axis" d="M{_LEFT} {_TOP}V{bottom}H{right}"/>']
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(f'<text x="{frame.x(share):.1f}" y="{bottom + 16}" text-anchor="middle">'
                     f"{percent(share)}</text>")  # fmt: skip
    for value in frame.ticks():
        parts.append(f'<text x="{_LEFT - 6}" y="{frame.y(value) + 4:.1f}" text-anchor="end">'
                     f"{few(value)}</text>")  # fmt: skip
    middle = (_LEFT + right) / 2
    parts.append(f'<text x="{middle:.0f}" y="{_HEIGHT - 6}" text-anchor="middle">'
                 f"{escape(label)}</text>")  # fmt: skip
    return "".join(parts)


@dataclass(frozen=True)
class Scale:
    """Where losses or effects lie in a drawn interval; 0 is always in it."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """Return how far from left to right a loss or an effect lies, within the scale."""
        span = max(self.high - self.low, 1e-12)
        return min(max((value - self.low) / span, 0.0), 1.0)

    def at(self, value: float) -> float:
        """Return the place of a loss or an effect."""
        return round(4 + self.share(value) * (_BAR - 8), 1)


def interval_drawing(scale: Scale, low: float, estimate: float, high: float) -> Markup:
    """Draw an interval, what it is for, and a mark at 0; the figures stand beside it."""
    zero, ends = scale.at(0.0), (scale.at(low), scale.at(high))
    return Markup(
        f'<svg class="interval" viewBox="0 0 {_BAR} 16" aria-hidden="true">'
        f'<path class="zero" d="M{zero} 0V16"/><path class="whisker" d="M{ends[0]} 8H{ends[1]}'
        f'M{ends[0]} 4V12M{ends[1]} 4V12"/><circle cx="{scale.at(estimate)}" cy="8" r="3.5"/></svg>'
    )
