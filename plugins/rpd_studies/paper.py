"""The paper's evaluation as data: its tasks, settings and results, carried in `paper.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any

from rpd_core.errors import ConfigError, nearest

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
