"""A comparison of measures as a table on the screen, and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rpd_core.report.benching import SIZES
from rpd_core.report.text import say

if TYPE_CHECKING:
    from rpd_core.analysis.paired import Estimate
    from rpd_core.report.benching import Bench, BenchRow

_HEADINGS = (
    "measure", "judged", "one policy", "fewest states", "fewest steps", "area states",
    "area steps", "top 10", "top 50",
)  # fmt: skip


def print_bench(console: Console, found: Bench) -> None:
    """Print a row per measure, best first, and what to bear in mind."""
    table = Table(title=escape(_title(found)), title_justify="left", title_style="bold", box=None,
                  pad_edge=False, padding=(0, 2, 0, 0))  # fmt: skip
    for place, heading in enumerate((*_HEADINGS, _against(found))):
        table.add_column(heading, justify="right" if place else "left", no_wrap=not place)
    for row in found.rows:
        table.add_row(*map(escape, _cells(found, row)))
    console.print(table)
    for sentence in sentences(found):
        say(console, sentence)


def markdown(found: Bench) -> str:
    """Return the same as a page of Markdown."""
    headings = (*_HEADINGS, _against(found))
    lines = [f"**{_title(found)}**", "", _joined(headings), _joined(["---"] * len(headings))]
    lines += [_joined(_cells(found, row, "`")) for row in found.rows]
    return "\n".join([*lines, "", *(f"{sentence}\n" for sentence in sentences(found))])


def _joined(cells: tuple[str, ...] | list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _title(found: Bench) -> str:
    return (
        f"{found.env}, {found.policy}, {found.condition}: {found.episodes} mutant episodes per "
        f"seed, {found.test_episodes} episodes per pruned policy"
    )


def _against(found: Bench) -> str:
    return f"{_WORDS[found.criterion]} against {found.base}"


_WORDS = {
    "both": "states + steps",
    "states": "states",
    "steps": "steps",
    "area_states": "area states",
    "area_steps": "area steps",
    "top10": "top 10",
    "top50": "top 50",
}


def _cells(found: Bench, row: BenchRow, quote: str = "") -> tuple[str, ...]:
    means = row.means
    reported = [one for one in row.seeds if one.seed in found.report_on]
    points = [one.fewest_both for one in reported]
    states, steps = (
        sum(1.0 if one is None else getattr(one, name) for one in points) / len(points)
        for name in ("states", "steps")
    )
    missed = f" ({row.missed} missed)" if row.missed else ""
    return (
        f"{quote}{row.measure}{quote}",
        _figure(found.criterion, row.judged),
        f"{states:.1%} / {steps:.0%}{missed}".replace("%", " %"),
        _figure("states", means["states"]),
        _figure("steps", means["steps"]),
        _figure("area_states", means["area_states"]),
        _figure("area_steps", means["area_steps"]),
        _figure("top10", means["top10"]),
        _figure("top50", means["top50"]),
        _difference(found.criterion, row.differences[found.criterion]),
    )


def _figure(name: str, value: float | None) -> str:
    if value is None:
        return ""
    if name.startswith("area"):
        return f"{value:.3f}"
    return f"{100 * value:.1f} %" if name in SIZES else f"{100 * value:.0f} %"


def _difference(name: str, found: Estimate | None) -> str:
    if found is None:
        return ""
    scale, places = (1.0, 3) if name.startswith("area") else (100.0, 1)

    def text(value: float) -> str:
        return f"{scale * value:+.{places}f}"

    if found.low is None or found.high is None:
        return text(found.estimate)
    return f"{text(found.estimate)} ({text(found.low)} to {text(found.high)})"


def sentences(found: Bench) -> list[str]:
    """Return what was chosen where, how to read the table, and what to bear in mind."""
    judging, reporting = (", ".join(map(str, some)) for some in (found.choose_on, found.report_on))
    first = (
        f"{found.chosen} is the best by {_WORDS[found.criterion]} on seeds {judging} (judged); all "
        f"other figures are means over seeds {reporting}."
    )
    how = (
        "One policy: shares of states and steps of the pruned policy with the smallest sum of both "
        f"that keeps {100 * found.fraction:.0f} % of the return in the sweep; a seed on which none "
        "does counts as 100 %. Areas are under the share of the return, 1 is best. Top 10 and 50: "
        "overlap of the lists of random halves. Last: paired difference with its 95 % interval "
        "over seeds."
    )
    return [first, how, *(f"Note: {note}." for note in found.notes)]
