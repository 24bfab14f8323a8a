"""Checks of executors: hostile queues, work that fails, workers that die."""

from __future__ import annotations

import itertools
import os
import queue
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from rpd_core.errors import RpdError, one_line
from rpd_core.plugin.protocols import Engine, Executor, Outcome, WorkItem

WORKERS = (2, 1)
"""Numbers of workers that an executor is opened with, one after the other."""
PATIENCE = 120.0
"""Seconds after which a check that has not come back is given up."""
_MOST = 50
"""Outcomes after which an engine that goes on and on is stopped."""


class _UnpicklableError(Exception):
    """An error that cannot be made again from what it says."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} {second}")


def square(number: int) -> int:
    """Return the square; negative numbers raise."""
    if number < 0:
        raise ValueError(f"no square of {number} today")
    return number * number


def _raise_oddly(number: int) -> int:
    """Raise an error that cannot be pickled and unpickled."""
    raise _UnpicklableError("cannot", "travel")


def process_number(number: int) -> int:
    """Return the number of the process that does the work."""
    return os.getpid()


def _end_process(number: int) -> int:
    """End the process that does the work, as a crash would."""
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def item(function: Callable[[int], Any], number: int) -> WorkItem:
    """Return an item of work under a name of its own."""
    identity = f"kit/{function.__name__}/{number}"
    return WorkItem(identity, function, number, f"{function.__name__} of {number}")


class Queue:
    """A queue that says None now and then while work is under way, and has more at the very end.

    Late items arrive one by one, each when everything before it has come back: as lost work does.
    """

    def __init__(self, items: list[WorkItem], late: list[WorkItem]) -> None:
        self.waiting, self.late = list(items), list(late)
        self.running = 0
        self.paused = False
        self.threads: set[int] = set()
        """Where items were taken."""

    def take(self) -> WorkItem | None:
        """Return the next item, or None."""
        self.threads.add(threading.get_ident())
        if not self.waiting:
            return None
        self.paused = self.running > 0 and not self.paused
        if self.paused:
            return None
        self.running += 1
        return self.waiting.pop(0)

    def came_back(self) -> None:
        """Count an outcome; when it was the last one, the next late item arrives."""
        self.running -= 1
        if self.running <= 0 and not self.waiting and self.late:
            self.waiting.append(self.late.pop(0))


class _TakenElsewhere(Exception):
    """An engine took work in a thread of its own."""


class _Stage(str):
    """What is being checked, for the case that it never ends."""

    __slots__ = ()


def check_executor(executor: Executor) -> Iterator[str]:
    """Check that every item comes back once, failures as answers, late and lost items too."""
    for workers in WORKERS:
        faults = list(_within_patience(_stages(executor, workers)))
        yield from (f"{fault} (opened with workers={workers})" for fault in faults)
        if faults:
            return  # fewer workers would show the same


def _stages(executor: Executor, workers: int) -> Iterator[str]:
    yield _Stage("when it is opened")
    try:
        with executor.open(workers) as engine:
            for stage, check in _CHECKS.items():
                yield _Stage(stage)
                yield from check(engine)
            yield _Stage("when it is closed")
    except _TakenElsewhere:
        yield "takes work in another thread than the one that asks for outcomes"
    except RpdError as error:
        yield f"cannot be opened here: {one_line(error)}"


def _within_patience(stages: Iterator[str]) -> Iterator[str]:
    """Yield what the checks find; give up on one that hangs, and leave it behind in its thread."""
    heard: queue.SimpleQueue[str | BaseException | None] = queue.SimpleQueue()

    def listen() -> None:
        try:
            for line in stages:
                heard.put(line)
            heard.put(None)
        except BaseException as error:  # raised again where it is waited for
            heard.put(error)

    threading.Thread(target=listen, daemon=True).start()
    stage = ""
    while True:
        try:
            line = heard.get(timeout=PATIENCE)
        except queue.Empty:
            yield f"did not come back within {PATIENCE:g} seconds {stage}"
            return
        if isinstance(line, BaseException):
            raise line
        if line is None:
            return
        if isinstance(line, _Stage):
            stage = line
        else:
            yield line


def _run(
    engine: Engine, items: list[WorkItem], late: list[WorkItem] | None = None
) -> list[Outcome]:
    """Run items and return their outcomes."""
    work = Queue(items, late or [])
    outcomes = []
    for outcome in itertools.islice(engine.execute(work), _MOST):
        work.came_back()
        outcomes.append(outcome)
    if work.threads - {threading.get_ident()}:
        raise _TakenElsewhere
    return outcomes


def _check_results(engine: Engine) -> Iterator[str]:
    """Check that each of several items comes back once, with its own result."""
    items, late = [item(square, n) for n in (1, 2, 3)], [item(square, n) for n in (100, 200)]
    outcomes = _run(engine, items, late)
    counts = Counter(outcome.identity for outcome in outcomes)
    for one in (*items, *late):
        if not counts[one.identity]:
            when = "which came late, after None, " if one in late else ""
            yield f"lost the item {one.label}, {when}without a word"
        if counts[one.identity] > 1:
            yield f"returned the item {one.label} {counts[one.identity]} times"
    values = {outcome.identity: outcome.value for outcome in outcomes}
    for one in (*items, *late):
        if one.identity in values and values[one.identity] != one.argument**2:
            yield f"gave {values[one.identity]!r} for {one.label}"
    for identity in counts.keys() - {one.identity for one in (*items, *late)}:
        yield f"returned an item {identity!r} that it was not given"


def _check_failures(engine: Engine) -> Iterator[str]:
    """Check that an item that raises has its error in its outcome, and that others go on."""
    outcomes = _run(engine, [item(square, -1), item(square, 5)])
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    if any(outcome.lost for outcome in outcomes):
        yield "called a failing item lost; lost means that the worker died"
    elif len(errors) != 1 or not isinstance(errors[0], ValueError):
        yield "did not bring the error of a failing item back in its outcome"
    if 25 not in [outcome.value for outcome in outcomes]:
        yield "did not go on after an item that failed"


def _check_odd_errors(engine: Engine) -> Iterator[str]:
    """Check that an error comes back even if it cannot be made again elsewhere."""
    outcomes = _run(engine, [item(_raise_oddly, 1)])
    if len(outcomes) != 1 or outcomes[0].error is None or outcomes[0].lost:
        yield "did not bring back an error that cannot be pickled"


def _check_second_queue(engine: Engine) -> Iterator[str]:
    """Check that an engine that was used can be used again, also after it was not heard out."""
    outcomes = engine.execute(Queue([item(square, n) for n in (6, 7, 8, 9)], []))
    next(outcomes, None)
    close = getattr(outcomes, "close", None)
    if close is not None:
        close()
    if [outcome.value for outcome in _run(engine, [item(square, 10)])] != [100]:
        yield "mixes the items of one queue with those of the next"


def _check_death(engine: Engine) -> Iterator[str]:
    """Check that an item whose worker dies is lost, and that others go on."""
    where = _run(engine, [item(process_number, 0)])
    if not where or where[0].value == os.getpid():
        return  # the worker is this very process
    dies, works = item(_end_process, 1), item(square, 11)
    outcomes = _run(engine, [dies, works])
    if [outcome.lost for outcome in outcomes if outcome.identity == dies.identity] != [True]:
        yield "did not report an item whose worker died as lost"
    if [outcome.value for outcome in outcomes if outcome.identity == works.identity] != [121]:
        yield "did not go on after a worker died"


_CHECKS = {
    "with a queue that says None now and then": _check_results,
    "after an item failed": _check_failures,
    "after an error that cannot be pickled": _check_odd_errors,
    "with a second queue, after the first was not heard out": _check_second_queue,
    "after a worker died": _check_death,
}
"""Each check, and when something went wrong in it."""
