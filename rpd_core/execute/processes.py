"""Worker processes on this machine, each with a pipe of its own, so that none can harm another."""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import wait

from rpd_core.errors import ExecutionError, one_line
from rpd_core.execute.items import CannotShip, packed
from rpd_core.execute.worker import GRACE, UNREAD, end_group, end_marked, serve
from rpd_core.play import heartbeat
from rpd_core.play.heartbeat import STALL_TIMEOUT, Watch
from rpd_core.plugin.protocols import Outcome, WorkItem, WorkQueue

LOOK_EVERY = 1.0  # seconds between two looks at workers that are silent: dead ones may be, too
_GLANCE_EVERY = 0.05  # the same while it is open whether another worker pays
_LONGEST_START = 20.0
"""Seconds after which work that shows no signs of life is no longer waited for."""


class Worker:
    """A process that does one item at a time; not started by its making, so that it is known."""

    def __init__(self, stall_timeout: float = STALL_TIMEOUT) -> None:
        context = get_context("spawn")  # forking with torch or ALE threads around can hang
        self.pipe, self._theirs = context.Pipe()
        pulse = context.RawArray("q", heartbeat.LENGTH)
        self._mark = os.urandom(16).hex()
        self._process = context.Process(target=serve, args=(self._theirs, pulse, self._mark))
        self._watch = Watch(pulse, stall_timeout)
        self._item: WorkItem | None = None
        self.started = float("inf")
        self._deadline: float | None = None

    def start(self) -> None:
        """Start the process; if Ctrl-C breaks in, it ends when the pipe does."""
        self.started = time.monotonic()
        with _safe_path(), ctrl_c_waits():  # which starts a process, too
            self._process.start()
        self._theirs.close()  # so that the pipe ends when the worker does

    @property
    def idle(self) -> bool:
        return self._item is None

    def give(self, item: WorkItem, content: bytes) -> bool:
        """Hand an idle worker an item; False if it has died."""
        self._item = item
        self._watch.restart()
        try:
            self.pipe.send_bytes(content)
        except OSError:
            self._item = None
            return False
        return True

    @property
    def beats(self) -> bool:
        """Return whether the worker has begun to play: what it needs for that is imported."""
        return self._watch.numbers[0] > 0

    def hangs(self) -> str:
        """Return what to report of a worker that makes no progress; empty if there is hope."""
        assert self._item is not None, "an idle worker has nothing to do"
        return self._watch.stalled(self._item.label or self._item.identity)

    def give_up(self) -> WorkItem:
        """End a worker that hangs, at once; return what it was to do."""
        item, self._item = self._item, None
        assert item is not None, "an idle worker does not hang"
        self.kill()
        return item

    def speaks(self) -> bool:
        """Return whether there is an answer, or nothing to wait for."""
        # A process that the dead worker has forked may hold its end of the pipe open.
        return self._process.exitcode is not None or self.pipe.poll()

    def receive(self) -> tuple[WorkItem, bytes | None]:
        """Receive what the worker made of its item; None if it died over it."""
        item, self._item = self._item, None
        assert item is not None, "an idle worker has no answer"
        try:
            if self._process.exitcode is None or self.pipe.poll():
                return item, self.pipe.recv_bytes()
        except (EOFError, OSError):
            pass
        return item, None

    def ask_to_leave(self) -> None:
        """Ask the worker to close its environments and end, within a time that begins now."""
        self._deadline = self._deadline or time.monotonic() + GRACE
        if self._process.pid is None or self.idle:
            self.pipe.close()
        else:
            self._process.terminate()

    def end(self) -> str:
        """End the process, in the middle of its work if need be; return how it ended."""
        self.ask_to_leave()
        if self._process.pid is None:
            return "was not started"
        assert self._deadline is not None
        while self._process.exitcode is None and time.monotonic() < self._deadline:
            self._process.join(0.05)  # a process it has forked can make this wait in vain
        self.pipe.close()
        answered = self._process.exitcode is not None
        if not answered:
            self.kill()
            self._process.join()
        end_group(self._process.pid)
        end_marked(self._mark)
        return _ending(self._process.exitcode or 0) if answered else "stopped answering"

    def kill(self) -> None:
        if self._process.pid is not None:
            self._process.kill()


class Backlog:
    """How long work has waited for a worker, against what it takes to start one."""

    def __init__(self, start_up: float | None) -> None:
        self.start_up = start_up
        """Seconds from the start of a worker to its first step; None: not known yet."""
        self.waited = 0.0
        self._since: float | None = None

    def pays_another(self, workers: Sequence[Worker]) -> bool:
        """Return whether work that waits now has waited for as long as starting a worker takes."""
        if not workers:
            return True
        now = time.monotonic()
        if self.start_up is None:
            took = now - workers[0].started
            if not workers[0].beats and took < _LONGEST_START:
                return False
            self.start_up = took
        if self._since is None:
            self._since = now
        return self.waited + now - self._since >= self.start_up

    def end(self) -> None:
        """Note that nothing waits any more."""
        if self._since is not None:
            self.waited += time.monotonic() - self._since
            self._since = None


