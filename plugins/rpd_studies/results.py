"""What runs of a grid found: figures by name, from curves and answers, and their spread over seeds.

Names say what is counted and for how much of the return: `states90.portfolio` is the smallest
share of states with which some pruned policy of the paper's four measures kept 90 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.config.settings import PORTFOLIO
from rpd_core.pruning.curves import Curve, ShownCurve, mean_curve, portfolio, shown_curves
from rpd_studies.estimates import mean_interval

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray
    from rpd_core.results.records import Policy, Summary

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


NEVER = 1.0
"""What a share counts as where the target was never reached: the whole policy."""


@dataclass
class Figures:
    """Figures by name, and those of targets that were never reached."""

    values: dict[str, float] = field(default_factory=dict)
    never: list[str] = field(default_factory=list)

    def add(self, name: str, value: float | None, instead: float = NEVER) -> None:
        """Take a figure; None: the target was never reached, which counts as `instead`."""
        if value is None:
            self.never.append(name)
        self.values[name] = instead if value is None else float(value)


def add_thresholds(
    found: Figures,
    curves: Mapping[str, Curve],
    randoms: Sequence[Curve],
    targets: Mapping[str, float],
) -> None:
    """Add what each ranking, the portfolio and random rankings need for every target.

    The least share of states and the least share of steps usually belong to different policies.
    """
    several = rows_of(curves, randoms)
    for fraction, target in targets.items():
        for name, some in several.items():
            for kind, value in _least_shares(some, target).items():
                found.add(f"{kind}{_percent_of(fraction)}.{name}", value)


def rows_of(curves: Mapping[str, Curve], randoms: Sequence[Curve]) -> dict[str, list[Curve]]:
    """Return the curves behind each row of a table: of a measure, the portfolio, random ones."""
    several = {name: [curve] for name, curve in curves.items()}
    four = portfolio(curves, PORTFOLIO)
    if four:
        several["portfolio"] = four
    if randoms:
        several["random"] = [mean_curve("random", randoms)]
    return several


def _percent_of(fraction: str) -> str:
    """Return a fraction as figures name it: `0.9` is `90`."""
    return f"{100 * float(fraction):g}"


def _least_shares(curves: Sequence[Curve], target: float) -> dict[str, float | None]:
    """Return the least of each share with which some point meets a target; None: none does."""
    met = np.concatenate([curve.mean_return >= target for curve in curves])
    columns = {
        "states": [curve.shares for curve in curves],
        "steps": [curve.step_shares for curve in curves],
        "episode_steps": [curve.episode_step_shares for curve in curves],
    }
    return {name: _least(np.concatenate(some)[met]) for name, some in columns.items()}


def _least(values: FloatArray) -> float | None:
    return float(values.min()) if len(values) else None


def add_answer(found: Figures, summary: Summary) -> None:
    """Add what a whole analysis found: its returns, its list and its confirmed pruned policies."""
    found.add("return", summary.original.return_mean)
    found.add("default_everywhere", summary.original.default_everywhere)
    found.add("reference", summary.original.reference)
    found.add("passed", summary.pass_rates.suite)
    found.add("states", summary.suite.states)
    found.add("mutation_rate", summary.suite.mutation_rate)
    found.add("listed", summary.list.listed)
    found.add("matter", summary.list.verdicts.get("matters", 0))
    if summary.stability is not None and summary.stability.top10 is not None:
        found.add("top10", summary.stability.top10)
    for fraction, policy in summary.policies.items():
        _add_policy(found, _percent_of(fraction), policy, summary.suite.states)


def _add_policy(found: Figures, percent: str, policy: Policy | None, states: int) -> None:
    """Add a chosen pruned policy; one that is not confirmed counts as never reached."""
    met = policy if policy is not None and policy.met else None
    found.add(f"policy{percent}.kept", None if met is None else met.kept, states)
    found.add(f"policy{percent}.states", None if met is None else met.states)
    found.add(f"policy{percent}.steps", None if met is None else met.steps)


def curves_in_shares(
    curves: Mapping[str, Curve], randoms: Sequence[Curve], reference: float, original: float
) -> dict[str, ShownCurve]:
    """Return every curve, returns as shares of the original's."""
    found = shown_curves(curves, randoms)
    return {name: curve.rescaled(reference, original) for name, curve in found.items()}
