"""Where a run happens: its setup, its directory, and who does the work."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rpd_core.config.configuration import Setup
from rpd_core.errors import EpisodeError
from rpd_core.execute.local import LocalProcesses, run_items
from rpd_core.execute.processes import dismiss_workers
from rpd_core.execute.work import Executor, WorkItem
from rpd_core.play.jobs import close_players
from rpd_core.play.loop import Recipe
from rpd_core.plugin.registry import Registry
from rpd_core.store.directory import RunDirectory

FAILED = "failed-episode.json"
"""Where the last episode that could not be finished is kept."""
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

    @contextmanager
    def working(self) -> Iterator[None]:
        """Keep others out of the directory; afterwards, leave no process or environment open."""
        try:
            with self.directory.lock():
                yield
        finally:
            dismiss_workers()
            close_players()

    def run(self, items: Iterable[WorkItem], handle: Callable[[WorkItem, Any], None]) -> None:
        """Run items of work and hand each result on as it comes."""
        with self.keeping_failures():
            run_items(self.executor, self.workers, items, handle)

    @contextmanager
    def keeping_failures(self) -> Iterator[None]:
        """Leave what it takes to play an episode again that could not be finished."""
        kept = self.directory.path / FAILED
        kept.unlink(missing_ok=True)
        try:
            yield
        except EpisodeError as error:
            if error.episode is not None:
                account = {"error": str(error), **dataclasses.asdict(error.episode)}
                self.directory.write_json(FAILED, account)
                error.add(f"; its actions are in {kept}")
            raise
