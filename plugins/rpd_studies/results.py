"""What a grid of runs found, typed: the content of its stored cells and of `--json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rpd_core.pruning.curves import ShownCurve
from rpd_studies.estimates import mean_interval

SCHEMA = 2
"""Of the stored results of cells."""


@dataclass(frozen=True)
class CellResult:
    """What one cell found with one seed."""

    seed: int
    path: str
    """The run directory, inside the folder of the grid."""
    figures: Mapping[str, float]
    """By name; one that was not measured is missing."""
    never: tuple[str, ...] = ()
    """Figures of a target that was never reached: they count as the whole policy."""
    curves: Mapping[str, ShownCurve] = field(default_factory=dict)
    """By ranking, returns as shares of the policy's; `random` is the mean of the random ones."""
    condition: str = ""
    """The condition in force, in words."""
    ranking_seconds: float | None = None
    """What it took to play the suite and to rank its states; null: not measured.

    No figure, since it is another one each time.
    """
    schema: int = SCHEMA


@dataclass(frozen=True)
class Failure:
    """Why a cell found nothing with one seed."""

    seed: int
    why: str


@dataclass(frozen=True)
class Spread:
    """A figure over seeds."""

    mean: float
    std: float | None
    """Standard deviation between seeds (n - 1); null for one seed."""
    low: float | None
    """Lower end of the 95 % interval of the mean, by Student's t; null for one seed."""
    high: float | None
    """Upper end of the same."""
    seeds: int
    """Number of seeds."""
    never: int = 0
    """Seeds on which the target was never reached; they count as the whole policy."""


@dataclass(frozen=True)
class GridRow:
    """One cell over all its seeds."""

    cell: int
    """Its number, from 1."""
    settings: Mapping[str, str]
    """What the file says of it, where cells may differ."""
    figures: Mapping[str, Spread]
    """By name; only those that every seed which was finished has."""
    results: tuple[CellResult, ...]
    """By seed."""
    failed: tuple[Failure, ...]
    """Seeds that failed, and why."""


@dataclass(frozen=True)
class Grid:
    """Many runs in one table."""

    name: str
    folder: str
    """Where the runs and the tables lie."""
    seeds: tuple[int, ...]
    finish: str
    """How far each run went: `answer` or `sweep`."""
    common: Mapping[str, str]
    """Settings of every cell."""
    show: tuple[str, ...]
    """Figures that tables for people show."""
    rows: tuple[GridRow, ...]

    @property
    def failed(self) -> int:
        """Number of cells with a seed that failed."""
        return sum(bool(row.failed) for row in self.rows)

    @property
    def varied(self) -> tuple[str, ...]:
        """Names of the settings that tell the cells apart."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.settings))


def row_of(
    cell: int,
    settings: Mapping[str, str],
    results: Sequence[CellResult],
    failed: Sequence[Failure],
) -> GridRow:
    """Return the row of a cell; a figure that a finished seed lacks is left out."""
    names = list(results[0].figures) if results else []
    complete = [name for name in names if all(name in one.figures for one in results)]
    figures = {name: _spread_of(name, results) for name in complete}
    return GridRow(cell, settings, figures, tuple(results), tuple(failed))


def _spread_of(name: str, results: Sequence[CellResult]) -> Spread:
    """Return a figure over seeds."""
    values = np.array([one.figures[name] for one in results], dtype=np.float64)
    found = mean_interval(values)
    std = float(values.std(ddof=1)) if len(values) > 1 else None
    never = sum(name in one.never for one in results)
    return Spread(found.estimate, std, found.low, found.high, len(values), never)
