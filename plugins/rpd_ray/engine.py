"""An opened Ray cluster: what is under way, and what becomes of it."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import ray
from ray import exceptions

from rpd_core import Outcome, WorkItem, WorkQueue, contents
from rpd_core.errors import ExecutionError, one_line
from rpd_core.execute.cluster import PackedItem, PackedOutcome, Sender, cluster_workers, outcome_of
from rpd_core.execute.items import CannotShip

_LOOK_EVERY = 1.0
"""Seconds between two looks at the cluster while nothing comes back."""
_COUNT_EVERY = 2.0
"""Seconds between two counts of its cores."""
_GRACE = 10.0
"""Seconds without an answer after which the cluster counts as gone; Ray would wait for 60."""
_AHEAD = 2
"""Items under way for each core: one that is done, one that waits."""
_DIED = (
    exceptions.WorkerCrashedError,
    exceptions.OutOfMemoryError,
    exceptions.NodeDiedError,
    exceptions.ObjectLostError,
    exceptions.TaskCancelledError,
)
"""What Ray says of work whose worker, machine or result is lost."""
_GONE = (
    exceptions.RaySystemError,
    exceptions.RpcError,
    exceptions.LocalRayletDiedError,
)
"""What it says when it has itself ended."""


def do_there(packed: PackedItem, shipped: list[Any]) -> PackedOutcome:
    """Do an packed, on a worker; its files are fetched when its process has not got them."""
    return cluster_workers.do(packed, lambda: ray.get(shipped[0]) if shipped else {})


class RayEngine:
    """Sends items to a cluster, at most twice as many as it can do at a time."""

    def __init__(self, connect: Callable[[], None], sender: Sender) -> None:
        self._connect, self._sender = connect, sender
        self._remote: Any = None
        self._files: dict[tuple[str, ...], Any] = {}
        """Sets of files that lie in the cluster's store."""
        self._cores, self._counted = 0, float("-inf")
        self._door = "", 0
        self._seen = 0.0
        self.gone = False
        """Whether the cluster has gone: then Ray must not be asked for anything more."""

    def connect(self) -> None:
        """Join or start the cluster, when it is first needed."""
        if self._remote is None:
            self._connect()
            self._remote = ray.remote(num_cpus=1, max_retries=0)(do_there)
            host, _, port = ray.get_runtime_context().gcs_address.rpartition(":")
            self._door, self._seen = (host, int(port)), time.monotonic()

    def execute(self, queue: WorkQueue) -> Iterator[Outcome]:
        """Yield outcomes as they come."""
        running: dict[Any, WorkItem] = {}
        try:
            while True:
                yield from self._hand_out(queue, running)
                if not running:
                    return
                for reference in self._done(running):
                    yield self._outcome(running.pop(reference), reference)
        finally:
            for reference in running if not self.gone else ():  # nobody waits for it any more
                with suppress(Exception):
                    ray.cancel(reference)

    def _hand_out(self, queue: WorkQueue, running: dict[Any, WorkItem]) -> Iterator[Outcome]:
        while len(running) < self._room() and (item := queue.take()) is not None:
            try:
                packed = self._sender.pack(item)
            except CannotShip as error:
                yield Outcome(item.identity, error=error)
            else:
                self.connect()
                running[self._remote.remote(packed, self._shipped(item, packed))] = item

    def _shipped(self, item: WorkItem, packed: PackedItem) -> list[Any]:
        """Return the files of an item, put into the cluster's store once for each set.

        In a list Ray hands them on as they are, to be fetched by whoever needs them.
        """
        if not item.files:
            return []
        if packed.files not in self._files:
            self._files[packed.files] = ray.put(contents(item.files))
        return [self._files[packed.files]]

    def _done(self, running: dict[Any, WorkItem]) -> list[Any]:
        try:
            done: list[Any] = ray.wait(list(running), num_returns=1, timeout=_LOOK_EVERY)[0]
        except _GONE as error:
            raise self._has_gone(error) from error
        return done

    def _outcome(self, item: WorkItem, reference: Any) -> Outcome:
        try:
            return outcome_of(item, ray.get(reference))
        except _DIED as error:
            told = ExecutionError(f"the Ray worker died ({one_line(error)})")
            return Outcome(item.identity, error=told, lost=True)
        except _GONE as error:
            raise self._has_gone(error) from error
        except Exception as error:  # of the worker's installation
            told = ExecutionError(
                f"a Ray worker cannot do the work ({one_line(error)}): install there what is "
                "installed here"
            )
            return Outcome(item.identity, error=told)

    def _room(self) -> int:
        """Return how many items may be under way; a few even before the first machine joins."""
        now = time.monotonic()
        if self._remote is not None and now - self._counted > _COUNT_EVERY and self._answers(now):
            self._cores = int(ray.cluster_resources().get("CPU", 0))
            self._counted = now
        return max(_AHEAD * self._cores, _AHEAD)

    def _answers(self, now: float) -> bool:
        """Return whether the cluster's head answers; raise if it has not for long."""
        try:
            socket.create_connection(self._door, _LOOK_EVERY).close()
        except OSError as error:
            if now - self._seen > _GRACE:
                raise self._has_gone(error) from error
            return False
        self._seen = now
        return True

    def _has_gone(self, error: BaseException) -> ExecutionError:
        self.gone = True
        return ExecutionError(
            f"the Ray cluster has gone ({one_line(error)}): finished parts are kept; run the same "
            "command again when it is back, or with another --executor"
        )
