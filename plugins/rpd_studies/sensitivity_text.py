"""How a list depends on rate and default action, as a table and what moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rpd_core.cli.text import say
from rpd_core.results.shortening import cut

if TYPE_CHECKING:
    from rpd_studies.sensitivity import Move, Sensitivity, Variant

_LONGEST = 200
"""Characters of a state that moved."""


def print_sensitivity(console: Console, found: Sensitivity) -> None:
    """Print the overlaps of all variants, then what moved in each."""
    title = (
        f"The list of {found.listed} decisions under {found.condition}, beside lists of suites of "
        f"{found.episodes} episodes that differ in"
    )
    table = Table(title=escape(title), title_justify="left", title_style="bold", box=None,
                  pad_edge=False, padding=(0, 2, 0, 0))  # fmt: skip
    table.add_column("")
    for heading in ("passed", "listed", "shared", "top 10", "top 50", "rank correlation"):
        table.add_column(heading, justify="right", no_wrap=True)
    for variant in found.variants:
        table.add_row(escape(variant.changed), *_cells(variant))
    console.print(table)
    for variant in found.variants:
        for sentence in _moved(variant):
            say(console, sentence)


def _cells(variant: Variant) -> tuple[str, ...]:
    if variant.problem:
        return ("",) * 6
    whole = variant.rank_correlation
    text = "" if whole is None else f"{whole.estimate:.2f}"
    if whole is not None and whole.low is not None and whole.high is not None:
        text += f" ({whole.low:.2f} to {whole.high:.2f})"
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
