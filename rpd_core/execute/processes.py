"""Worker processes on this machine, each with a pipe of its own, so that none can harm another."""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import wait

from rpd_core.errors import ExecutionError, one_line
from rpd_core.execute.work import Outcome, WorkItem, WorkQueue
from rpd_core.execute.worker import PATIENCE, serve

_GLANCE = 1.0
"""Seconds between two looks at workers that are silent: dead ones may be, too."""


class Worker:
    """A process that does one item at a time; not started by its making, so that it is known."""

    def __init__(self) -> None:
        context = get_context("spawn")  # forking with torch or ALE threads around can hang
        self.pipe, self._theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(self._theirs,))
        self._item: WorkItem | None = None
        self._deadline: float | None = None

    def start(self) -> None:
        """Start the process; if Ctrl-C breaks in, it ends when the pipe does."""
        with _ctrl_c_waits():
            self._process.start()
        self._theirs.close()  # so that the pipe ends when the worker does

    @property
    def idle(self) -> bool:
        """Tell whether the worker waits for an item."""
        return self._item is None

    def give(self, item: WorkItem, packed: bytes) -> bool:
        """Hand an idle worker an item; False if it has died."""
        self._item = item
        try:
            self.pipe.send_bytes(packed)
        except OSError:
            self._item = None
            return False
        return True

    def speaks(self) -> bool:
        """Tell whether there is an answer, or nothing to wait for.

        A process that the dead worker has forked may hold its end of the pipe open.
        """
        return self._process.exitcode is not None or self.pipe.poll()

    def answer(self) -> tuple[WorkItem, bytes | None]:
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
        """Let the worker close its environments and end, in a while that begins now."""
        self._deadline = self._deadline or time.monotonic() + PATIENCE
        if self._process.pid is None or self.idle:
            self.pipe.close()
        else:
            self._process.terminate()

    def end(self) -> str:
        """End the process, in the middle of its work if need be; say how it ended."""
        self.ask_to_leave()
        if self._process.pid is None:
            return "was not started"
        assert self._deadline is not None
        while self._process.exitcode is None and time.monotonic() < self._deadline:
            self._process.join(0.05)  # a process it has forked can make this wait in vain
        self.pipe.close()
        if self._process.exitcode is None:
            self.kill()
            self._process.join()
            return "stopped answering"
        return _ending(self._process.exitcode)

    def kill(self) -> None:
        """End the process at once."""
        if self._process.pid is not None:
            self._process.kill()


class Crew:
    """Workers that are started when there is work for them, and stay for the next stage."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.lent = False
        """Whether a stage works with it now."""
        self.workers: list[Worker] = []

    def execute(self, queue: WorkQueue) -> Iterator[Outcome]:
        """Yield outcomes as they come; a worker gets its next item before its last is looked at."""
        while True:
            yield from self._hand_out(queue)
            busy = {worker.pipe: worker for worker in self.workers if not worker.idle}
            if not busy:
                return
            wait(busy, _GLANCE)
            answers = [self._collect(worker) for worker in busy.values() if worker.speaks()]
            yield from self._hand_out(queue)
            for item, answer in answers:
                yield _lost(item, answer) if isinstance(answer, str) else _unpack(item, answer)

    def _hand_out(self, queue: WorkQueue) -> Iterator[Outcome]:
        while any(worker.idle for worker in self.workers) or len(self.workers) < self.size:
            item = queue.take()
            if item is None:
                return
            try:
                packed = pickle.dumps((item.function, item.argument))
            except Exception as error:
                yield Outcome(item, error=error)
            else:
                if not self._give(item, packed):
                    yield _lost(item, self._drop(self.workers[-1]))

    def _give(self, item: WorkItem, packed: bytes) -> bool:
        """Hand an item to an idle worker, or a new one; False if even that died."""
        for worker in [worker for worker in self.workers if worker.idle]:
            if worker.give(item, packed):
                return True
            self._drop(worker)  # it died while idle
        try:
            self.workers.append(Worker())  # first: whoever breaks in here must find it to end it
            self.workers[-1].start()
        except OSError as error:
            told = f"cannot start another worker process ({one_line(error)}): try fewer --workers"
            raise ExecutionError(told) from error
        return self.workers[-1].give(item, packed)

    def _collect(self, worker: Worker) -> tuple[WorkItem, bytes | str]:
        """Give an item and its answer, or how the worker died over it."""
        item, answer = worker.answer()
        return item, self._drop(worker) if answer is None else answer

    def _drop(self, worker: Worker) -> str:
        ending = worker.end()
        if worker in self.workers:  # another thread may have dropped it, too
            self.workers.remove(worker)
        return ending

    def dismiss(self) -> None:
        """End all workers."""
        for worker in self.workers:
            worker.ask_to_leave()
        for worker in list(self.workers):
            self._drop(worker)


def _lost(item: WorkItem, ending: str) -> Outcome:
    return Outcome(item, error=ExecutionError(f"the worker process {ending}"), lost=True)


def _ending(code: int) -> str:
    """Say how a process ended, and what that may mean."""
    if code >= 0:
        return (
            f"ended with exit code {code} (the environment or the policy may have ended it; a "
            'script that calls rpd must do so under if __name__ == "__main__")'
        )
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    if -code == signal.SIGKILL:
        return f"was killed by {name} (memory may have run out: try fewer --workers)"
    return f"was killed by {name} (the environment or the policy may have crashed)"


_crews: list[Crew] = []
"""Crews stay between two stages: starting a worker costs seconds of imports."""
_lock = threading.RLock()  # garbage collection may end an abandoned stage at any moment


@contextmanager
def crew(size: int) -> Iterator[Crew]:
    """Lend a crew to one stage; the next stage finds it again unless this one breaks off."""
    lent = _lend(size)
    try:
        yield lent
        lent.lent = False
    except BaseException:  # also when nobody listens any more: end the workers at once
        _dismiss(lent)
        raise


def _lend(size: int) -> Crew:
    with _lock:
        idle = [each for each in _crews if each.size == size and not each.lent]
        lent = max(idle, key=lambda each: len(each.workers), default=None) or Crew(size)
        if lent not in _crews:
            _crews.append(lent)
        lent.lent = True
        return lent


def _dismiss(crew: Crew) -> None:
    crew.dismiss()
    with _lock:
        if crew in _crews:
            _crews.remove(crew)


def dismiss_workers() -> None:
    """End the workers that wait for another stage."""
    with _lock:
        idle = [each for each in _crews if not each.lent]
        for each in idle:
            each.lent = True  # nobody else may have it any more
    for each in idle:
        _dismiss(each)


@atexit.register  # Python would wait for workers that wait for work
def _dismiss_all() -> None:
    """End all workers: an interrupted stage may not have come to it."""
    try:
        for each in list(_crews):
            _dismiss(each)
    except KeyboardInterrupt:  # again
        for each in _crews:
            for worker in each.workers:
                worker.kill()


os.register_at_fork(after_in_child=_crews.clear)  # they are its parent's


def _unpack(item: WorkItem, answer: bytes) -> Outcome:
    value, error = pickle.loads(answer)
    return Outcome(item, value=value, error=error)


@contextmanager
def _ctrl_c_waits() -> Iterator[None]:
    """Hold Ctrl-C back from a process that is being started: it inherits this."""
    resource_tracker.ensure_running()  # it would let Ctrl-C through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # may itself be interrupted
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
