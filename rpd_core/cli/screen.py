"""The answer on one screen: what was analysed, ten decisions, one table, the headline."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rpd_core.cli.listing import legend, list_title, print_list
from rpd_core.cli.text import print_question, say
from rpd_core.config.settings import PORTFOLIO
from rpd_core.errors import counted, shell_word
from rpd_core.results.sentences import (
    advice_on,
    growth_words,
    headline,
    list_notes,
    stability_words,
)

if TYPE_CHECKING:
    from rpd_core.pruning.records import PrunedPoint
    from rpd_core.results.records import Played, Summary, SweepFacts, Threshold


@dataclass(frozen=True)
class _Room:
    """Lines that parts of the answer may take."""

    states: int
    """States of the list beyond the one that each has."""
    rules: int
    """The rules that sum up what matters."""
    rankings: int
    """Rankings in the table of the sweep, without portfolio and random."""


SHOWN = 10
"""Decisions on the screen."""
_LINES = 45
"""Lines of a screen."""
_MANY = 10**6
_ROOMS = (
    *(_Room(SHOWN, 4, _MANY), _Room(SHOWN, 2, _MANY)),
    *(_Room(SHOWN, 2, rankings) for rankings in (10, 8, 6, 4)),
    *(_Room(states, 2, 4) for states in range(SHOWN - 1, -1, -1)),
)
"""What is tried, the roomiest first."""
_DETAILS = ("random_best",)
"""Rows that only the full answer has."""
_ALWAYS = ("portfolio", "random")
"""Rows that every answer has."""
_ROW_NAMES = {"random": "random (mean)", "random_best": f"random (best of {len(PORTFOLIO)})"}


def print_answer(
    console: Console,
    summary: Summary,
    path: Path,
    others: Sequence[str],
    full: bool = False,
    made: Sequence[Path] = (),
) -> None:
    """Print what an analysis found; `others` are the analyses beside it, `made` files show it.

    Where it would take more than one screen, the rules give way, then the table of the sweep, then
    the second lines of long states.
    """

    def attempt(screen: Console, room: _Room) -> None:
        _print_body(screen, summary, full, room)
        _print_where(screen, summary, path, others, full)
        if made:
            say(screen, f"To look at it, open {', '.join(map(str, made))}", copied=True)
        say(screen, headline(summary), style="bold")

    room = _ROOMS[0]
    for room in _ROOMS[:1] if full else _ROOMS:
        trial = Console(file=io.StringIO(), width=console.width)
        with trial.capture() as captured:
            attempt(trial, room)
        if _height(captured.get(), console.width) <= _LINES:
            break
    attempt(console, room)


def _height(text: str, width: int) -> int:
    """Return the lines that a text takes on a screen, those that it breaks counted."""
    return sum(max(1, -(-cell_len(line.rstrip()) // width)) for line in text.splitlines())


def _print_body(console: Console, summary: Summary, full: bool, room: _Room) -> None:
    _print_header(console, summary)
    console.print()
    _print_decisions(console, summary, len(summary.decisions) if full else SHOWN, room)
    for fraction in summary.thresholds if full else list(summary.thresholds)[:1]:
        console.print()
        _print_thresholds(console, fraction, summary, full, room)
    if full:
        _print_sweep(console, summary.sweep)
        _print_ties(console, summary)
    _print_versions(console, summary.played)
    console.print()


def _print_header(console: Console, summary: Summary) -> None:
    """Print what was analysed, and on how much it stands."""
    suite, original = summary.suite, summary.original
    rates = summary.pass_rates
    print_question(console, summary.configuration["suite"], summary.condition)
    say(
        console,
        f"return {original.return_mean:.4g} (mean of {counted(original.episodes, 'episode')}); "
        "default action "
        f"everywhere {original.default_everywhere:.4g}; reference {original.reference:.4g} "
        f"({original.reference_source})",
    )
    say(
        console,
        f"{counted(suite.episodes, 'mutant episode')} in {counted(suite.states, 'state')}, "
        f"of which {rates.suite:.0%} passed (unmutated {rates.original:.0%}, default everywhere "
        f"{rates.default_everywhere:.0%})",
    )
    for advice in advice_on(summary):
        say(console, f"Advice: {advice}")


def _print_decisions(console: Console, summary: Summary, count: int, room: _Room) -> None:
    facts, rows = summary.list, summary.ranking[:count]
    if not rows:
        say(
            console,
            f"No state has {facts.evidence} episodes in each arm and a default action that ever "
            "differed: more --episodes or a coarser --abstraction would give a list.",
        )
        return
    print_list(console, list_title(facts.measure, console.width), rows, spare=room.states)
    say(console, f"{legend(rows)}. {' '.join(list_notes(facts))}")
    for note in (
        growth_words(summary.growth),
        _about(summary),
        stability_words(summary.stability, summary.list),
    ):
        if note:
            say(console, note)


def _about(summary: Summary) -> str:
    """Return a sentence where the unmutated policy hardly ever reaches what is listed."""
    facts, first = summary.list, min(summary.list.listed, 50)
    if facts.reached * 4 >= first:
        return ""
    return (
        f"Of the first {first}, {facts.reached} are reached by more than 1% of "
        f"{facts.unmutated_episodes} unmutated episodes: the list is about recovery under mutation "
        f"at rate {summary.suite.mutation_rate:g}, not about everyday decisions (see rpd rank "
        "--reached)."
    )


def _print_thresholds(
    console: Console, fraction: str, summary: Summary, full: bool, room: _Room
) -> None:
    target = summary.targets[fraction]
    title = (
        f"Smallest pruned policies in the sweep that keep {float(fraction):.0%} of the return "
        f"({target:.4g}): states / steps"
    )
    say(console, title, style="bold")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("ranking", "number", "fewest states", "fewest steps"):
        table.add_column(heading, justify="left" if heading == "ranking" else "right")
    entries = summary.thresholds[fraction]
    shown = entries if full else _best(entries, room.rankings)
    for name in shown:
        table.add_row(escape(_ROW_NAMES.get(name, name)), *_threshold_cells(entries[name]))
    console.print(table)
    left_out = len(entries.keys() - {*shown, *_DETAILS})
    if left_out and not full:
        say(console, f"{left_out} more: rpd show --full")


def _best(entries: Mapping[str, Threshold | None], count: int) -> list[str]:
    """Return the rankings that keep the fewest states in the order of the table."""

    def states(name: str) -> float:
        entry = entries[name]
        return inf if entry is None else entry.fewest_states.kept

    rankings = [name for name in entries if name not in (*_ALWAYS, *_DETAILS)]
    best = sorted(rankings, key=states)[:count]
    return [name for name in entries if name in best or name in _ALWAYS]


def _print_sweep(console: Console, sweep: SweepFacts) -> None:
    text = f"The sweep played {sweep.episodes} episodes; every point to the end: {sweep.whole}"
    say(console, f"{text} (--sweep full)." if sweep.episodes < sweep.whole else f"{text}.")


def _threshold_cells(entry: Threshold | None) -> tuple[str, ...]:
    if entry is None:
        return "", "never", "never"
    fewest = entry.fewest_states
    return str(fewest.kept), _shares(fewest), _shares(entry.fewest_steps)


def _shares(point: PrunedPoint) -> str:
    return f"{point.states:.1%} / {point.steps:.1%}"


def _print_ties(console: Console, summary: Summary) -> None:
    console.print()
    for name, ties in summary.ties.items():
        if ties.groups:
            say(
                console,
                f"{name}: {ties.groups} groups of states have equal scores (largest: "
                f"{ties.largest}); within a group the order is that of the state keys",
            )


def _print_versions(console: Console, played: Sequence[Played]) -> None:
    if len(played) > 1:
        from rpd_core.store.parts import version_changes  # only for this

        changes = version_changes(played[0].origin, played[-1].origin)
        if changes:
            say(console, f"Note: parts of this run were played by other versions: {changes[0]}")


def _print_where(
    console: Console, summary: Summary, path: Path, others: Sequence[str], full: bool
) -> None:
    beside = [name for name in others if name != summary.analysis]
    chosen = f" --analysis {summary.analysis}" if beside else ""
    more, typed = "" if full else " --full", shell_word(path)
    one = f"; one decision: rpd explain {typed} 1{chosen}" if summary.decisions else ""
    say(console, f"More: rpd show {typed}{chosen}{more}{one}", copied=True)
    if beside:
        say(console, _others(beside, _MANY if full else console.width), copied=True)


def _others(names: Sequence[str], width: int) -> str:
    """Return which analyses there are beside this one, as many as fit a line, and at least one."""
    text = ""
    for count in range(len(names), 0, -1):
        more = len(names) - count
        rest = f" and {more} more (rpd show --full)" if more else ""
        text = f"Other analyses (--analysis NAME): {', '.join(names[:count])}{rest}"
        if len(text) <= width:
            break
    return text
