"""The list of decisions as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rpd_core.cli.text import can_draw, say, short_action
from rpd_core.results.records import TOO_FEW, further_columns
from rpd_core.results.words import cut, shortened_states

if TYPE_CHECKING:
    from rpd_core.results.records import RankedDecision
from dataclasses import dataclass

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
_ACTION = 16
"""Characters of an action."""
_LEAST_STATE = 20
"""Characters that a state gets, however narrow the screen is."""
_LONGEST = 1000
"""Characters beyond which the length of a state does not matter: no screen is as wide."""
_ENOUGH = 27
"""Characters of a state for which other columns are left out."""
_SPARE = {
    "interval": "the interval of the effect",
    "m+k": "episodes mutated and kept (m+k)",
    "default": "what the default action does",
}
"""Columns that a narrow screen can do without; the interval only where there are scores."""
_STATE_LINES = 2
"""Lines that a state takes at most."""


def print_list(
    console: Console,
    title: str,
    rows: Sequence[RankedDecision],
    scores: bool = False,
    spare: int | None = None,
) -> None:
    """Print decisions with their effects drawn, and with their scores on demand.

    States that are too long for a line get another while there are lines to spare.
    """
    plain = not can_draw(console)
    scale = scale_for([row.low for row in rows], [row.high for row in rows], _WIDTH)
    ends = f"{scale.low:z.1f}", f"{scale.high:z.1f}"  # z: no -0.0
    columns = {
        "": [str(row.rank) for row in rows],
        "state": [cut(row.state, _LONGEST) for row in rows],
        "policy": [short_action(row.policy_action) for row in rows],
        "default": [short_action(row.default_action) for row in rows],
        "risk %": [f"{_percent(row.risk_mutated)}/{_percent(row.risk_kept)}" for row in rows],
        "effect": [f"{row.effect:+.2f}{_MARKS.get(row.verdict, ' ')}" for row in rows],
        "interval": [bar(scale, row.low, row.effect, row.high, plain) for row in rows],
        "score": [f"{row.score:.3g}" for row in rows],
        "reach": [_reach(row) for row in rows],
        "m+k": [f"{row.episodes_mutated}+{row.episodes_kept}" for row in rows],
    }
    for one in further_columns():
        columns[one.heading] = [one.words(getattr(row, one.name)) for row in rows]
    if not scores:
        del columns["score"]
    say(console, title, style="bold")
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    widths = {name: max(map(cell_len, (name, *cells))) for name, cells in columns.items()}
    left_out = _fit(widths, console.width, scores)
    columns["state"] = _states(rows, widths["state"], len(rows) if spare is None else spare)
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
        console.print(f"Left out on this narrow screen: {', '.join(left_out)}.", markup=False)


def _fit(widths: dict[str, int], screen: int, scores: bool) -> list[str]:
    """Make columns fit the screen: the state gives way first; return columns that had to go."""
    needed, left_out = widths["state"], []

    def room() -> int:
        return screen - sum(widths.values()) - len(widths) + widths["state"]

    for column, words in _SPARE.items():
        drawn = column == "interval"
        if room() < (needed if drawn else min(needed, _ENOUGH)) and (scores or not drawn):
            del widths[column]
            left_out.append(words)
    widths["state"] = min(needed, max(room(), _LEAST_STATE))
    return left_out


def _states(rows: Sequence[RankedDecision], width: int, spare: int) -> list[str]:
    """Return states in words on a line each, the first of the long ones on more."""
    texts = [row.state for row in rows]
    shown = shortened_states(texts, width)
    for place, text in enumerate(shortened_states(texts, width, _STATE_LINES)):
        if text.count("\n") <= spare:
            shown[place] = text
            spare -= text.count("\n")
    return shown


def legend(rows: Sequence[RankedDecision]) -> str:
    """Return what the marks beside effects mean, of those that occur."""
    found = {row.verdict for row in rows}
    return ", ".join(words for verdict, words in _LEGEND.items() if verdict in found)


def list_title(measure: str, width: int) -> str:
    """Return the line above a list: its measure, and what stands in its columns."""
    columns = "if mutated/kept, effect, reach in episodes/steps (%)"
    title = f"Decisions by {measure}: risk of failing {columns}"
    return title if cell_len(title) <= width else f"Decisions by {measure}: risk {columns}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f}"


def _reach(row: RankedDecision) -> str:
    """Return the shares of unmutated episodes and of their steps in percent."""
    if row.reached == 0:
        return "never"
    return "/".join(_little(100 * share) for share in (row.reached, row.reached_steps))


def _little(percent: float) -> str:
    """Return a number of percent in few characters, a little never as nothing."""
    if percent >= 0.95:
        return f"{percent:.0f}"
    return f"{percent:.1f}".removeprefix("0") if percent >= 0.05 else "<.1"


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
