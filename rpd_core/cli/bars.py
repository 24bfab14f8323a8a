"""Intervals drawn with characters."""

from __future__ import annotations

from dataclasses import dataclass

_FINE = {"axis": "│", "low": "├", "line": "─", "high": "┤", "point": "●"}
_PLAIN = {"axis": "|", "low": "[", "line": "-", "high": "]", "point": "o"}


@dataclass(frozen=True)
class Scale:
    """Where values from `low` to `high`, between which 0 lies, fall in a row of cells."""

    low: float
    high: float
    width: int = 12

    def cell(self, value: float) -> int:
        """Return the cell of a value; those beyond the ends fall in the outermost."""
        span = max(self.high - self.low, 1e-12)
        place = round((value - self.low) / span * (self.width - 1))
        return min(max(place, 0), self.width - 1)


def scale_for(lows: list[float], highs: list[float], width: int = 12) -> Scale:
    """Return a scale that holds some intervals and 0."""
    return Scale(min([0.0, *lows]), max([0.0, *highs]), width)


def bar(scale: Scale, low: float, estimate: float, high: float, plain: bool = False) -> str:
    """Draw an interval and what it is for, with a mark at 0."""
    marks = _PLAIN if plain else _FINE
    cells = [" "] * scale.width
    cells[scale.cell(0.0)] = marks["axis"]
    first, last = scale.cell(low), scale.cell(high)
    cells[first : last + 1] = marks["line"] * (last - first + 1)
    cells[first], cells[last] = marks["low"], marks["high"]
    cells[scale.cell(estimate)] = marks["point"]
    return "".join(cells)
