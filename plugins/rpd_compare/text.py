"""A comparison on one screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rpd_compare.records import Need
from rpd_core.cli.text import say
from rpd_core.errors import counted
from rpd_core.results.sentences import noun_of
from rpd_core.results.words import few, percent, reached_words, shortened_states, signed

if TYPE_CHECKING:
    from rpd_compare.records import (
        AgreementCurve,
        ComparedDecision,
        ComparedState,
        Comparison,
        EffectOf,
        Side,
    )
    from rpd_core.results.records import Decision

_SHOWN_SHARES = (0.05, 0.1, 0.2, 0.5, 1.0)
"""Columns of the table of agreement."""
_DISAGREEING = 3
"""Rows of decisions on which the policies disagree."""
_NEEDED = {Need.NEW: 5, Need.GONE: 3}
"""Rows of decisions that only one of the smallest policies needs."""
TITLES = {
    Need.NEW: "B's smallest policy needs, A's does not",
    Need.GONE: "A's smallest policy needs, B's does not",
    Need.BOTH: "Both need",
}
_ACTION = 13
"""Characters of an action."""
_LINES = {"state": 4, "rule": 20}
"""Lines of a state: no condition of a rule is left out."""
_LEAST_STATE = 20
"""Characters of a state, however narrow the screen is."""


def print_comparison(console: Console, found: Comparison) -> None:
    """Print what two runs have in common and where they differ, the sum of it last."""
    for name, side in (("A", found.a), ("B", found.b)):
        say(console, f"{name}: {_side(side)}", style="bold")
        say(console, f"   {smallest_words(side, noun_of(found.abstraction))}")
    say(console, _basis(found))
    for note in found.notes:
        say(console, f"Note: {note}")
    if found.needs:
        for need in _NEEDED:
            console.print()
            _print_needs(console, found, need)
        say(console, both_words(found), style="bold")
    console.print()
    _print_agreement(console, found)
    console.print()
    _print_changes(console, found)
    console.print()
    _print_disagreeing(console, found)
    console.print()
    for sentence in filter(None, (needs_sentence(found), agreement_sentence(found))):
        say(console, sentence, style="bold")


def _side(side: Side) -> str:
    return f"{side.policy}, return {few(side.return_mean)}, seed {side.seed} ({side.path})"


def smallest_words(side: Side, noun: str) -> str:
    """Return the smallest policy of a run in a sentence."""
    one = side.smallest
    if one is None:
        return "no smallest policy is confirmed"
    bound = "" if one.share_bound is None else f", at least {percent(one.share_bound)}"
    return (
        f"{one.kept} of {counted(side.states, noun)} keep {percent(one.share)} of the "
        f"return{bound}; {percent(one.steps)} of the steps, overrides {percent(one.overrides)}; "
        f"{counted(one.needed, 'decision')} needed"
    )


def loss_cell(decision: Decision | None) -> str:
    """Return what a decision is worth to a smallest policy."""
    if decision is None:
        return "acts by default"
    loss = f"{'at least ' if decision.at_least else ''}{few(decision.loss)}"
    return loss if decision.needed else f"{loss}, not shown"


def _print_needs(console: Console, found: Comparison, need: Need) -> None:
    """Print the decisions that only one of the smallest policies needs."""
    rows, shown = found.needed(need), found.needed(need)[: _NEEDED[need]]
    if not rows:
        say(console, f"{TITLES[need]}: nothing", style="bold")
        return
    more = f"; the first {len(shown)}" if len(rows) > len(shown) else ""
    title = f"{TITLES[need]}: {counted(len(rows), 'decision')}{more}"
    columns = ("state", "loss in A", "loss in B", "policy A", "policy B", "default")
    cells = [[row.state, *map(loss_cell, (row.a, row.b)), *_doing(row)] for row in shown]
    _print_table(console, title, columns, cells, lines=_lines(found))


def both_words(found: Comparison) -> str:
    """Return how much of what the smallest policies need is the same."""
    rows = found.needed(Need.BOTH)
    shares = [sum(side.share for row in rows if (side := getattr(row, name))) for name in "ab"]
    return (
        f"{TITLES[Need.BOTH]}: {counted(len(rows), 'decision')}, {percent(shares[0])} of A's "
        f"losses and {percent(shares[1])} of B's"
    )


def _doing(row: ComparedDecision) -> tuple[str, ...]:
    sides = [one for one in (row.a, row.b) if one is not None]
    actions = [_short(one.policy_action) if one else "-" for one in (row.a, row.b)]
    return *actions, _short(sides[0].default_action)


def _basis(found: Comparison) -> str:
    return (
        f"{found.env}, states by {' + '.join(found.abstraction)}, default action "
        f"{found.default_action}. Compared is what each policy chose most often, in the "
        f"{counted(found.common, noun_of(found.abstraction))} that both suites met (only A: "
        f"{found.only_a}, only B: {found.only_b})."
    )


def _print_table(
    console: Console,
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    lines: int = 1,
) -> None:
    """Print a title and a table whose first column gets the room that the others leave."""
    say(console, title, style="bold")
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in columns:
        words = heading in (columns[0], "default") or heading.startswith("policy")
        table.add_column(heading, justify="left" if words else "right", no_wrap=True)
    others = [max(map(len, column)) for column in zip(columns, *rows, strict=True)][1:]
    room = console.width - sum(others) - len(columns)
    first = shortened_states([row[0] for row in rows], max(room, _LEAST_STATE), lines)
    for state, row in zip(first, rows, strict=True):
        table.add_row(escape(state), *map(escape, row[1:]))
    console.print(table)


def _print_agreement(console: Console, found: Comparison) -> None:
    title = "Same action in the first states by A's ranking, with 95% intervals"
    shares = [percent(share) for share in _SHOWN_SHARES[:-1]]
    rows = [[curve.measure, *_agreement_cells(curve)] for curve in found.agreement]
    _print_table(console, title, ("first", *shares, "all"), rows)


def _agreement_cells(curve: AgreementCurve) -> list[str]:
    by_share = {point.share: point for point in curve.points}
    points = [by_share[share] for share in _SHOWN_SHARES]
    return [
        f"{percent(point.agreement)} ({100 * point.low:.0f}-{100 * point.high:.0f})"
        for point in points
    ]


def _print_changes(console: Console, found: Comparison) -> None:
    if not found.judged:
        say(console, "No state has enough episodes in each arm of both suites to compare effects.")
        return
    say(
        console,
        f"Effects among mutants: of {found.judged} decisions with evidence in both, "
        f"{found.gained} gained and {found.lost} lost effect from A to B.",
    )


def _lines(found: Comparison) -> int:
    return _LINES[noun_of(found.abstraction)]


def _effect(side: EffectOf) -> str:
    """Return an effect; a dash where an arm is empty, so that it could be anything."""
    return "-" if side.high - side.low >= 2 else signed(side.effect)


def _actions(row: ComparedState) -> tuple[str, str]:
    return _short(row.a.action), _short(row.b.action)


def _short(words: str) -> str:
    """Return the first of several actions; all of them are in the JSON and on the page."""
    first = words if words.startswith("(") else words.partition(", ")[0]
    return first if len(first) <= _ACTION else f"{first[: _ACTION - 1]}…"


def _print_disagreeing(console: Console, found: Comparison) -> None:
    rows = found.disagreeing[:_DISAGREEING]
    common = counted(found.common, noun_of(found.abstraction))
    title = f"The policies disagree in {found.disagreements} of {common}"
    if not rows:
        more = "; none of them is in a list of decisions" if found.disagreements else ""
        say(console, f"{title}{more}.", style="bold")
        return
    columns = ("state", "rank A", "B", "policy A", "policy B", "effect A", "B", "reach A", "B")
    cells = []
    for row in rows:
        sides = row.a, row.b
        ranks = [str(side.rank) if side.rank else "-" for side in sides]
        reached = [reached_words(side.reached) for side in sides]
        cells.append([row.state, *ranks, *_actions(row), *map(_effect, sides), *reached])
    title = f"{title}; those that matter most, by the better rank"
    _print_table(console, title, columns, cells, lines=_lines(found))


def needs_sentence(found: Comparison) -> str:
    """Return what each smallest policy needs; empty where that is not compared."""
    new, gone, both = (len(found.needed(need)) for need in Need)
    return (
        f"B's smallest policy needs {counted(new, 'decision')} that A's does not, A's needs {gone} "
        f"that B's does not, both need {both}."
        if found.needs
        else ""
    )


def agreement_sentence(found: Comparison) -> str:
    """Return how often both policies do the same."""
    first, every = found.agreement_in_first(0.1), found.agreement_in_first(1.0)
    return (
        f"The policies choose the same action in {percent(first.agreement)} "
        f"({100 * first.low:.0f} to {100 * first.high:.0f}) of the {first.states} most important "
        f"states (the first 10% by {found.agreement[0].measure}), and in "
        f"{percent(every.agreement)} of all."
    )
