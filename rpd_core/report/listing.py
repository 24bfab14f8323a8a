"""The list of decisions as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rpd_core.report.bars import bar, scale_for

if TYPE_CHECKING:
    from rpd_core.report.results import Decision, ListFacts

_MARKS = {"matters": "yes", "default-better": "hurts", "harmless": "no", "undecided": "?"}
_STYLES = {"matters": "bold", "default-better": "yellow"}
_WIDTH = 9
"""Characters of a drawn interval."""


def print_list(console: Console, title: str, rows: Sequence[Decision], scores: bool = False) -> None:
    """Print decisions with their effects drawn, and with their scores on demand."""
    plain = not _can_draw(console)
    scale = scale_for([row.low for row in rows], [row.high for row in rows], _WIDTH)
    table = Table(title=escape(title), title_justify="left", title_style="bold", box=None,
                  pad_edge=False, padding=(0, 1, 0, 0))  # fmt: skip
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("state", no_wrap=True, overflow="ellipsis", min_width=20)
    for heading in ("policy", "default"):
        table.add_column(heading, no_wrap=True, overflow="ellipsis", max_width=10, min_width=4)
    for heading in ("risk", "effect"):
        table.add_column(heading, justify="right", no_wrap=True)
    ends = f"{scale.low:.1f}", f"{scale.high:.1f}"
    table.add_column(f"{ends[0]}{ends[1]:>{scale.width - len(ends[0])}}", no_wrap=True)
    if scores:
        table.add_column("score", justify="right", no_wrap=True)
    for heading in ("reach", "m+k"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("!", no_wrap=True)
    for row in rows:
        table.add_row(
            str(row.rank),
            escape(row.state),
            escape(row.policy_action),
            escape(row.default_action),
            f"{_percent(row.risk_mutated)}/{_percent(row.risk_kept)}%",
            f"{row.effect:+.2f}",
            bar(scale, row.low, row.effect, row.high, plain),
            *([f"{row.score:.3g}"] if scores else []),
            reached_words(row.reached),
            f"{row.episodes_mutated}+{row.episodes_kept}",
            _MARKS.get(row.verdict, ""),
            style=_STYLES.get(row.verdict),
        )
    console.print(table)


def _can_draw(console: Console) -> bool:
    try:
        "├─●─┤".encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f}"


def reached_words(share: float) -> str:
    """Return how often a state is reached, without making a little of it nothing."""
    return "never" if share == 0 else "<1%" if share < 0.01 else f"{share:.0%}"


def list_notes(facts: ListFacts, condition: str) -> list[str]:
    """Return what a reader of the list must know, a sentence each."""
    notes = []
    verdicts = facts.verdicts
    counts = [
        f"{verdicts[name]} {words}"
        for name, words in _VERDICT_WORDS.items()
        if verdicts.get(name)
    ]  # fmt: skip
    if facts.listed:
        notes.append(f"Of {facts.listed} decisions with evidence, {', '.join(counts)}.")
    if facts.listed and not verdicts.get("matters"):
        notes.append("No decision can be told from chance: none is known to matter.")
    aside = []
    if facts.too_few:
        aside.append(f"{facts.too_few} with fewer than {facts.evidence} episodes in an arm")
    if facts.never_differed:
        aside.append(f"{facts.never_differed} where the default action never differed")
    if aside:
        notes.append(f"Set aside: {', '.join(aside)}.")
    return notes


_VERDICT_WORDS = {
    "matters": "matter",
    "default-better": "do better by default",
    "harmless": "are harmless",
    "undecided": "are undecided",
}
