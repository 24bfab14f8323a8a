"""The paper's tables, made again: on the screen and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rpd_core.cli.text import say
from rpd_core.errors import counted
from rpd_studies.grid_tables import counted_seeds, markdown_table
from rpd_studies.paper import COLUMNS, FRACTIONS, Compared, ReproducedRow, Reproduction, paper_task
from rpd_studies.results import Spread

_COLUMNS = {
    "states": "states: portfolio",
    "random_states": "states: random",
    "steps": "steps: portfolio",
    "random_steps": "steps: random",
}
_PER_EPISODE = {"steps": "steps*: portfolio", "random_steps": "steps*: random"}
"""Means over episodes."""
_ACTIONS = {"repeat": "repeat the previous action", "random": "take a random action"}


@dataclass(frozen=True)
class _PaperTable:
    """One of the tables, as texts."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables_of(found: Reproduction) -> list[_PaperTable]:
    """Return the tables in the paper's layout: ours, and the paper's figures in brackets."""
    tables = []
    for action in dict.fromkeys(row.default_action for row in found.rows):
        for percent in FRACTIONS:
            tables.append(_pruning(found, action, percent))
    if found.differences:
        tables.append(_differences(found))
    return [*tables, _suites(found)]


def _pruning(found: Reproduction, action: str, percent: str) -> _PaperTable:
    rows = [row for row in found.rows if row.default_action == action]
    return _PaperTable(
        f"Least share for {percent} % of the return, default action: "
        f"{_ACTIONS.get(action, action)} (the paper's figure in brackets)",
        ("task", *_COLUMNS.values(), *_PER_EPISODE.values(), "agrees"),
        tuple(_pruning_row(row, percent) for row in rows),
    )


def _pruning_row(row: ReproducedRow, percent: str) -> tuple[str, ...]:
    compared = row.figures[percent]
    if not row.results:
        return row.task, *("failed" for _ in (*_COLUMNS, *_PER_EPISODE)), "–"
    cells = [f"{_ours(compared[name].ours)} {_paper(compared[name])}" for name in COLUMNS]
    per_episode = [_ours(row.per_episode[percent][name].ours) for name in _PER_EPISODE]
    return row.task, *cells, *per_episode, _verdict([compared[name] for name in COLUMNS])


def _ours(spread: Spread | None) -> str:
    if spread is None:
        return "–"
    if spread.never == spread.seeds:
        return "never"
    text = f"{spread.mean:.0f}" + ("" if spread.std is None else f" ± {spread.std:.0f}")
    return f"{text}, never {spread.never} of {spread.seeds}" if spread.never else text


def _paper(one: Compared) -> str:
    return "(–)" if one.paper is None else f"({one.paper})"


def _verdict(some: Sequence[Compared]) -> str:
    known = [one.within for one in some if one.within is not None]
    return f"{sum(known)} of {len(known)}" if known else "–"


def _differences(found: Reproduction) -> _PaperTable:
    names = ("states90", "states50", "steps90", "steps50")
    rows = tuple(
        (one.task, *(f"{_signed(one.ours[n])} ({_signed(one.paper[n])})" for n in names))
        for one in found.differences
    )
    headings = ("task", "states, 90 %", "states, 50 %", "steps, 90 %", "steps, 50 %")
    title = "A random default action instead of repeating the last: change in points"
    return _PaperTable(title, headings, rows)


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.0f}"


def _suites(found: Reproduction) -> _PaperTable:
    rows = tuple(_suite_row(row) for row in found.rows)
    headings = (
        "task", "default action", "return (paper)", "reference (paper)", "condition", "passed",
        "time to rank (paper)",
    )  # fmt: skip
    title = (
        "What the tables stand on; times are wall-clock times with "
        f"{counted(found.workers, 'worker')}, on another machine than the paper's"
    )
    return _PaperTable(title, headings, rows)


def _suite_row(row: ReproducedRow) -> tuple[str, ...]:
    task = paper_task(row.task)
    reference = 0.0 if row.task in ("CartPole", "MiniGrid") else task.random_return
    passed = "–" if row.passed is None else f"{row.passed.mean:.0f} %"
    return (
        row.task, row.default_action, f"{_plain(row.original)} ({_number(task.policy_return)})",
        f"{_plain(row.reference)} ({_number(reference)})", row.condition or "–", passed,
        f"{_clock(row.ranking_seconds)} ({_clock_of(task.ranking_seconds)})",
    )  # fmt: skip


def _plain(spread: Spread | None) -> str:
    return "–" if spread is None else f"{spread.mean:.4g}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _clock(spread: Spread | None) -> str:
    return "–" if spread is None else _clock_of(spread.mean)


def _clock_of(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return f"{int(seconds + 0.5) // 60}:{int(seconds + 0.5) % 60:02d} min"


def sentences(found: Reproduction) -> list[str]:
    """Return how to read the tables, what failed, and what differs from the paper."""
    failed = [
        f"{row.task}, default action {row.default_action}: failed with "
        f"{counted_seeds([one.seed for one in row.failed])} "
        f"{', '.join(str(one.seed) for one in row.failed)}: {row.failed[0].why}"
        for row in found.rows
        if row.failed
    ]
    differing = [
        f"{row.task}, {row.default_action}, {percent} %, {_COLUMNS[name]}: {one.difference:+.1f} "
        f"points against the paper, more than the {one.tolerance:.1f} up to which figures agree"
        f"{_otherwise(row, percent, name)}."
        for row in found.rows
        for percent, columns in row.figures.items()
        for name, one in columns.items()
        if one.within is False and one.difference is not None
    ]
    notes = [f"Note: {note}." for note in found.notes]
    return [_reading(found), *failed, *notes, *differing]


def _otherwise(row: ReproducedRow, percent: str, name: str) -> str:
    """Return what a share of steps would be as a mean over episodes."""
    other = row.per_episode[percent].get(name)
    if other is None or other.difference is None:
        return ""
    return f"; as a mean over episodes: {other.difference:+.1f}"


def _reading(found: Reproduction) -> str:
    return (
        f"Ours: mean ± standard deviation over {counted(found.repeats, 'repeat')}, in percent; a "
        "repeat that never reached the target counts as 100 and is counted. States and steps "
        "usually belong to different pruned policies. Steps are the ratio of totals; steps* the "
        "mean over episodes, which the paper seems to use. A figure agrees if it differs by at "
        "most 8 points or twice the joint deviation."
    )


def print_reproduction(console: Console, found: Reproduction) -> None:
    """Print all tables."""
    for one in tables_of(found):
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for place, name in enumerate(one.headings):
            table.add_column(escape(name), justify="left" if not place else "right")
        for row in one.rows:
            table.add_row(*map(escape, row))
        say(console, one.title, style="bold")
        console.print(table)
        say(console, "")
    for sentence in sentences(found):
        say(console, sentence)


def markdown(found: Reproduction) -> str:
    """Return all tables as Markdown."""
    lines = []
    for one in tables_of(found):
        lines += [f"**{one.title}**", "", *markdown_table(one.headings, one.rows), ""]
    return "\n".join([*lines, *(f"{sentence}\n" for sentence in sentences(found))])
