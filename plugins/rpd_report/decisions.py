"""The list of a mutated policy as far as the page shows it."""

from __future__ import annotations

from dataclasses import dataclass

from rpd_core.analysis.verdicts import Decisions
from rpd_core.errors import RpdError, one_line
from rpd_core.results.decisions import ranked_rows
from rpd_core.results.records import RankedDecision
from rpd_core.results.run import Run
from rpd_core.store.files import file_stem

MOST_ROWS = 10_000
"""Rows in a table of the page."""


@dataclass(frozen=True)
class Listed:
    """The first states of the list, and where the others are."""

    rows: tuple[RankedDecision, ...]
    """Those of the table, in order."""
    total: int
    """States in the whole list."""
    file: str
    """The file of the run, from its directory, that ranks all states."""
    judged: Decisions | None
    """Every state judged; None where the stored suite cannot be counted again."""
    note: str = ""
    """Why only what the summary holds is shown; empty if all can be."""

    @property
    def left_out(self) -> int:
        """States that are not in the table."""
        return max(self.total - len(self.rows), 0)


def read_list(run: Run, most: int = MOST_ROWS) -> Listed:
    """Read the first states; where they cannot be judged again, those of the summary."""
    summary, note = run.summary, ""
    judged: Decisions | None = None
    rows = summary.ranking[:most]
    if summary.list.listed:
        try:
            judged = run.decided()
            first, names = judged.listed()[:most], run.directory.names()
            found = ranked_rows(judged, first, run.analysis.stored, names, run.decision_keys)
            rows = summary.ranking[:most] + found[len(summary.ranking) :]
        except RpdError as error:  # of a component that is not here, or may not run
            judged, note = None, one_line(error)
    measure = summary.list.measure
    file = f"analyses/{run.name}/rankings/{file_stem(measure)}.parquet"
    return Listed(rows, summary.list.listed, file, judged, note)
