"""One engine for many runs: workers start once, however many directories their work is for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rpd_core.plugin.blame import gave_instead, lacks_of_kind, require
from rpd_core.plugin.protocols import Engine, Executor


@dataclass(frozen=True)
class Standing:
    """An executor whose engine somebody else has opened, and closes."""

    engine: Engine
    """Does the work of one run after the other."""
    workers: int
    """Workers that it was opened with."""
    behind: Executor
    """What it was opened from, for work that cannot leave this process."""

    @property
    def stall_timeout(self) -> float | None:
        """Seconds without progress after which work is given up, where that can be set."""
        found: float | None = getattr(self.behind, "stall_timeout", None)
        return found

    @contextmanager
    def open(self, workers: int) -> Iterator[Engine]:
        """Yield the open engine; one of its own where the work takes another number of workers."""
        if workers == self.workers:
            yield self.engine
            return
        with self.behind.open(workers) as engine:
            yield engine


@contextmanager
def standing(executor: Executor, workers: int) -> Iterator[Standing]:
    """Open an executor for many runs."""
    require("executor", executor, lacks_of_kind("executor", executor))
    with executor.open(workers) as engine:
        require("executor", executor, gave_instead("failed: open()", engine, Engine))
        yield Standing(engine, workers, executor)
