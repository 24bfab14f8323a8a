"""Work on behalf of an engine: what travels to its workers, and the processes that do it there.

The worker of an engine hands each item to a process of its own, the same that does local work: it
is ended when it hangs, and with it everything that its environments started.
"""

from __future__ import annotations

import socket
import sys
import threading
import time
import types
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import process, util
from multiprocessing.connection import wait

from rpd_core.errors import ExecutionError
from rpd_core.execute.items import deliver, packed
from rpd_core.execute.processes import LOOK_EVERY, Worker, unpacked
from rpd_core.plugin.protocols import Outcome, WorkItem

IDLE = 60.0
"""Seconds after which processes of a run that sends no more work are ended: it may be dead."""
_LOOKS = 5.0  # seconds between two looks for such processes


@dataclass(frozen=True)
class PackedItem:
    """An item on its way to the worker of an engine, which need not understand it."""

    identity: str
    label: str
    content: bytes
    """The packed item."""
    files: tuple[str, ...]
    """Digests of the files that it reads."""
    owner: str
    """The opened engine that sends it."""
    stall_timeout: float
    """Seconds without progress after which its process is ended."""
    path: tuple[str, ...] = ()
    """Where modules lie at home, for workers on the same machine."""


@dataclass(frozen=True)
class PackedOutcome:
    """What became of an item."""

    content: bytes | None = None
    """The pickled outcome, compressed."""
    error: str = ""
    """Why there is none."""
    lost: bool = False
    """The process died; another may succeed."""
    lacking: bool = False
    """The worker has not got the files yet: send them and try again."""
    place: str = ""
    """The worker, as its engine calls it."""


Fetch = Callable[[], Mapping[str, bytes] | None]
"""Returns contents of files by digest; None where they have not come yet."""


@dataclass(frozen=True)
class Sender:
    """An opened engine: what all of its items have in common."""

    stall_timeout: float
    path: tuple[str, ...] = ()
    owner: str = field(default_factory=lambda: uuid.uuid4().hex)

    def pack(self, item: WorkItem) -> PackedItem:
        """Return an item ready to travel, or raise `CannotShip`."""
        files = tuple(file.digest for file in item.files)
        how = self.owner, self.stall_timeout, self.path
        return PackedItem(item.identity, item.label or item.identity, packed(item), files, *how)


def outcome_of(item: WorkItem, packed: PackedOutcome) -> Outcome:
    if packed.content is not None:
        return unpacked(item, zlib.decompress(packed.content))
    return Outcome(item.identity, error=ExecutionError(packed.error), lost=packed.lost)


class _FiledWorker:
    """A worker process of one run, and the files that it has got."""

    def __init__(self, stall_timeout: float) -> None:
        self.process = Worker(stall_timeout)
        self.files: set[str] | None = None  # None: it knows nothing yet

    def do(self, item: PackedItem, fetch: Fetch) -> PackedOutcome:
        """Do an item, with its files delivered before it."""
        if self.files is None or not self.files >= {*item.files}:
            shipped = fetch() if item.files else {}
            if shipped is None:
                return PackedOutcome(lacking=True)
            first = WorkItem(item.identity, _prepare, (item.path, dict(shipped)))
            outcome = self._ask(item, packed(first))
            if outcome_of(first, outcome).error is not None:  # a disk may be full
                return outcome
            self.files = (self.files or set()) | {*shipped}
        return self._ask(item, item.content)

    def _ask(self, item: PackedItem, content: bytes) -> PackedOutcome:
        """Hand the process something to do and wait until it has done so, died or given up."""
        process, host = self.process, socket.gethostname()
        if process.give(WorkItem(item.identity, str, None, item.label), content):
            while not process.speaks():
                wait([process.pipe], LOOK_EVERY)
                report = process.hangs()
                if report:
                    process.give_up()
                    return PackedOutcome(error=f"{report} (the worker is on {host})")
            _, outcome = process.receive()
            if outcome is not None:
                return PackedOutcome(zlib.compress(outcome, 1))  # a sixth of its size, cheaply
        return PackedOutcome(error=f"the worker process on {host} {process.end()}", lost=True)


def _prepare(needs: tuple[tuple[str, ...], dict[str, bytes]]) -> None:
    path, shipped = needs
    sys.path += [place for place in path if place not in sys.path]
    deliver(shipped)


