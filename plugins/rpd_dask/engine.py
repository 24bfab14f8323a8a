"""An opened Dask cluster: what is under way, and what becomes of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from distributed import Client, Future, KilledWorker, get_worker

from rpd_core import Outcome, WorkItem, WorkQueue, contents
from rpd_core.errors import ExecutionError, one_line
from rpd_core.execute.cluster import PackedItem, PackedOutcome, Sender, cluster_workers, outcome_of
from rpd_core.execute.items import CannotShip

_LOOK_EVERY = 1.0
"""Seconds between two looks at the cluster while nothing comes back."""
_COUNT_EVERY = 2.0
"""Seconds between two counts of its workers."""
_PATIENCE = 15.0
"""Seconds without any worker after which it is said."""
_AHEAD = 1
"""Items under way for each thread of a worker: one that waited there would be lost with it."""
_DELIVERIES = 3
"""How often an item may find that its files are not there yet."""

log = logging.getLogger("rpd")


def do_there(packed: PackedItem) -> PackedOutcome:
    """Do an packed, on a worker."""
    outcome = cluster_workers.do(packed)
    return PackedOutcome(lacking=True, place=get_worker().address) if outcome.lacking else outcome


def _keep_there(owner: str, shipped: Mapping[str, bytes]) -> None:
    """Keep files for a run, on a worker."""
    cluster_workers.keep(owner, shipped)


def _dismiss_there(owner: str) -> None:
    """End what works for a run, on a worker."""
    cluster_workers.dismiss(owner)


@dataclass
class _Sent:
    """An item under way."""

    item: WorkItem
    packed: PackedItem
    future: Future = None
    deliveries: int = 0


class DaskEngine:
    """Sends items to a cluster, at most as many as it can do at a time."""

    def __init__(self, connect: Callable[[], Client], stall_timeout: float) -> None:
        self._connect, self._sender = connect, Sender(stall_timeout)
        self._client: Client | None = None
        self._number = 0
        self._threads, self._counted = 0, float("-inf")
        self._alone_since: float | None = None
        self._delivered: set[tuple[str, tuple[str, ...]]] = set()
        """Which workers have got which files."""

    def connect(self) -> Client:
        """Return the client, made when it is first needed."""
        if self._client is None:
            self._client = self._connect()
        return self._client

    def execute(self, queue: WorkQueue) -> Iterator[Outcome]:
        """Yield outcomes as they come."""
        running: dict[str, _Sent] = {}
        arrived: SimpleQueue[tuple[str, PackedOutcome | BaseException]] = SimpleQueue()
        try:
            while True:
                yield from self._hand_out(queue, running, arrived)
                if not running:
                    return
                with suppress(Empty):
                    key, outcome = arrived.get(timeout=_LOOK_EVERY)
                    sent = running.pop(key)
                    if isinstance(outcome, PackedOutcome) and outcome.lacking:
                        self._deliver(sent, outcome.place)
                        self._send(sent, running, arrived)
                    else:
                        yield self._outcome(sent, outcome)
                self._check()
        finally:
            self._forget(running)

    def dismiss(self) -> None:
        """End what works for this engine; where a cluster does not answer, it does so by itself."""
        if self._client is not None and self._client.status == "running":
            with suppress(Exception):
                self._client.run(_dismiss_there, self._sender.owner, on_error="ignore")

    def _hand_out(
        self,
        queue: WorkQueue,
        running: dict[str, _Sent],
        arrived: SimpleQueue[tuple[str, PackedOutcome | BaseException]],
    ) -> Iterator[Outcome]:
        while len(running) < self._room() and (item := queue.take()) is not None:
            try:
                packed = self._sender.pack(item)
            except CannotShip as error:
                yield Outcome(item.identity, error=error)
            else:
                self._send(_Sent(item, packed), running, arrived)

    def _send(
        self,
        sent: _Sent,
        running: dict[str, _Sent],
        arrived: SimpleQueue[tuple[str, PackedOutcome | BaseException]],
    ) -> None:
        self._number += 1  # a key is never used again: what came of an older one is not heard
        key = f"rpd-{self._sender.owner}-{self._number}"
        client = self.connect()
        sent.future = client.submit(do_there, sent.packed, key=key, pure=False, retries=0)
        running[key] = sent
        sent.future.add_done_callback(lambda future: arrived.put((key, _result(future))))

    def _deliver(self, sent: _Sent, place: str) -> None:
        """Send the files of an item to a worker that has not got them."""
        sent.deliveries += 1
        if sent.deliveries > _DELIVERIES:
            raise ExecutionError(
                f"the Dask worker at {place} does not keep the files of {sent.packed.label}: "
                "restart it"
            )
        if (place, sent.packed.files) in self._delivered:
            return  # it found out before they came
        shipped = contents(sent.item.files)
        with suppress(Exception):  # the worker may have died; then another one asks
            self.connect().run(_keep_there, self._sender.owner, shipped, workers=[place])
            self._delivered.add((place, sent.packed.files))

    def _outcome(self, sent: _Sent, outcome: PackedOutcome | BaseException) -> Outcome:
        if isinstance(outcome, PackedOutcome):
            return outcome_of(sent.item, outcome)
        told, lost = self._trouble(outcome)
        return Outcome(sent.item.identity, error=ExecutionError(told), lost=lost)

    def _trouble(self, error: BaseException) -> tuple[str, bool]:
        """Return what an error of Dask's means, and whether another try may succeed."""
        if isinstance(error, KilledWorker):
            place = getattr(error.last_worker, "address", "an unknown address")
            return f"the Dask worker at {place} died (memory may have run out)", True
        if isinstance(error, CancelledError):
            self._check()
            return f"the Dask cluster dropped the work ({one_line(error)})", True
        return (
            f"a Dask worker cannot do the work ({one_line(error)}): install there what is "
            "installed here",
            False,
        )

    def _check(self) -> None:
        """Raise if the scheduler has gone."""
        client = self.connect()
        if client.status != "running":
            raise self._gone(client)

    def _gone(self, client: Client) -> ExecutionError:
        address = getattr(client.scheduler, "address", "") or "its address"
        return ExecutionError(
            f"the Dask scheduler at {address} has gone: finished parts are kept; run the same "
            "command again when it is back, or with another --executor"
        )

    def _room(self) -> int:
        """Return how many items may be under way; a few even before the first worker joins."""
        now = time.monotonic()
        if now - self._counted > _COUNT_EVERY:
            client = self.connect()
            try:
                self._threads = sum(client.nthreads().values())
            except Exception as error:
                raise self._gone(client) from error
            self._counted = now
            self._say_if_alone(now)
        return max(_AHEAD * self._threads, _AHEAD)

    def _say_if_alone(self, now: float) -> None:
        if self._threads:
            self._alone_since = None
        elif self._alone_since is None:
            self._alone_since = now
        elif now - self._alone_since > _PATIENCE:
            log.warning("no Dask worker has joined the scheduler: waiting for one")
            self._alone_since = float("inf")  # once is enough

    def _forget(self, running: dict[str, _Sent]) -> None:
        """Have the cluster drop what nobody waits for."""
        futures = [sent.future for sent in running.values()]
        if futures and self._client is not None:
            with suppress(Exception):  # it may have gone
                self._client.cancel(futures, force=True)


def _result(future: Future) -> PackedOutcome | BaseException:
    """Return what a future that is done holds; called in a thread of the client's."""
    try:
        outcome: PackedOutcome = future.result()
        return outcome
    except BaseException as error:
        return error
