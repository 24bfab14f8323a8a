"""Checks of executors: hostile queues, work that fails, workers that die."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from rpd_core.errors import RpdError, one_line
from rpd_core.plugin.protocols import Answer, Engine, Executor, Outcome, WorkItem

WORKERS = 2


class UnpicklableError(Exception):
    """An error that cannot be made again from what it says."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} {second}")


def square(number: int) -> int:
    """Return the square; negative numbers raise."""
    if number < 0:
        raise ValueError(f"no square of {number} today")
    return number * number


def raise_oddly(number: int) -> int:
    """Raise an error that cannot be pickled and unpickled."""
    raise UnpicklableError("cannot", "travel")


def process_number(number: int) -> int:
    """Return the number of the process that does the work."""
    return os.getpid()


def end_process(number: int) -> int:
    """End the process that does the work, as a crash would."""
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def item(function: Callable[[int], Any], number: int) -> WorkItem:
    """Return an item of work under a name of its own."""
    identity = f"kit/{function.__name__}/{number}"
    return WorkItem(identity, function, number, f"{function.__name__} of {number}")


class Queue:
    """A queue that says None now and then, and once more before its last item."""

    def __init__(self, items: list[WorkItem], late: list[WorkItem]) -> None:
        self.items, self.late = list(items), list(late)
        self.paused = False
        self.outcomes = 0

    def take(self) -> WorkItem | None:
        if self.items:
            self.paused = not self.paused
            return self.items.pop(0) if not self.paused or not self.outcomes else None
        ready = self.late and self.outcomes > 0
        return self.late.pop(0) if ready else None


def check_executor(executor: Executor) -> Iterator[str]:
    """Check that every item comes back once, failures as answers, late and lost items too."""
    try:
        with executor.open(WORKERS) as engine:
            for check in (_check_results, _check_failures, _check_odd_errors, _check_second_queue):
                yield from check(engine)
            elsewhere = _run(engine, [item(process_number, 0)])[0]
            if elsewhere and elsewhere[0].value != os.getpid():
                yield from _check_death(engine)
    except RpdError as error:
        yield f"cannot be opened here: {one_line(error)}"


def _run(
    engine: Engine, items: list[WorkItem], late: list[WorkItem] | None = None
) -> tuple[list[Answer], list[Outcome]]:
    """Run items and return the answers, and the outcomes that have none."""
    queue = Queue(items, late or [])
    answers, others = [], []
    for outcome in engine.execute(queue):
        queue.outcomes += 1
        if isinstance(outcome.answer, Answer):
            answers.append(outcome.answer)
            if outcome.identity != outcome.answer.identity:
                others.append(outcome)
        else:
            others.append(outcome)
    return answers, others


def _check_results(engine: Engine) -> Iterator[str]:
    items, late = [item(square, n) for n in (1, 2, 3)], [item(square, n) for n in (100, 200)]
    answers, others = _run(engine, items, late)
    counts = Counter(answer.identity for answer in answers)
    for one in (*items, *late):
        if not counts[one.identity]:
            when = "which came late, after None, " if one in late else ""
            yield f"lost the item {one.label}, {when}without a word"
        if counts[one.identity] > 1:
            yield f"returned the item {one.label} {counts[one.identity]} times"
    values = {answer.identity: answer.value for answer in answers}
    for one in (*items, *late):
        if one.identity in values and values[one.identity] != one.argument**2:
            yield f"gave {values[one.identity]!r} for {one.label}"
    if others:
        yield f"returned {others[0]!r} where an answer is needed"


def _check_failures(engine: Engine) -> Iterator[str]:
    """Check that an item that raises is an answer, and that others go on."""
    answers, others = _run(engine, [item(square, -1), item(square, 5)])
    errors = [answer.error for answer in answers if answer.error is not None]
    if any(outcome.lost for outcome in others):
        yield "called a failing item lost; lost means that the worker died"
    elif len(errors) != 1 or not isinstance(errors[0], ValueError):
        yield "did not bring the error of a failing item back in its answer"
    if [answer.value for answer in answers if answer.error is None] != [25]:
        yield "did not go on after an item that failed"


def _check_odd_errors(engine: Engine) -> Iterator[str]:
    answers, others = _run(engine, [item(raise_oddly, 1)])
    if others or len(answers) != 1 or answers[0].error is None:
        yield "did not bring back an error that cannot be pickled"


def _check_second_queue(engine: Engine) -> Iterator[str]:
    """Check that an engine that was used can be used again, also after it was not heard out."""
    outcomes = engine.execute(Queue([item(square, n) for n in (6, 7, 8, 9)], []))
    next(outcomes, None)
    close = getattr(outcomes, "close", None)
    if close is not None:
        close()
    answers, _ = _run(engine, [item(square, 10)])
    if [answer.value for answer in answers] != [100]:
        yield "mixes the items of one queue with those of the next"


def _check_death(engine: Engine) -> Iterator[str]:
    """Check that an item whose worker dies is lost, and that others go on."""
    answers, others = _run(engine, [item(end_process, 1), item(square, 11)])
    lost = [outcome for outcome in others if outcome.identity.startswith("kit/end_process")]
    if len(lost) != 1 or not lost[0].lost:
        yield "did not report an item whose worker died as lost"
    if [answer.value for answer in answers] != [121]:
        yield "did not go on after a worker died"