@dataclass
class _RunWorkers:
    """The processes of one run at one worker of its engine, and the files for them."""

    idle: list[_FiledWorker] = field(default_factory=list)
    busy: list[_FiledWorker] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    used: float = field(default_factory=time.monotonic)

    @property
    def forgotten(self) -> bool:
        """Whether no work has come for so long that none may come any more."""
        return not self.busy and time.monotonic() - self.used > IDLE


class ClusterWorkers:
    """What a worker of an engine has: processes that do the work, by run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: dict[str, _RunWorkers] = {}
        self._watcher: threading.Thread | None = None

    def do(self, item: PackedItem, fetch: Fetch | None = None) -> PackedOutcome:
        """Do an item in a process of its run; as many at a time as threads call this."""
        worker = self._take(item)
        alive = False
        try:
            outcome = worker.do(item, fetch or (lambda: self._kept(item)))
            alive = outcome.content is not None or outcome.lacking
            return outcome
        finally:
            self._put_back(item.owner, worker, alive)

    def keep(self, owner: str, shipped: Mapping[str, bytes]) -> None:
        with self._lock:
            self._run(owner).files.update(shipped)

    def dismiss(self, owner: str) -> None:
        """End everything that works for a run, also in the middle of an item; returns at once."""
        threading.Thread(target=self._dismiss, args=(owner,), daemon=True).start()

    def _dismiss(self, owner: str) -> None:
        with self._lock:
            run = self._runs.pop(owner, None)
        if run is not None:
            for worker in run.busy:
                worker.process.kill()  # who waits for it does the rest
            for worker in run.idle:
                worker.process.ask_to_leave()
            for worker in run.idle:
                worker.process.end()

    def close(self) -> None:
        for owner in list(self._runs):
            self._dismiss(owner)

    def _run(self, owner: str) -> _RunWorkers:
        """Return the processes of a run; the lock is held."""
        if self._watcher is None:
            util.Finalize(None, self.close, exitpriority=100)  # Python would wait for them
            self._watcher = threading.Thread(target=self._watch, daemon=True)
            self._watcher.start()
        run = self._runs.setdefault(owner, _RunWorkers())
        run.used = time.monotonic()
        return run

    def _kept(self, item: PackedItem) -> Mapping[str, bytes] | None:
        with self._lock:
            kept = self._run(item.owner).files
            lacking = {*item.files} - {*kept}
            return None if lacking else {digest: kept[digest] for digest in item.files}

    def _take(self, item: PackedItem) -> _FiledWorker:
        with self._lock:
            run = self._run(item.owner)
            while run.idle:
                worker = run.idle.pop()
                if not worker.process.speaks():  # it has nothing to say, unless it died
                    run.busy.append(worker)
                    return worker
                worker.process.end()
            with _may_have_children(), _plain_main():
                worker = _FiledWorker(item.stall_timeout)
                worker.process.start()
            run.busy.append(worker)
            return worker

    def _put_back(self, owner: str, worker: _FiledWorker, alive: bool) -> None:
        with self._lock:
            run = self._runs.get(owner)
            wanted = run is not None and worker in run.busy
            if run is not None and wanted:
                run.busy.remove(worker)
                run.used = time.monotonic()
                if alive:
                    run.idle.append(worker)
        if not alive or not wanted:
            worker.process.end()

    def _watch(self) -> None:
        while True:
            time.sleep(_LOOKS)
            with self._lock:
                owners = [owner for owner, run in self._runs.items() if run.forgotten]
            for owner in owners:
                self._dismiss(owner)


@contextmanager
def _may_have_children() -> Iterator[None]:
    """Let this process start another even if multiprocessing calls it daemonic."""
    # Dask's workers are, so that they end with their nanny; what we start ends with its parent.
    config: dict[str, object] = getattr(process.current_process(), "_config")  # noqa: B009
    before = config.pop("daemon", None)
    try:
        yield
    finally:
        if before is not None:
            config["daemon"] = before


@contextmanager
def _plain_main() -> Iterator[None]:
    """Keep a process that is being started from importing the engine's program: it needs none."""
    before = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = before


cluster_workers = ClusterWorkers()  # that of this process; it has nobody until work comes
