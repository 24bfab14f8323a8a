"""Answers as HTML, for notebooks; every text from outside is escaped."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rpd_core.plugin.specs import shortened
from rpd_core.results.records import Decision, Summary, decision_columns
from rpd_core.results.sentences import headline, list_notes
from rpd_core.results.words import signed

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 10
"""Decisions in the answer."""
_LONGEST = 300
"""Characters of a state in a table; the whole is in the decision."""
_WIDTH = 90
"""Pixels of a drawn interval."""
_COLOURS = {"matters": "#b2182b", "default-better": "#2166ac"}


class TopDecisions(tuple[Decision, ...]):
    """Decisions, most important first: a tuple that shows itself as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "[" + ",\n ".join(map(repr, self)) + "]"

    def _repr_html_(self) -> str:
        return decisions_as_html(self)

    def to_dataframe(self) -> pd.DataFrame:
        """Return one row per decision, one column per field; needs pandas."""
        import pandas as pd  # an extra

        return pd.DataFrame([dataclasses.asdict(one) for one in self])


def answer_as_html(summary: Summary, path: Path) -> str:
    """Return the headline of an analysis and its first decisions."""
    facts, rows = summary.list, summary.decisions[:_SHOWN]
    about = (
        f"{summary.policy_spec} on {summary.env}; {summary.suite.episodes} mutant episodes in "
        f"{summary.suite.states} states, mutation rate {summary.suite.mutation_rate:g}; passed "
        f"means {summary.condition}"
    )
    listed = f"Decisions by {facts.measure}"
    parts = [
        f"<p><strong>{escape(headline(summary))}</strong></p>",
        f"<p>{escape(about)}</p>",
        f"<p>{escape(listed)}. {escape(' '.join(list_notes(facts)))}</p>",
        decisions_as_html(rows) if rows else "",
        f"<p><small>Everything is in <code>{escape(str(path))}</code></small></p>",
    ]
    return f"<div>{''.join(parts)}</div>"


def unfinished_as_html(path: Path, done: int, asked: int) -> str:
    """Return how far a run without a finished analysis is."""
    return (
        f"<div><p>Not finished: {done} of {asked} mutant episodes are stored in "
        f"<code>{escape(str(path))}</code></p></div>"
    )


def decisions_as_html(rows: Sequence[Decision]) -> str:
    """Return decisions as a table, their effects drawn."""
    low = min([0.0, *(row.low for row in rows)])
    high = max([0.01, *(row.high for row in rows)])
    headings = [*(one.heading for one in decision_columns()), "95 %", ""]
    head = "".join(f'<th style="text-align:left">{heading}</th>' for heading in headings)
    body = "".join(_row(row, low, high) for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _row(row: Decision, low: float, high: float) -> str:
    texts = [one.words(getattr(row, one.name)) for one in decision_columns()]
    texts.append(f"{signed(row.low)} to {signed(row.high)}")
    cells = [*(_cell(shortened(text, _LONGEST)) for text in texts)]
    cells.append(f"<td>{_interval(row, low, high)}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def _cell(text: Any) -> str:
    return f'<td style="text-align:left">{escape(str(text))}</td>'


def _interval(row: Decision, low: float, high: float) -> str:
    """Draw an effect with its interval, and a line at 0."""
    zero, left, middle, right = (
        round(_WIDTH * (value - low) / (high - low), 1)
        for value in (0.0, row.low, row.effect, row.high)
    )
    colour = _COLOURS.get(row.verdict, "#777")
    said = f"{row.effect:+.2f}, between {row.low:+.2f} and {row.high:+.2f}"
    return (
        f'<svg width="{_WIDTH}" height="12" role="img" aria-label="{said}">'
        f'<line x1="{zero}" x2="{zero}" y1="0" y2="12" stroke="#aaa"/>'
        f'<line x1="{left}" x2="{right}" y1="6" y2="6" stroke="{colour}" stroke-width="2"/>'
        f'<circle cx="{middle}" cy="6" r="3.5" fill="{colour}"/></svg>'
    )
