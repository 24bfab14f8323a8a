"""The decisions of a smallest policy as a table for the terminal, what each is worth drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console

from rpd_core.cli.text import can_draw, print_columns, short_action
from rpd_core.results.sentences import with_and_without
from rpd_core.results.words import few, percent, reached_words, shortened_states

if TYPE_CHECKING:
    from rpd_core.results.records import Decision

_LEAST_BAR, _LONGEST_BAR = 10, 24
"""Characters of a drawn loss."""
_WITH_MARK = 16
"""Characters of one that has a mark beside it, at least."""
_LEAST_STATE = 20
"""Characters that a state gets, however narrow the screen is."""
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LOST = "loss without it"
_NOT_SHOWN = ("not shown to be needed", "not shown")
"""What stands beside a loss that may be none, the longer where there is room."""


def print_decisions(console: Console, noun: str, rows: Sequence[Decision], lines: int = 1) -> None:
    """Print decisions with their return with and without it, and the loss drawn.

    A state that is too long for a line gets as many as there are.
    """
    columns = {
        "": [str(row.rank) for row in rows],
        noun: [row.state for row in rows],
        "policy": [short_action(row.policy_action) for row in rows],
        "default": [short_action(row.default_action) for row in rows],
        "return": [_change(row) for row in rows],
    }
    widths = {name: max(map(cell_len, (name, *cells))) for name, cells in columns.items()}
    room = console.width - sum(widths.values()) + widths[noun] - len(columns)
    least = _LEAST_BAR if all(row.needed for row in rows) else _WITH_MARK
    bar = min(max(room - widths[noun], least), _LONGEST_BAR)
    widths[noun] = min(widths[noun], max(room - bar, _LEAST_STATE))
    columns[noun] = shortened_states(columns[noun], widths[noun], lines)
    plain, largest = not can_draw(console), max((row.loss for row in rows), default=0.0)
    heading = _LOST if bar >= len(_LOST) else "loss"
    marks = 0 if all(row.needed for row in rows) else len(_NOT_SHOWN[-1]) + 1
    columns[heading] = [_drawn(row, largest, (bar - marks, bar), plain) for row in rows]
    print_columns(console, columns, (noun, "policy", "default", heading), {**widths, heading: bar})


def print_details(console: Console, rows: Sequence[Decision]) -> None:
    """Print what else is known of decisions, by their ranks."""
    columns = {
        "rank": [str(row.rank) for row in rows],
        "loss": [few(row.loss) for row in rows],
        "95% interval": [f"{few(row.loss_low)} to {few(row.loss_high)}" for row in rows],
        "of all losses": [percent(row.share) for row in rows],
        "overrides": [percent(row.overrides) for row in rows],
        "reached": [reached_words(row.reached) for row in rows],
        "by the whole policy": [reached_words(row.reached_whole) for row in rows],
        "twins": [str(row.twins) for row in rows],
    }
    print_columns(console, columns)


def _change(row: Decision) -> str:
    """Return what the return falls to without a decision."""
    return " -> ".join(with_and_without(row))


def _drawn(row: Decision, largest: float, widths: tuple[int, int], plain: bool) -> str:
    """Return a loss drawn, and a mark where it may be none; widths of the bar and of both."""
    bar = loss_bar(row.loss, largest, widths[0], plain)
    if row.needed:
        return bar
    room = widths[1] - len(bar) - bool(bar)
    mark = next((one for one in _NOT_SHOWN if len(one) <= room), _NOT_SHOWN[-1])
    return f"{bar} {mark}".strip()


def loss_bar(loss: float, largest: float, width: int, plain: bool = False) -> str:
    """Return a bar as long as a loss, where the largest fills the width."""
    share = min(max(loss / largest, 0.0), 1.0) if largest > 0 else 0.0
    if plain:
        return "#" * round(share * width)
    eighths = round(share * width * 8)
    rest = _EIGHTHS[eighths % 8].strip()
    return _EIGHTHS[-1] * (eighths // 8) + rest
