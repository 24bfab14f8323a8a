"""Results of cells -> rows with means, deviations and intervals over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rpd_studies.estimates import mean_interval
from rpd_studies.results import CellResult, Failure, GridRow, Spread


def row_of(
    cell: int,
    settings: Mapping[str, str],
    results: Sequence[CellResult],
    failed: Sequence[Failure],
) -> GridRow:
    """Return the row of a cell; a figure that a finished seed lacks is left out."""
    names = list(results[0].figures) if results else []
    complete = [name for name in names if all(name in one.figures for one in results)]
    figures = {name: spread_of(name, results) for name in complete}
    return GridRow(cell, settings, figures, tuple(results), tuple(failed))


def spread_of(name: str, results: Sequence[CellResult]) -> Spread:
    """Return a figure over seeds."""
    values = np.array([one.figures[name] for one in results], dtype=np.float64)
    found = mean_interval(values)
    std = float(values.std(ddof=1)) if len(values) > 1 else None
    never = sum(name in one.never for one in results)
    return Spread(found.estimate, std, found.low, found.high, len(values), never)
