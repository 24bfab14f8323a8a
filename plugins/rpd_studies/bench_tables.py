"""A comparison of measures as a table on the screen, and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rpd_core.cli.text import say
from rpd_core.errors import counted
from rpd_studies.bench_results import CRITERIA, SIZES
from rpd_studies.grid_tables import markdown_table

if TYPE_CHECKING:
    from rpd_studies.bench_results import Bench, BenchRow
    from rpd_studies.estimates import Estimate

_HEADINGS = ("measure", "judged", "one policy", "states", "steps", "area of states",
             "area of steps", "top 10", "top 50", "holds", "effect")  # fmt: skip
_NARROW = {"one": 9, "area": 6, "top": 3}
"""Width of columns whose heading takes several lines."""
_WORDS = {
    "both": "states + steps",
    "states": "fewest states",
    "steps": "fewest steps",
    "area_states": "area of states",
    "area_steps": "area of steps",
    "top10": "top 10",
    "top50": "top 50",
    "holds": "states that hold",
    "effect": "effect of the top 10",
}


def print_bench(console: Console, found: Bench) -> None:
    """Print a row per measure, best first, and what to bear in mind."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    first, *others = _headings(found)
    table.add_column(first, no_wrap=True, min_width=max(len(row.measure) for row in found.rows))
    for heading in others:
        width = _NARROW.get(heading.partition(" ")[0])
        table.add_column(escape(heading), justify="right", width=width)
    for row in found.rows:
        table.add_row(*map(escape, _cells(found, row)))
    say(console, _title(found), style="bold")
    console.print(table)
    for sentence in sentences(found):
        say(console, sentence)


def markdown(found: Bench) -> str:
    """Return the same as Markdown."""
    rows = [_cells(found, row) for row in found.rows]
    table = markdown_table(_headings(found), [(f"`{row[0]}`", *row[1:]) for row in rows])
    told = [f"{sentence}\n" for sentence in sentences(found)]
    return "\n".join([f"{_title(found)}.", "", *table, "", *told])


def _headings(found: Bench) -> tuple[str, ...]:
    return *_HEADINGS, f"against {found.base}"


def _title(found: Bench) -> str:
    return (
        f"{found.env}, {found.policy}, {found.condition}: "
        f"{counted(found.episodes, 'mutant episode')} per seed, "
        f"{counted(found.test_episodes, 'episode')} per pruned policy"
    )


def _cells(found: Bench, row: BenchRow) -> tuple[str, ...]:
    points = [one.fewest_both for one in row.seeds if one.seed in found.report_on]
    states, steps = (
        sum(1.0 if one is None else getattr(one, name) for one in points) / len(points)
        for name in ("states", "steps")
    )
    missed = f" ({row.missed} missed)" if row.missed else ""
    figures = (_figure(name, row.means[name]) for name in CRITERIA if name != "both")
    return (
        row.measure,
        _figure(found.criterion, row.judged),
        f"{100 * states:.1f}/{100 * steps:.0f}{missed}",
        *figures,
        _difference(found.criterion, row.differences[found.criterion]),
    )


def _figure(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    if name.startswith("area"):
        return f"{value:.3f}"
    return f"{100 * value:.1f}" if name in SIZES else f"{100 * value:.0f}"


def _difference(name: str, found: Estimate | None) -> str:
    if found is None:
        return "-"
    scale, places = (1.0, 3) if name.startswith("area") else (100.0, 1)
    text = f"{scale * found.estimate:+.{places}f}"
    if found.high is None:
        return text
    return f"{text} ±{scale * (found.high - found.estimate):.{places}f}"


def sentences(found: Bench) -> list[str]:
    """Return what was chosen where, how to read the table, and what to bear in mind."""
    judging, reporting = (", ".join(map(str, some)) for some in (found.choose_on, found.report_on))
    what = _WORDS[found.criterion]
    return [
        f"Best by {what} on seeds {judging} (judged): {found.chosen}. All other figures are means "
        f"over seeds {reporting}.",
        f"In %, but for areas. One policy: states/steps of the pruned policy with the smallest sum "
        f"of both that keeps {100 * found.fraction:.0f} % of the return in the sweep; then the "
        "fewest states and the fewest steps, each of a policy of its own; where none keeps so "
        "much, 100. Areas are under the share of the return, 1 is best. Top 10 and 50: overlap of "
        "the lists of random halves. Holds: share of the first 50 with a positive effect on the "
        "risk of failing in another suite; effect: the mean effect of the first 10 there. Last: "
        f"difference in {what}, paired by seed, with its 95 % interval.",
        *(f"Note: {note}." for note in found.notes),
    ]
