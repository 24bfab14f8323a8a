"""What `rpd validate` found, as tables and a few sentences."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rpd_core.cli.text import say
from rpd_core.results.words import cut, shortened_states
from rpd_studies.estimates import Estimate
from rpd_studies.sensitivity import Move, Sensitivity, Variant
from rpd_studies.validation import ValidatedState, Validation

_OTHERS = 58
"""Columns of the terminal that all but the state take."""
_LONGEST = 200
"""Characters of a state that moved."""


def print_found(console: Console, found: Validation | Sensitivity) -> None:
    """Print a table, and what follows from it."""
    if isinstance(found, Validation):
        _print_validation(console, found)
    else:
        _print_sensitivity(console, found)


def _table(title: str) -> Table:
    return Table(title=escape(title), title_justify="left", title_style="bold", box=None,
                 pad_edge=False, padding=(0, 2, 0, 0))  # fmt: skip


def _print_validation(console: Console, found: Validation) -> None:
    """Print the states one by one, the groups, and what follows."""
    title = f"Single states mutated alone, under {found.condition}: effect on the risk of failing"
    table = _table(title)
    table.add_column("rank", justify="right")
    others = max((len(", ".join(row.groups)) for row in found.rows), default=0)
    width = max(console.width - _OTHERS - others, 20)
    table.add_column("state", max_width=width)
    table.add_column("chosen as", no_wrap=True)
    for heading in ("reached", "suite", "alone", "95%", "return"):
        table.add_column(heading, justify="right", no_wrap=True)
    states = shortened_states([row.state for row in found.rows], width, lines=2)
    for row, state in zip(found.rows, states, strict=True):
        table.add_row(*_state_cells(row, state, found.episodes))
    console.print(table)
    for sentence in found.sentences:
        say(console, sentence)


def _state_cells(row: ValidatedState, state: str, episodes: int) -> tuple[str, ...]:
    reached = f"{row.reached}/{episodes}"
    alone = ("", "", "")
    if row.effect is not None and row.effect_return is not None:
        alone = (f"{row.effect.estimate:+.2f}", _ends(row.effect),
                 f"{row.effect_return.estimate:+.4g}")  # fmt: skip
    named = escape(state), ", ".join(row.groups)
    return str(row.rank), *named, reached, f"{row.suite_effect:+.2f}", *alone


def _ends(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{estimate.low:+.2f} to {estimate.high:+.2f}"


def _print_sensitivity(console: Console, found: Sensitivity) -> None:
    """Print the overlaps of all variants, then what moved in each."""
    title = (
        f"The list of {found.listed} decisions under {found.condition}, beside lists of suites of "
        f"{found.episodes} episodes that differ in"
    )
    table = _table(title)
    table.add_column("")
    for heading in ("passed", "listed", "shared", "top 10", "top 50", "rank correlation"):
        table.add_column(heading, justify="right", no_wrap=True)
    for variant in found.variants:
        table.add_row(escape(variant.changed), *_variant_cells(variant))
    console.print(table)
    for variant in found.variants:
        for sentence in _moved(variant):
            say(console, sentence)


def _variant_cells(variant: Variant) -> tuple[str, ...]:
    if variant.problem:
        return ("",) * 6
    whole = variant.rank_correlation
    text = "" if whole is None else whole.text
    shares = (_percent(share) for share in (variant.top10, variant.top50))
    return _percent(variant.passed), str(variant.listed), str(variant.shared), *shares, text


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def _moved(variant: Variant) -> list[str]:
    if variant.problem:
        return [f"{variant.changed}: no list, for {variant.problem}"]
    both = (("up", variant.risen), ("down", variant.fallen))
    return [
        f"{variant.changed}, {way}: {'; '.join(map(_move, moves))}" for way, moves in both if moves
    ]


def _move(move: Move) -> str:
    return f"{move.rank} to {move.other_rank} {cut(move.state, _LONGEST)}"
