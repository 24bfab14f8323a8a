"""A validation as a table and a few sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rpd_core.cli.text import say
from rpd_core.results.shortening import shortened

if TYPE_CHECKING:
    from rpd_studies.estimates import Estimate
    from rpd_studies.validation import ValidatedState, Validation

_OTHERS = 58
"""Columns of the terminal that all but the state take."""
_MOST = 0.5
"""Share of states that are not reached from which on that is the result."""


def print_validation(console: Console, found: Validation) -> None:
    """Print the states one by one, the groups, and what follows."""
    title = f"Single states mutated alone, under {found.condition}: effect on the risk of failing"
    table = Table(title=escape(title), title_justify="left", title_style="bold", box=None,
                  pad_edge=False, padding=(0, 2, 0, 0))  # fmt: skip
    table.add_column("rank", justify="right")
    others = max((len(", ".join(row.groups)) for row in found.rows), default=0)
    width = max(console.width - _OTHERS - others, 20)
    table.add_column("state", max_width=width)
    table.add_column("chosen as", no_wrap=True)
    for heading in ("reached", "suite", "alone", "95%", "return"):
        table.add_column(heading, justify="right", no_wrap=True)
    states = shortened([row.state for row in found.rows], width, lines=2)
    for row, state in zip(found.rows, states, strict=True):
        table.add_row(*_cells(row, state, found.episodes))
    console.print(table)
    for sentence in sentences(found):
        say(console, sentence)


def _cells(row: ValidatedState, state: str, episodes: int) -> tuple[str, ...]:
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


def sentences(found: Validation) -> list[str]:
    """Return what a validation says, the most important first."""
    lost = found.states - found.reached
    said = []
    if lost > _MOST * found.states:
        said.append(
            f"{lost} of {found.states} decisions are not reached in {found.episodes} unmutated "
            "episodes, and mutating them alone changes nothing there. That is the result: the list "
            f"is about what happens under mutation at rate {found.mutation_rate:g}, not about "
            "single mistakes. --reached checks only what is reached."
        )
    elif lost:
        said.append(f"{lost} of {found.states} are not reached in {found.episodes} episodes.")
    if found.reached:
        said.append(_agreement(found))
        said += [
            f"{group.name}: {group.reached} of {group.states} reached, mean effect "
            f"{group.suite_effect:+.2f} in the suite and {group.effect:+.2f} alone."
            for group in found.groups
            if group.suite_effect is not None
        ]
    return said


def _agreement(found: Validation) -> str:
    text = f"Over the {found.reached} that are reached"
    whole = found.rank_correlation
    if whole is None:
        text += " there is no rank correlation to speak of (too few, or all alike)"
    else:
        text += f" the rank correlation of suite and alone is {whole.estimate:.2f}"
        if whole.low is not None and whole.high is not None:
            text += f" ({whole.low:.2f} to {whole.high:.2f})"
    if found.rank_correlation_returns is not None:
        text += f", of returns {found.rank_correlation_returns.estimate:.2f}"
    return (
        f"{text}; the sign is the same in {found.same_sign}, another in {found.other_sign}, and "
        f"{found.no_difference} show no difference."
    )
