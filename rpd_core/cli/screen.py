"""The answer on one screen: what was found, the decisions, and what it stands on."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console

from rpd_core.cli.decisions import print_decisions, print_details
from rpd_core.cli.full import print_rest
from rpd_core.cli.text import print_question, say
from rpd_core.errors import shell_word
from rpd_core.results.sentences import (
    advice_on,
    baseline_words,
    growth_words,
    headline,
    is_proven,
    noun_for,
    other_targets,
    recurrence_words,
    suite_words,
    sureness_words,
    tried_in_vain,
    what_would_help,
)
from rpd_core.results.words import few

if TYPE_CHECKING:
    from rpd_core.results.records import Decision, Played, Summary

SHOWN = 7
"""Decisions on the screen."""
_FEWEST = 3
"""Decisions that give way to nothing."""
_RULE_LINES = 20
"""Lines that a rule may take: none of its conditions is left out."""
_STATE_LINES = 3
"""Lines that a state takes at most in the full answer."""
_LINES = 30
"""Lines of a screen."""


def print_answer(
    console: Console,
    summary: Summary,
    path: Path,
    others: Sequence[str],
    full: bool = False,
    made: Sequence[Path] = (),
) -> None:
    """Print what an analysis found; `others` are the analyses beside it, `made` files show it.

    Where it would take more than one screen, there are fewer decisions.
    """

    def attempt(screen: Console, shown: int) -> None:
        say(screen, headline(summary), style="bold")
        screen.print()
        _print_setting(screen, summary)
        _print_decisions(screen, summary, shown, full)
        _print_standing(screen, summary, full)
        if full:
            print_rest(screen, summary)
        _print_where(screen, summary, path, others, full, made)

    shown = len(summary.decisions) if full else SHOWN
    while not full and shown > _FEWEST and _height(attempt, shown, console.width) > _LINES:
        shown -= 1
    attempt(console, shown)


def _height(attempt: Callable[[Console, int], None], shown: int, width: int) -> int:
    """Return the lines that an answer takes on a screen, those that it breaks counted."""
    trial = Console(file=io.StringIO(), width=width)
    with trial.capture() as captured:
        attempt(trial, shown)
    lines = captured.get().splitlines()
    return sum(max(1, -(-cell_len(line.rstrip()) // width)) for line in lines)


def _print_setting(console: Console, summary: Summary) -> None:
    """Print what was analysed, and what would make the answer better."""
    original = summary.original
    print_question(
        console,
        summary.configuration["suite"],
        f"return {few(original.return_mean)}, by default alone {few(original.default_everywhere)}, "
        f"reference {few(original.reference)} ({original.reference_source})",
    )
    for advice in advice_on(summary):
        say(console, f"Advice: {advice}")
    console.print()


def _print_decisions(console: Console, summary: Summary, count: int, full: bool) -> None:
    """Print the decisions of the smallest policy; none where nothing is proven."""
    rows = summary.decisions[:count]
    if not rows:
        return
    noun = noun_for(summary)
    lines = _RULE_LINES if noun == "rule" else _STATE_LINES if full else 1
    print_decisions(console, noun, rows, lines)
    _print_others(console, summary.decisions[count:])
    if summary.list.note:
        say(console, summary.list.note)
    if full:
        console.print()
        print_details(console, rows)
    console.print()


def _print_others(console: Console, rest: Sequence[Decision]) -> None:
    if rest:
        unsure = sum(not one.needed for one in rest)
        which = f"{unsure} of them not" if unsure < len(rest) else "none of them"
        marked = f", {which} shown to be needed" if unsure else ""
        say(console, f"{len(rest)} more{marked}")


def _print_standing(console: Console, summary: Summary, full: bool) -> None:
    """Print what the answer stands on, a sentence or two each."""
    if is_proven(summary):
        others = "" if full else other_targets(summary)
        ranked = f"{suite_words(summary)} {others}".strip()
        told = [baseline_words(summary), ranked, sureness_words(summary)]
        told += [recurrence_words(summary.policy)] if full else []
    else:
        told = [tried_in_vain(summary.policy), suite_words(summary), what_would_help(summary)]
    for words in (*told, growth_words(summary.growth)):
        if words:
            say(console, words)
    _print_versions(console, summary.played)


def _print_versions(console: Console, played: Sequence[Played]) -> None:
    if len(played) > 1:
        from rpd_core.store.parts import version_changes  # only for this

        changes = version_changes(played[0].origin, played[-1].origin)
        if changes:
            say(console, f"Note: parts of this run were played by other versions: {changes[0]}")


def _print_where(
    console: Console,
    summary: Summary,
    path: Path,
    others: Sequence[str],
    full: bool,
    made: Sequence[Path],
) -> None:
    """Print where there is more to see."""
    beside = [name for name in others if name != summary.analysis]
    chosen = f" --analysis {summary.analysis}" if beside else ""
    page, typed = path / "report.html", shell_word(path)
    pages = [one for one in (*made, page) if one.suffix == ".html" and one.is_file()]
    looks = [str(pages[0])] if pages else []
    looks += [] if full else [f"rpd show {typed}{chosen} --full"]
    looks.append(f"rpd rank {typed}{chosen} (the paper's list)")
    say(console, f"More: {', '.join(looks)}", copied=True)
    if beside:
        say(console, _others(beside, 10**6 if full else console.width), copied=True)


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
