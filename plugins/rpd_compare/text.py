"""A comparison on one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rpd_core.cli.text import say
from rpd_core.results.words import reached_words

if TYPE_CHECKING:
    from rpd_compare.records import (
        AgreementCurve,
        ComparedState,
        Comparison,
        EffectOf,
        Side,
    )
    from rpd_core.pruning.curves import ShownCurve

_SHOWN_SHARES = (0.05, 0.1, 0.2, 0.5, 1.0)
"""Columns of the table of agreement."""
_CHANGES = 5
"""Rows of decisions that gained or lost effect."""
_DISAGREEING = 8
"""Rows of decisions on which the policies disagree."""
_TARGET = 0.9
"""Fraction of the return for which the pruned policies are compared."""
_ACTION = 13
"""Characters of an action."""


def print_comparison(console: Console, found: Comparison) -> None:
    """Print what two runs have in common and where they differ, the sum of it last."""
    say(console, f"A: {_side(found.a)}", style="bold")
    say(console, f"B: {_side(found.b)}", style="bold")
    say(console, _basis(found))
    for note in found.notes:
        say(console, f"Note: {note}")
    console.print()
    _print_agreement(console, found)
    console.print()
    _print_changes(console, found)
    console.print()
    _print_disagreeing(console, found)
    console.print()
    _print_pruning(console, found)
    say(console, headline(found), style="bold")


def _side(side: Side) -> str:
    return (
        f"{side.policy}, return {side.return_mean:.4g}, seed {side.seed}, {side.episodes} mutant "
        f"episodes of which {side.passed:.0%} passed ({side.path})"
    )


def _basis(found: Comparison) -> str:
    return (
        f"{found.env}, states by {' + '.join(found.abstraction)}, default action "
        f"{found.default_action}. Compared is what each policy chose most often, in the "
        f"{found.common} states that both suites met (only A: {found.only_a}, only B: "
        f"{found.only_b})."
    )


def _table(console: Console, title: str, *columns: str) -> Table:
    """Print a title, which a table would wrap to its own width, and return a table for below it."""
    say(console, title, style="bold")
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in columns:
        words = heading in ("first", "ranking", "state") or heading.startswith("policy")
        table.add_column(
            heading,
            justify="left" if words else "right",
            no_wrap=True,
            overflow="ellipsis",
            ratio=1 if heading == "state" else None,
        )
    return table


def _print_agreement(console: Console, found: Comparison) -> None:
    title = "Same action in the first states by A's ranking, with 95% intervals"
    shares = [f"{share:.0%}" for share in _SHOWN_SHARES[:-1]]
    table = _table(console, title, "first", *shares, "all")
    for curve in found.agreement:
        table.add_row(escape(curve.measure), *_agreement_cells(curve))
    console.print(table)


def _agreement_cells(curve: AgreementCurve) -> list[str]:
    by_share = {point.share: point for point in curve.points}
    points = [by_share[share] for share in _SHOWN_SHARES]
    return [
        f"{point.agreement:.0%} ({100 * point.low:.0f}-{100 * point.high:.0f})" for point in points
    ]


def _print_changes(console: Console, found: Comparison) -> None:
    if not found.judged:
        say(console, "No state has enough episodes in each arm of both suites to compare effects.")
        return
    title = (
        f"Effects: of {found.judged} decisions with evidence in both, {found.gained} gained and "
        f"{found.lost} lost effect from A to B"
    )
    rows = found.changes[:_CHANGES]
    if not rows:
        say(console, f"{title}.", style="bold")
        return
    columns = ("state", "A", "B", "B - A (95%)", "policy A", "policy B")
    table = _table(console, title, *columns)
    for row in rows:
        cells = f"{row.a.effect:+.2f}", f"{row.b.effect:+.2f}", _difference(row)
        table.add_row(escape(row.state), *cells, *_actions(row))
    console.print(table)


def _effect(side: EffectOf) -> str:
    """Return an effect; a dash where an arm is empty, so that it could be anything."""
    return "-" if side.high - side.low >= 2 else f"{side.effect:+.2f}"


def _difference(row: ComparedState) -> str:
    return f"{row.difference:+.2f} ({row.low:+.2f} to {row.high:+.2f})"


def _actions(row: ComparedState) -> tuple[str, str]:
    return escape(_short(row.a.action)), escape(_short(row.b.action))


def _short(words: str) -> str:
    """Return the first of several actions; all of them are in the JSON and on the page."""
    first = words if words.startswith("(") else words.partition(", ")[0]
    return first if len(first) <= _ACTION else f"{first[: _ACTION - 1]}…"


def _print_disagreeing(console: Console, found: Comparison) -> None:
    rows = found.disagreeing[:_DISAGREEING]
    title = f"The policies disagree in {found.disagreements} of {found.common} states"
    if not rows:
        more = "; none of them is in a list of decisions" if found.disagreements else ""
        say(console, f"{title}{more}.", style="bold")
        return
    columns = ("state", "rank A", "B", "policy A", "policy B", "effect A", "B", "reach A", "B")
    table = _table(console, f"{title}; those that matter most, by the better rank", *columns)
    for row in rows:
        ranks = [str(side.rank) if side.rank else "-" for side in (row.a, row.b)]
        effects = [_effect(side) for side in (row.a, row.b)]
        cells = *_actions(row), *effects, *(reached_words(one.reached) for one in (row.a, row.b))
        table.add_row(escape(row.state), *ranks, *cells)
    console.print(table)


def _print_pruning(console: Console, found: Comparison) -> None:
    """Print the smallest pruned policies of both, by the measures of the agreement."""
    title = f"Fewest states that keep {_TARGET:.0%} of a policy's own return: states / steps"
    table = _table(console, title, "ranking", "A", "B")
    names = [one.measure for one in found.agreement] + ["random"]
    for name in names:
        if name in found.curves_a and name in found.curves_b:
            ends = [
                _smallest(found.curves_a[name], found.a),
                _smallest(found.curves_b[name], found.b),
            ]
            table.add_row(escape(name), *ends)
    if table.row_count:
        console.print(table)


def _smallest(curve: ShownCurve, side: Side) -> str:
    """Return the shares of the first point that keeps enough of the return, if any."""
    target = side.reference + _TARGET * (side.return_mean - side.reference)
    points = zip(curve.states, curve.steps, curve.returns, strict=True)
    met = [(states, steps) for states, steps, mean in points if mean >= target]
    return f"{met[0][0]:.1%} / {met[0][1]:.1%}" if met else "never"


def headline(found: Comparison) -> str:
    """Return the comparison in a sentence."""
    first, every = found.agreement_in_first(0.1), found.agreement_in_first(1.0)
    return (
        f"The policies choose the same action in {first.agreement:.0%} "
        f"({100 * first.low:.0f} to {100 * first.high:.0f}) of the {first.states} most important "
        f"states (the first 10% by {found.agreement[0].measure}), and in {every.agreement:.0%} of "
        "all."
    )
