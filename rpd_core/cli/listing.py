"""The list of a mutated policy as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rpd_core.cli.text import can_draw, say, short_action
from rpd_core.results.records import TOO_FEW, further_columns
from rpd_core.results.words import cut, percent, reached_words, shortened_states, signed

if TYPE_CHECKING:
    from rpd_core.results.records import RankedDecision

_MARKS = {"matters": "*", "default-better": "!", "harmless": "=", "undecided": "?"}
_LEGEND = {
    "matters": "* matters",
    "default-better": "! the default is better",
    "harmless": "= harmless",
    "undecided": "? undecided",
    TOO_FEW: f"no mark: {TOO_FEW}",
}
_STYLES = {"matters": "bold", "default-better": "yellow"}
_WIDTH = 8
"""Characters of a drawn interval."""
_LEAST_STATE = 20
"""Characters that a state gets, however narrow the screen is."""
_LONGEST = 1000
"""Characters beyond which the length of a state does not matter: no screen is as wide."""
_ENOUGH = 27
"""Characters of a state for which the default action is left out."""
_MUTATED, _KEPT = "episodes\nmutated", "episodes\nkept"
_SPARE = {
    _MUTATED: "episodes mutated",
    _KEPT: "episodes kept",
    "interval": "the interval of the effect",
    "default": "what the default action does",
}
"""Columns that a narrow screen can do without."""
_STATE_LINES = 2
"""Lines that a state takes at most."""


def print_list(console: Console, title: str, rows: Sequence[RankedDecision]) -> None:
    """Print the list of a mutated policy with its effects drawn; long states get two lines."""
    plain = not can_draw(console)
    scale = scale_for([row.low for row in rows], [row.high for row in rows], _WIDTH)
    ends = f"{scale.low:z.1f}", f"{scale.high:z.1f}"  # z: no -0.0
    columns = {
        "": [str(row.rank) for row in rows],
        "state": [cut(row.state, _LONGEST) for row in rows],
        "policy": [short_action(row.policy_action) for row in rows],
        "default": [short_action(row.default_action) for row in rows],
        "fails\nmutated": [percent(row.risk_mutated) for row in rows],
        "fails\nkept": [percent(row.risk_kept) for row in rows],
        "effect": [f"{signed(row.effect)}{_MARKS.get(row.verdict, ' ')}" for row in rows],
        "interval": [bar(scale, row.low, row.effect, row.high, plain) for row in rows],
        "score": [f"{row.score:.2g}" for row in rows],
        "reach": [reached_words(row.reached) for row in rows],
        _MUTATED: [str(row.episodes_mutated) for row in rows],
        _KEPT: [str(row.episodes_kept) for row in rows],
        "in the\nanswer": ["yes" if row.in_policy else "no" for row in rows],
    }
    for one in further_columns():
        columns[one.heading] = [one.words(getattr(row, one.name)) for row in rows]
    say(console, title, style="bold")
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    widths = {name: max(map(cell_len, (*name.split("\n"), *c))) for name, c in columns.items()}
    left_out = _fit(widths, console.width)
    columns["state"] = shortened_states(columns["state"], widths["state"], _STATE_LINES)
    headings = {"interval": f"{ends[0]}{ends[1]:>{_WIDTH - len(ends[0])}}"}
    for name, width in widths.items():
        left = name in ("state", "policy", "default", "interval")
        table.add_column(headings.get(name, name), justify="left" if left else "right",
                         no_wrap=True, overflow="ellipsis", width=width)  # fmt: skip
    shown = [columns[name] for name in widths]
    for row, *texts in zip(rows, *shown, strict=True):
        table.add_row(*map(escape, texts), style=_STYLES.get(row.verdict))
    console.print(table)
    if left_out:
        say(console, f"Left out on this narrow screen: {', '.join(left_out)}.")


def _fit(widths: dict[str, int], screen: int) -> list[str]:
    """Make columns fit the screen: the state gives way first; return columns that had to go."""
    needed, left_out = widths["state"], []

    def room() -> int:
        return screen - sum(widths.values()) - len(widths) + 1 + widths["state"]

    for column, words in _SPARE.items():
        enough = min(needed, _ENOUGH) if column == "default" else needed
        if room() < enough or (column == _KEPT and _MUTATED not in widths):
            del widths[column]
            left_out.append(words)
    widths["state"] = min(needed, max(room(), _LEAST_STATE))
    return left_out


def legend(rows: Sequence[RankedDecision]) -> str:
    """Return what the marks beside effects mean, of those that occur."""
    found = {row.verdict for row in rows}
    return ", ".join(words for verdict, words in _LEGEND.items() if verdict in found)


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
