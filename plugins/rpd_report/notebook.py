"""Answers as HTML, for notebooks; every text from outside is escaped."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rpd_core.errors import RpdError
from rpd_core.plugin.importing import import_wanted
from rpd_core.plugin.specs import shortened
from rpd_core.results.records import Decision, RankedDecision, Summary
from rpd_core.results.sentences import headline
from rpd_report.sentences import decisions_about

if TYPE_CHECKING:
    import pandas as pd

    from rpd_core.results.run import Run as StoredRun
    from rpd_report.tables import ShownTable

_SHOWN = 10
"""Decisions in the answer."""
_LONGEST = 300
"""Characters of a state in a table; the whole is in the decision."""
_WIDTH = 90
"""Pixels of a drawn interval."""
_COLOURS = {"needed": "#b2182b", "matters": "#b2182b", "default-better": "#2166ac"}

Row = TypeVar("Row", Decision, RankedDecision)


class Rows(tuple[Row, ...]):
    """Decisions in their order: a tuple that shows itself as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "[" + ",\n ".join(map(repr, self)) + "]"

    def _repr_html_(self) -> str:
        return decisions_as_html(self)

    def to_dataframe(self) -> pd.DataFrame:
        """Return one row per decision, one column per field; needs pandas."""
        rows = [dataclasses.asdict(one) for one in self]
        frame: pd.DataFrame = import_wanted("pandas").DataFrame(rows)
        return frame

    def to_arrow(self) -> Any:
        """Return the same as a pyarrow table."""
        import pyarrow as pa  # reading a run does without

        rows = [dataclasses.asdict(one) for one in self]
        columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
        if "key" in columns:
            columns["key"] = pa.array(columns["key"], pa.uint64())
        return pa.table(columns)

    def to_polars(self) -> Any:
        """Return the same as a polars data frame; needs polars."""
        return import_wanted("polars").from_arrow(self.to_arrow())


def answer_as_html(summary: Summary, path: Path, pictures: str = "") -> str:
    """Return the headline of an analysis, where and when it matters, and its first decisions."""
    rows = summary.decisions[:_SHOWN]
    about = (
        f"{summary.policy_spec} on {summary.env}; {summary.suite.episodes} mutant episodes in "
        f"{summary.suite.states} states, mutation rate {summary.suite.mutation_rate:g}; passed "
        f"means {summary.condition}"
    )
    parts = [
        f"<p><strong>{escape(headline(summary))}</strong></p>",
        f"<p>{escape(about)}</p>",
        pictures,
        f"<p>{escape(decisions_about(summary))}</p>",
        decisions_as_html(rows) if rows else "",
        f"<p><small>Everything is in <code>{escape(str(path))}</code></small></p>",
    ]
    return f"<div>{''.join(parts)}</div>"


def pictures_as_html(run: StoredRun) -> str:
    """Return the hero and the timeline of a run; nothing where it has none."""
    from rpd_pictures.page_drawings import page_drawing  # numerical; few look
    from rpd_pictures.svg import svg_file

    drawn = []
    for name in ("map", "timeline"):
        with suppress(RpdError):  # the run has none, or it is damaged: the words are still there
            drawn.append(svg_file(page_drawing(run, name)).decode())
    boxes = "".join(f'<div style="max-width:45rem">{one}</div>' for one in drawn)
    return f'<div style="background:#fff;color:#000">{boxes}</div>' if drawn else ""


def unfinished_as_html(path: Path, done: int, asked: int) -> str:
    """Return how far a run without a finished analysis is."""
    return (
        f"<div><p>Not finished: {done} of {asked} mutant episodes are stored in "
        f"<code>{escape(str(path))}</code></p></div>"
    )


def decisions_as_html(rows: Sequence[Decision] | Sequence[RankedDecision]) -> str:
    """Return decisions, or states of the list of a mutated policy, as a table with intervals."""
    from rpd_report.tables import decision_table, effect_table  # imports NumPy; few look

    listed = [row for row in rows if isinstance(row, RankedDecision)]
    if listed:
        return _as_html(effect_table(listed))
    return _as_html(decision_table([row for row in rows if isinstance(row, Decision)]))


def _as_html(table: ShownTable) -> str:
    headings = [*(one.heading for one in table.columns), "95 %", ""]
    head = "".join(f'<th style="text-align:left">{escape(heading)}</th>' for heading in headings)
    body = "".join(_row(table, place) for place in range(len(table.keys)))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _row(table: ShownTable, place: int) -> str:
    texts = [one.words[place] for one in table.columns]
    texts.append(table.said[place])
    cells = [_cell(shortened(text, _LONGEST)) for text in texts]
    cells.append(f"<td>{_interval(table, place)}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def _cell(text: Any) -> str:
    return f'<td style="text-align:left">{escape(str(text))}</td>'


def _interval(table: ShownTable, place: int) -> str:
    """Draw an interval, what it is for, and a line at 0."""
    scale, ends = table.scale, table.ends[place]
    zero, left, middle, right = (round(_WIDTH * scale.share(value), 1) for value in (0.0, *ends))
    words = {one.name: one.words[place] for one in table.columns}
    colour = _COLOURS.get(words[table.chosen_by], "#777")
    said = f"{words[table.drawn]}, {table.said[place]}"
    return (
        f'<svg width="{_WIDTH}" height="12" role="img" aria-label="{escape(said)}">'
        f'<line x1="{zero}" x2="{zero}" y1="0" y2="12" stroke="#aaa"/>'
        f'<line x1="{left}" x2="{right}" y1="6" y2="6" stroke="{colour}" stroke-width="2"/>'
        f'<circle cx="{middle}" cy="6" r="3.5" fill="{colour}"/></svg>'
    )
