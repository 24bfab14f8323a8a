"""The Python face of grids."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rpd_core.api import Call, tidy
from rpd_core.errors import ConfigError
from rpd_core.plugin.registry import installed
from rpd_core.store.files import file_stem
from rpd_core.store.places import RUNS
from rpd_studies.plan import Plan, plan_of, read_plan
from rpd_studies.playing import Work, play_grid
from rpd_studies.results import Grid

HOW = ("out", "workers", "executor", "trust_policy", "progress", "note")
"""Arguments of `run` that a grid has, too."""


def grid(plan: str | os.PathLike[str] | Mapping[str, Any], **how: Any) -> Grid:
    """Play a grid of settings and seeds, each cell a run, and return its table.

    `plan` is a TOML file, or a mapping of the same shape. `out` is the folder of the runs and the
    tables; `workers`, `executor`, `trust_policy`, `progress` and `note` are as for `run`. A cell
    that fails is a row that says why; what was finished before is not played again.
    """
    return play_grid(work_for(_plan(plan), call_for_grid("grid", how)))


def _plan(plan: str | os.PathLike[str] | Mapping[str, Any]) -> Plan:
    if isinstance(plan, Mapping):
        return plan_of(plan, installed())
    return read_plan(Path(plan), installed())


def call_for_grid(function: str, how: dict[str, Any]) -> Call:
    """Return what all runs of a grid have in common."""
    for name in how:
        if name not in HOW:
            raise ConfigError(
                f"{function}() has no argument {name!r}: settings stand in the plan; there are "
                f"{', '.join(HOW)}"
            )
    return Call(**tidy(function, how), finish=())


def work_for(plan: Plan, call: Call, **more: Any) -> Work:
    """Return a plan with where and how it is carried out."""
    folder = RUNS / f"grid_{file_stem(plan.name)}" if call.out is None else Path(call.out)
    return Work(plan, folder, call, **more)
