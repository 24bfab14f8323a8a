"""Work on behalf of an engine: what travels to its workers, and the processes that do it there.

The worker of an engine does no item itself. It hands each to a process of its own, the same that
does local work: in its main thread, with one numerical thread, its output kept apart, ended when
it hangs, and with everything that its environments started ended with it.
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
from rpd_core.execute.files import deliver
from rpd_core.execute.items import packed
from rpd_core.execute.processes import LOOK_EVERY, Worker, unpacked
from rpd_core.plugin.protocols import Outcome, WorkItem

IDLE = 60.0
"""Seconds after which processes of a run that sends no more work are ended: it may be dead."""
_LOOKS = 5.0
"""Seconds between two looks for such processes."""


@dataclass(frozen=True)
class Errand:
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
class Reply:
    """What became of an errand."""

    answer: bytes | None = None
    """The packed answer, compressed."""
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
    """An opened engine: what all of its errands have in common."""

    stall_timeout: float
    path: tuple[str, ...] = ()
    owner: str = field(default_factory=lambda: uuid.uuid4().hex)

    def errand(self, item: WorkItem) -> Errand:
        """Return an item ready to travel, or raise `CannotShip`."""
        files = tuple(file.digest for file in item.files)
        how = self.owner, self.stall_timeout, self.path
        return Errand(item.identity, item.label or item.identity, packed(item), files, *how)


def outcome_of(item: WorkItem, reply: Reply) -> Outcome:
    """Return what the core is told of a reply."""
    if reply.answer is not None:
        return unpacked(item, zlib.decompress(reply.answer))
    return Outcome(item.identity, error=ExecutionError(reply.error), lost=reply.lost)


class _Hand:
    """A worker process of one run, and the files that it has got."""

    def __init__(self, stall_timeout: float) -> None:
        self.worker = Worker(stall_timeout)
        self.files: set[str] | None = None
        """None: it knows nothing yet."""

    def do(self, errand: Errand, fetch: Fetch) -> Reply:
        """Do an errand, with its files delivered before it."""
        if self.files is None or not self.files >= {*errand.files}:
            shipped = fetch() if errand.files else {}
            if shipped is None:
                return Reply(lacking=True)
            first = WorkItem(errand.identity, _prepare, (errand.path, dict(shipped)))
            reply = self._ask(errand, packed(first))
            if outcome_of(first, reply).error is not None:  # a disk may be full
                return reply
            self.files = (self.files or set()) | {*shipped}
        return self._ask(errand, errand.content)

    def _ask(self, errand: Errand, content: bytes) -> Reply:
        """Hand the process something to do and wait until it has done so, died or given up."""
        worker, host = self.worker, socket.gethostname()
        if worker.give(WorkItem(errand.identity, str, None, errand.label), content):
            while not worker.speaks():
                wait([worker.pipe], LOOK_EVERY)
                report = worker.hangs()
                if report:
                    worker.give_up()
                    return Reply(error=f"{report} (the worker is on {host})")
            _, answer = worker.answer()
            if answer is not None:
                return Reply(zlib.compress(answer, 1))  # a sixth of its size, at little cost
        return Reply(error=f"the worker process on {host} {worker.end()}", lost=True)


def _prepare(needs: tuple[tuple[str, ...], dict[str, bytes]]) -> None:
    """Let a process find modules and files; called in it."""
    path, shipped = needs
    sys.path += [place for place in path if place not in sys.path]
    deliver(shipped)


@dataclass
class _Staff:
    """The processes of one run at one worker of its engine, and the files for them."""

    idle: list[_Hand] = field(default_factory=list)
    busy: list[_Hand] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    used: float = field(default_factory=time.monotonic)

    @property
    def forgotten(self) -> bool:
        """Whether no work has come for so long that none may come any more."""
        return not self.busy and time.monotonic() - self.used > IDLE


class Foreman:
    """What a worker of an engine has: processes that do the work, by run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._staffs: dict[str, _Staff] = {}
        self._watcher: threading.Thread | None = None

    def do(self, errand: Errand, fetch: Fetch | None = None) -> Reply:
        """Do an errand in a process of its run; as many at a time as threads call this.

        Without `fetch`, its files are those that were kept.
        """
        hand = self._take(errand)
        alive = False
        try:
            reply = hand.do(errand, fetch or (lambda: self._kept(errand)))
            alive = reply.answer is not None or reply.lacking
            return reply
        finally:
            self._put_back(errand.owner, hand, alive)

    def keep(self, owner: str, shipped: Mapping[str, bytes]) -> None:
        """Keep files for a run until it ends."""
        with self._lock:
            self._staff(owner).files.update(shipped)

    def dismiss(self, owner: str) -> None:
        """End everything that works for a run, also in the middle of an item; returns at once."""
        threading.Thread(target=self._dismiss, args=(owner,), daemon=True).start()

    def _dismiss(self, owner: str) -> None:
        with self._lock:
            staff = self._staffs.pop(owner, None)
        if staff is not None:
            for hand in staff.busy:
                hand.worker.kill()  # who waits for it does the rest
            _end(staff.idle)

    def close(self) -> None:
        """End everything."""
        for owner in list(self._staffs):
            self._dismiss(owner)

    def _staff(self, owner: str) -> _Staff:
        """Return the staff of a run; the lock is held."""
        if self._watcher is None:
            util.Finalize(None, self.close, exitpriority=100)  # Python would wait for them
            self._watcher = threading.Thread(target=self._watch, daemon=True)
            self._watcher.start()
        staff = self._staffs.setdefault(owner, _Staff())
        staff.used = time.monotonic()
        return staff

    def _kept(self, errand: Errand) -> Mapping[str, bytes] | None:
        with self._lock:
            kept = self._staff(errand.owner).files
            lacking = {*errand.files} - {*kept}
            return None if lacking else {digest: kept[digest] for digest in errand.files}

    def _take(self, errand: Errand) -> _Hand:
        with self._lock:
            staff = self._staff(errand.owner)
            while staff.idle:
                hand = staff.idle.pop()
                if not hand.worker.speaks():  # it has nothing to say, unless it died
                    staff.busy.append(hand)
                    return hand
                hand.worker.end()
            with _may_have_children(), _plain_main():
                hand = _Hand(errand.stall_timeout)
                hand.worker.start()
            staff.busy.append(hand)
            return hand

    def _put_back(self, owner: str, hand: _Hand, alive: bool) -> None:
        with self._lock:
            staff = self._staffs.get(owner)
            wanted = staff is not None and hand in staff.busy
            if staff is not None and wanted:
                staff.busy.remove(hand)
                staff.used = time.monotonic()
                if alive:
                    staff.idle.append(hand)
        if not alive or not wanted:
            hand.worker.end()

    def _watch(self) -> None:
        while True:
            time.sleep(_LOOKS)
            with self._lock:
                owners = [owner for owner, staff in self._staffs.items() if staff.forgotten]
            for owner in owners:
                self._dismiss(owner)


def _end(hands: list[_Hand]) -> None:
    for hand in hands:
        hand.worker.ask_to_leave()
    for hand in hands:
        hand.worker.end()


@contextmanager
def _may_have_children() -> Iterator[None]:
    """Let this process start another even if multiprocessing calls it daemonic.

    Dask's workers are, so that they end with their nanny; what we start ends with its parent.
    """
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


foreman = Foreman()
"""That of this process; it has nobody until work comes."""
