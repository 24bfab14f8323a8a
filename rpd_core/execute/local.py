"""The executor that everybody has: processes of this machine, or this very process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rpd_core.execute.processes import Crew
from rpd_core.play.jobs import close_players
from rpd_core.plugin.protocols import Engine, Outcome, WorkQueue


def usable_cores() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class LocalProcesses:
    """Worker processes on this machine; with one worker everything runs in this process."""

    @contextmanager
    def open(self, workers: int) -> Iterator[Engine]:
        """Start workers when there is work for them; end them, and close environments, at last."""
        if workers == 1:
            try:
                yield ThisProcess()
            finally:
                close_players()
            return
        crew = Crew(workers)
        try:
            yield crew
        finally:
            crew.dismiss()


class ThisProcess:
    """Does one item after the other, here."""

    def execute(self, queue: WorkQueue) -> Iterator[Outcome]:
        """Yield outcomes as they come."""
        while (item := queue.take()) is not None:
            yield Outcome(item.identity, item())
