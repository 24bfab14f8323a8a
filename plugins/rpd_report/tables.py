"""Tables of the page: the decisions of the smallest policy, and the list of a mutated policy.

Columns are those that every table of such records has; the page adds pictures and drawn intervals.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from rpd_core.results.records import Decision, RankedDecision, columns_of_table
from rpd_core.results.sentences import without_words
from rpd_core.results.words import few, signed
from rpd_report.drawings import Scale, interval_drawing
from rpd_report.markup import codes, packed, rounded
from rpd_report.sentences import loss_words

_LONGEST = 400
"""Characters of a cell."""
_FITTED = 50
"""Rows whose intervals are drawn in full; those of others may reach beyond the scale."""


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    """The field of the record."""
    heading: str
    """What stands above it."""
    words: tuple[str, ...]
    """Its cells."""
    numbers: tuple[float, ...] | None
    """What it is sorted by; None: the words."""


@dataclass(frozen=True)
class ShownTable:
    """A table that can be sorted, searched and narrowed down."""

    name: str
    """In addresses of the page."""
    caption: str
    """What it holds, in words."""
    keys: tuple[int, ...]
    """Key of the state of each row."""
    columns: tuple[Column, ...]
    drawn: str
    """The column whose interval is drawn."""
    ends: tuple[tuple[float, float, float], ...]
    """Lower end, estimate and upper end of each."""
    said: tuple[str, ...]
    """The ends in words."""
    chosen_by: str
    """The column that the rows shown can be chosen by."""

    @property
    def choices(self) -> list[tuple[str, int]]:
        """What rows can be chosen by, and how many there are of each."""
        column = next(one for one in self.columns if one.name == self.chosen_by)
        return list(Counter(column.words).items())

    @property
    def scale(self) -> Scale:
        """Where intervals are drawn."""
        known = [end for one in self.ends[:_FITTED] for end in one if math.isfinite(end)]
        return Scale(min([0.0, *known]), max([0.0, *known]))

    def drawing(self, row: int) -> Markup:
        """Return the drawn interval of a row."""
        return interval_drawing(self.scale, *self.ends[row])

    def data(self) -> Markup:
        """Return all rows for the script of the page, packed."""
        scale = self.scale
        columns = [
            {
                "name": one.name,
                "heading": one.heading,
                **codes(one.words),
                "numbers": None if one.numbers is None else rounded(one.numbers),
            }
            for one in self.columns
        ]
        content = {
            "keys": [f"{key:016x}" for key in self.keys],
            "columns": columns,
            "drawn": self.drawn,
            "ends": [rounded(one) for one in self.ends],
            "said": self.said,
            "scale": [scale.low, scale.high],
            "chosenBy": self.chosen_by,
        }
        return Markup(packed(content))  # letters, digits, + and /: nothing that needs escaping


def decision_table(rows: Sequence[Decision]) -> ShownTable:
    """Return the decisions of a smallest policy as a table."""
    return ShownTable(
        name="decisions",
        caption="Decisions of the smallest policy, by loss",
        keys=tuple(row.key for row in rows),
        columns=_columns(Decision, rows, {"loss": loss_words, "return_without": without_words}),
        drawn="loss",
        ends=tuple((row.loss_low, row.loss, row.loss_high) for row in rows),
        said=tuple(f"{few(row.loss_low)} to {few(row.loss_high)}" for row in rows),
        chosen_by="needed",
    )


def effect_table(rows: Sequence[RankedDecision]) -> ShownTable:
    """Return the first states of the list of a mutated policy as a table."""
    return ShownTable(
        name="effects",
        caption="Effects in a mutated policy",
        keys=tuple(row.key for row in rows),
        columns=_columns(RankedDecision, rows, {}),
        drawn="effect",
        ends=tuple((row.low, row.effect, row.high) for row in rows),
        said=tuple(f"{signed(row.low)} to {signed(row.high)}" for row in rows),
        chosen_by="verdict",
    )


def _columns(
    record: type[Decision | RankedDecision],
    rows: Sequence[Any],
    other: Mapping[str, Callable[[Any], str]],
) -> tuple[Column, ...]:
    """Return the columns of some records; `other` words a column from the whole row."""
    made = []
    for one in columns_of_table(record):
        values = [getattr(row, one.name) for row in rows]
        words = map(other[one.name], rows) if one.name in other else map(one.words, values)
        cells = tuple(map(_cut, words))
        made.append(Column(one.name, one.heading or "#", cells, _numbers(values)))
    return tuple(made)


def _numbers(values: Sequence[Any]) -> tuple[float, ...] | None:
    """Return what a column is sorted by, where it holds numbers; nothing is not a number."""
    if any(isinstance(value, str) for value in values):
        return None
    return tuple(math.nan if value is None else float(value) for value in values)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
