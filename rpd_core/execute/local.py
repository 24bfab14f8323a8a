"""The executor that everybody has: processes of this machine, or this very process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rpd_core.errors import SpecError
from rpd_core.execute.items import perform
from rpd_core.execute.processes import LocalWorkers
from rpd_core.play import heartbeat
from rpd_core.play.chunks import close_players
from rpd_core.play.heartbeat import STALL_TIMEOUT, Watch, watched
from rpd_core.plugin.protocols import Engine, Outcome, WorkQueue


def usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class LocalProcesses:
    """Worker processes on this machine; with one worker, this very process."""

    stall_timeout: float = STALL_TIMEOUT
    """Seconds without progress after which a worker process is ended."""
    isolate: bool = False
    """Whether one worker is a process of its own, too, so that it can be ended when it hangs."""

    def __post_init__(self) -> None:
        if not 0 < self.stall_timeout < float("inf"):
            raise SpecError(f"stall_timeout must be above 0 seconds, got {self.stall_timeout:g}")

    @contextmanager
    def open(self, workers: int) -> Iterator[Engine]:
        """Start workers when there is work for them; end them, and close environments, at last."""
        if workers == 1 and not self.isolate:
            try:
                yield ThisProcess()
            finally:
                close_players()
            return
        started = LocalWorkers(workers, self.stall_timeout, eager=False)
        try:
            yield started
        finally:
            started.dismiss()


class ThisProcess:
    """Does one item after the other, here."""

    def execute(self, queue: WorkQueue) -> Iterator[Outcome]:
        while (item := queue.take()) is not None:
            watch = Watch(heartbeat.numbers(), float("inf"))  # it cannot be ended from here
            with watched(watch, item.label or item.identity, str):
                outcome = perform(item, portable=False)
            yield outcome
