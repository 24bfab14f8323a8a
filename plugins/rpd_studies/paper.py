"""The paper: its tasks, settings and results as data, and our numbers beside them."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from statistics import mean, stdev
from typing import Any

from rpd_core.errors import ConfigError, nearest
from rpd_studies.results import CellResult, Failure, Grid, GridRow, Spread

ACTIONS = ("repeat", "random")
"""Default actions that the paper compares."""
FRACTIONS = ("90", "50")
"""Percent of the return that pruned policies are to keep."""
COLUMNS = {
    "states": "states{}.portfolio",
    "random_states": "states{}.random",
    "steps": "steps{}.portfolio",
    "random_steps": "steps{}.random",
}
"""Columns of its tables, and the figures behind them."""


@dataclass(frozen=True)
class Printed:
    """A figure as the paper prints it."""

    mean: float | None
    """In percent; null: the target was never reached."""
    std: float | None

    def __str__(self) -> str:
        return "never" if self.mean is None else f"{self.mean:g} ± {self.std:g}"


@dataclass(frozen=True)
class PaperTask:
    """One row of the paper's tables, and the settings behind it."""

    name: str
    env: str
    episodes: int
    mutation_rate: float
    test_episodes: int
    condition_at_least: float | None = None
    """Return that passes, as printed; null: there are no settings for this game."""
    policy_return: float | None = None
    random_return: float | None = None
    """Return of random play, where the paper measures shares from it."""
    ranking_seconds: float | None = None
    abstraction: str | None = None
    """Where it is not the one that the task recommends."""
    results: Mapping[str, Mapping[str, Printed]] = field(default_factory=dict)
    """By table (`repeat90`), then by column; a table without this task is missing."""

    @property
    def condition(self) -> str | None:
        """The printed condition, unless random play would pass it; null: the task's own.

        In most Atari games it lies below what random play earns, so that it separates nothing.
        """
        if self.condition_at_least is None:
            return None
        if self.random_return is not None and self.condition_at_least <= self.random_return:
            return None
        return f"return>={self.condition_at_least:g}"

    def settings(self) -> dict[str, Any]:
        """Return the paper's settings as those of a run."""
        found: dict[str, Any] = {
            "env": self.env,
            "episodes": self.episodes,
            "mutation_rate": self.mutation_rate,
            "test_episodes": self.test_episodes,
        }
        if self.condition is not None:
            found["condition"] = self.condition
        if self.abstraction is not None:
            found["abstraction"] = (self.abstraction,)
        return found

    def printed(self, action: str, percent: str, column: str) -> Printed | None:
        """Return a figure of the paper; None where it has none."""
        return self.results.get(f"{action}{percent}", {}).get(column)


@lru_cache(maxsize=1)
def paper_tasks() -> dict[str, PaperTask]:
    """Return every task of the paper by its name."""
    text = files("rpd_studies").joinpath("paper.toml").read_text("utf-8")
    return {row["name"]: _task(row) for row in tomllib.loads(text)["task"]}


def _task(row: dict[str, Any]) -> PaperTask:
    names = {f"{action}{percent}" for action in ACTIONS for percent in FRACTIONS}
    results = {name: _columns(row[name]) for name in names & {*row}}
    return PaperTask(**{k: v for k, v in row.items() if k not in names}, results=results)


def _columns(table: Mapping[str, Any]) -> dict[str, Printed]:
    return {
        name: Printed(None, None) if value == "never" else Printed(*map(float, value))
        for name, value in table.items()
    }


def paper_task(name: str) -> PaperTask:
    """Return a task by its name, in any case; offer the nearest where there is none."""
    known = {one.lower(): task for one, task in paper_tasks().items()}
    found = known.get(name.lower())
    if found is None:
        hint = nearest(name, paper_tasks()) or f" There are: {', '.join(paper_tasks())}."
        raise ConfigError(f"the paper has no task {name!r}.{hint}")
    return found


POINTS = 8.0
"""Percentage points by which two figures may always differ."""
_PER_EPISODE = {
    "steps": "episode_steps{}.portfolio",
    "random_steps": "episode_steps{}.random",
}
"""Shares of steps as means over episodes, which is how the paper seems to count them."""


@dataclass(frozen=True)
class Compared:
    """One figure of a table: ours over seeds, and the paper's; in percent."""

    ours: Spread | None
    """Null: every repeat failed."""
    paper: Printed | None
    """Null: the paper does not report it."""
    difference: float | None
    """Ours minus the paper's; null where one of them is missing or was never reached."""
    tolerance: float | None
    """Eight points, or twice the joint deviation where that is more."""
    within: bool | None
    """Whether they agree within that, or both never reached the target; null: no telling."""