class LocalWorkers:
    """Workers that are started when there is work for them, and stay for the next stage."""

    # To import what an episode needs takes a worker seconds. Unless they are `eager`, a second one
    # is started when work has waited for as long as that took the first: what is done by then costs
    # one start, and what lasts longer is hardly held up.

    def __init__(self, size: int, stall_timeout: float = STALL_TIMEOUT, eager: bool = True) -> None:
        self.size, self.stall_timeout = size, stall_timeout
        self.workers: list[Worker] = []
        self._held: WorkItem | None = None
        """An item that waits: for a worker to be free, or for another to pay."""
        self._backlog = Backlog(0.0 if eager else None)
        _all_workers.add(self)

    def execute(self, queue: WorkQueue) -> Iterator[Outcome]:
        """Yield outcomes as they come; a worker gets its next item before its last is looked at."""
        self._held = None
        try:
            yield from self._outcomes(queue)
        finally:
            for worker in [worker for worker in self.workers if not worker.idle]:
                worker.ask_to_leave()
            for worker in [worker for worker in self.workers if not worker.idle]:
                self._drop(worker)

    def _outcomes(self, queue: WorkQueue) -> Iterator[Outcome]:
        while True:
            yield from self._hand_out(queue)
            busy = {worker.pipe: worker for worker in self.workers if not worker.idle}
            if not busy:
                return
            wait(busy, LOOK_EVERY if self._held is None else _GLANCE_EVERY)
            answers: list[tuple[WorkItem, bytes | str]] = []  # or how the worker died over it
            for worker in [one for one in busy.values() if one.speaks()]:
                item, answer = worker.receive()
                answers.append((item, self._drop(worker) if answer is None else answer))
            yield from self._hand_out(queue)
            for item, found in answers:
                yield _lost(item, found) if isinstance(found, str) else unpacked(item, found)
            for worker in [worker for worker in self.workers if not worker.idle]:
                report = worker.hangs()
                if report:
                    item = worker.give_up()
                    self._drop(worker)
                    yield Outcome(item.identity, error=ExecutionError(report))

    def _hand_out(self, queue: WorkQueue) -> Iterator[Outcome]:
        while (idle := any(worker.idle for worker in self.workers)) or (
            len(self.workers) < self.size
        ):
            item, self._held = self._held or queue.take(), None
            if item is None:
                return
            if not idle and not self._backlog.pays_another(self.workers):
                self._held = item
                return
            self._backlog.end()
            try:
                content = packed(item)
            except CannotShip as error:
                yield Outcome(item.identity, error=error)
            else:
                if not self._give(item, content):
                    yield _lost(item, self._drop(self.workers[-1]))

    def _give(self, item: WorkItem, content: bytes) -> bool:
        """Hand an item to an idle worker, or a new one; False if even that died."""
        for worker in [worker for worker in self.workers if worker.idle]:
            if worker.give(item, content):
                return True
            self._drop(worker)  # it died while idle
        try:
            # Listed first: whoever breaks in here must find it to end it.
            self.workers.append(Worker(self.stall_timeout))
            self.workers[-1].start()
        except OSError as error:
            told = f"cannot start another worker process ({one_line(error)}): try fewer --workers"
            raise ExecutionError(told) from error
        return self.workers[-1].give(item, content)

    def _drop(self, worker: Worker) -> str:
        ending = worker.end()
        if worker in self.workers:  # another thread may have dropped it, too
            self.workers.remove(worker)
        return ending

    def dismiss(self) -> None:
        for worker in self.workers:
            worker.ask_to_leave()
        for worker in list(self.workers):
            self._drop(worker)


def _lost(item: WorkItem, ending: str) -> Outcome:
    error = ExecutionError(f"the worker process {ending}")
    return Outcome(item.identity, error=error, lost=True)


def _ending(code: int) -> str:
    """Return how a process ended, and what that may mean."""
    if code >= 0:
        return (
            f"ended with exit code {code} (the environment or the policy may have ended it; a "
            'script that calls rpd must do so under if __name__ == "__main__")'
        )
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    if -code == signal.SIGKILL:
        return f"was killed by {name} (memory may have run out: try fewer --workers)"
    return f"was killed by {name} (the environment or the policy may have crashed)"


_all_workers: weakref.WeakSet[LocalWorkers] = weakref.WeakSet()
"""All that were made, for the end of this process: whoever opened one may not come to close it."""


@atexit.register  # Python would wait for workers that wait for work
def _dismiss_all() -> None:
    """End all workers: an interrupted run may not have come to it."""
    try:
        for workers in list(_all_workers):
            workers.dismiss()
    except KeyboardInterrupt:  # again
        for workers in _all_workers:
            for worker in workers.workers:
                worker.kill()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_all_workers.clear)  # they are its parent's


def unpacked(item: WorkItem, content: bytes) -> Outcome:
    try:
        outcome: Outcome = pickle.loads(content)
    except Exception as error:  # a class that exists only in the worker
        told = f"the answer of {item.label or item.identity} cannot be read ({one_line(error)})"
        return Outcome(item.identity, error=ExecutionError(told))
    return replace(outcome, identity=item.identity) if outcome.identity == UNREAD else outcome


@contextmanager
def _safe_path() -> Iterator[None]:
    """Keep a process that is being started from importing what lies in the working directory."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"  # taken away again in the worker: see `serve`
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


@contextmanager
def ctrl_c_waits() -> Iterator[None]:
    """Hold Ctrl-C back from a process that is being started: it inherits this."""
    resource_tracker.ensure_running()  # it would let Ctrl-C through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # may itself be interrupted
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
