"""Where a run happens: its setup, its directory, and who does the work."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from rpd_core.config import Setup
from rpd_core.execution import LocalProcesses
from rpd_core.registry import Registry
from rpd_core.rollout import Recipe
from rpd_core.store import RunDirectory
from rpd_core.work import Executor

Progress = Callable[[str, int, int], None]
"""Told (stage, done, total) as work is finished."""


@dataclass
class Workshop:
    """Where a run happens: its setup, its directory, and who does the work."""

    setup: Setup
    directory: RunDirectory
    registry: Registry
    executor: Executor = dataclasses.field(default_factory=LocalProcesses)
    workers: int = 1
    progress: Progress = lambda stage, done, total: None

    @property
    def recipe(self) -> Recipe:
        return self.setup.recipe