@dataclass(frozen=True)
class ReproducedRow:
    """A task under one default action."""

    task: str
    default_action: str
    policy: str
    """As asked for; empty: the one that ships."""
    condition: str
    """The condition in force."""
    figures: Mapping[str, Mapping[str, Compared]]
    """By percent of the return, then by column of the paper's table."""
    per_episode: Mapping[str, Mapping[str, Compared]]
    """The same for shares of steps that are means over episodes, not ratios of totals."""
    original: Spread | None
    """Return of the policy."""
    reference: Spread | None
    """Return that shares are measured from."""
    passed: Spread | None
    """Share of the mutant episodes that passed, in percent."""
    ranking_seconds: Spread | None
    """Time to play a suite and to rank its states; null: it was there before."""
    results: tuple[CellResult, ...]
    failed: tuple[Failure, ...]


@dataclass(frozen=True)
class Difference:
    """What changes when the default action is random instead of repeating the last; in points."""

    task: str
    ours: Mapping[str, float | None]
    """By `states90`, `states50`, `steps90` and `steps50`; null where a target was never reached."""
    paper: Mapping[str, float | None]
    """The same from the paper's tables of results."""


@dataclass(frozen=True)
class Reproduction:
    """The paper's tables, made again."""

    folder: str
    repeats: int
    workers: int
    """Worker processes behind the times."""
    rows: tuple[ReproducedRow, ...]
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]

    @property
    def failed(self) -> int:
        """Number of rows with a repeat that failed."""
        return sum(bool(row.failed) for row in self.rows)


def reproduced_row(task: PaperTask, action: str, policy: str, row: GridRow) -> ReproducedRow:
    """Return a row of the paper's tables from a row of the grid."""
    seconds = [one.ranking_seconds for one in row.results if one.ranking_seconds is not None]
    return ReproducedRow(
        task.name,
        action,
        policy,
        row.results[0].condition if row.results else "",
        _compared_columns(task, action, row, COLUMNS),
        _compared_columns(task, action, row, _PER_EPISODE),
        row.figures.get("return"),
        row.figures.get("reference"),
        _percent(row, "passed"),
        _plain_spread(seconds),
        row.results,
        row.failed,
    )


def _compared_columns(
    task: PaperTask, action: str, row: GridRow, columns: Mapping[str, str]
) -> dict[str, dict[str, Compared]]:
    """Return columns of the paper's tables for every target, beside its figures."""
    return {
        percent: {
            column: compared(
                _percent(row, name.format(percent)), task.printed(action, percent, column)
            )
            for column, name in columns.items()
        }
        for percent in FRACTIONS
    }


def _percent(row: GridRow, name: str) -> Spread | None:
    """Return a share over seeds in percent."""
    found = row.figures.get(name)
    if found is None:
        return None
    std, low, high = (
        None if end is None else 100 * end for end in (found.std, found.low, found.high)
    )
    return Spread(100 * found.mean, std, low, high, found.seeds, found.never)


def _plain_spread(values: Sequence[float]) -> Spread | None:
    if not values:
        return None
    return Spread(mean(values), stdev(values) if len(values) > 1 else None, None, None, len(values))


def compared(ours: Spread | None, paper: Printed | None) -> Compared:
    """Compare a figure with the paper's; a target that all repeats missed is never reached."""
    if ours is None or paper is None:
        return Compared(ours, paper, None, None, None)
    never = ours.never == ours.seeds
    if never or paper.mean is None:
        return Compared(ours, paper, None, None, never and paper.mean is None)
    difference = ours.mean - paper.mean
    tolerance = max(POINTS, 2 * math.hypot(ours.std or 0.0, paper.std or 0.0))
    return Compared(ours, paper, difference, tolerance, abs(difference) <= tolerance)


def differences_of(rows: Sequence[ReproducedRow]) -> tuple[Difference, ...]:
    """Return how the two default actions differ, for tasks that have both."""
    by_task: dict[str, dict[str, ReproducedRow]] = {}
    for row in rows:
        by_task.setdefault(row.task, {})[row.default_action] = row
    found = []
    for task, pair in by_task.items():
        if {"repeat", "random"} <= {*pair}:
            ours, paper = {}, {}
            for column in ("states", "steps"):
                for percent in FRACTIONS:
                    two = [pair[one].figures[percent][column] for one in ("repeat", "random")]
                    ours[f"{column}{percent}"] = _gap([_mean(one.ours) for one in two])
                    theirs = [None if one.paper is None else one.paper.mean for one in two]
                    paper[f"{column}{percent}"] = _gap(theirs)
            found.append(Difference(task, ours, paper))
    return tuple(found)


def _mean(found: Spread | None) -> float | None:
    return None if found is None or found.never == found.seeds else found.mean


def _gap(pair: Sequence[float | None]) -> float | None:
    before, after = pair
    return None if before is None or after is None else after - before


def reproduction(
    grid: Grid, tasks: Sequence[tuple[PaperTask, str, str]], workers: int, notes: Sequence[str]
) -> Reproduction:
    """Put the paper's tables together; `tasks` are (task, default action, policy) row by row."""
    rows = tuple(
        reproduced_row(task, action, policy, row)
        for (task, action, policy), row in zip(tasks, grid.rows, strict=True)
    )
    found = differences_of(rows)
    return Reproduction(grid.folder, len(grid.seeds), workers, rows, found, tuple(notes))
