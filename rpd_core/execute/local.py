"""Work items -> outcomes: the local executor, and the loop that retries and hands results on."""

from __future__ import annotations

import os
import pickle
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rpd_core.errors import ExecutionError, RpdError, one_line
from rpd_core.execute.processes import crew
from rpd_core.execute.work import Executor, Outcome, WorkItem, WorkQueue

RETRIES = 3
"""How often work whose process died is tried again."""


def usable_cores() -> int:
    """Give the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class LocalProcesses:
    """Worker processes on this machine; with one worker everything runs in this process."""

    def execute(self, queue: WorkQueue, workers: int) -> Iterator[Outcome]:
        """Yield outcomes as they come."""
        if workers == 1:
            yield from _inline(queue)
        else:
            yield from _elsewhere(queue, workers)


def _inline(queue: WorkQueue) -> Iterator[Outcome]:
    while (item := queue.take()) is not None:
        try:
            value = item.function(item.argument)
        except (Exception, SystemExit) as error:
            yield Outcome(item, error=error)
        else:
            yield Outcome(item, value=value)


def _elsewhere(queue: WorkQueue, workers: int) -> Iterator[Outcome]:
    with crew(workers) as lent:
        yield from lent.execute(queue)


class _Pending:
    """The queue that an executor takes from and failed work returns to."""

    def __init__(self, items: Iterable[WorkItem]) -> None:
        self.items = deque(items)

    def take(self) -> WorkItem | None:
        return self.items.popleft() if self.items else None


def run_items(
    executor: Executor,
    workers: int,
    items: Iterable[WorkItem],
    handle: Callable[[WorkItem, Any], None],
) -> None:
    """Run all items and hand each result on as it comes; work that was lost is tried again."""
    pending = _Pending(items)
    tries: Counter[int] = Counter()
    with _listening(executor.execute(pending, workers)) as outcomes:
        for outcome in outcomes:
            if outcome.lost:
                tries[id(outcome.item)] += 1
                _give_up_after_retries(outcome, tries[id(outcome.item)])
                pending.items.append(outcome.item)
            elif outcome.error is not None:
                raise as_rpd_error(outcome.error)
            else:
                handle(outcome.item, outcome.value)


@contextmanager
def _listening(outcomes: Iterator[Outcome]) -> Iterator[Iterator[Outcome]]:
    """Let the executor know at once when nobody listens any more, so that it ends its work."""
    try:
        yield outcomes
    finally:
        if isinstance(outcomes, Generator):
            outcomes.close()


def _give_up_after_retries(outcome: Outcome, tries: int) -> None:
    if tries > RETRIES:
        how = outcome.error or "the worker process died"
        label = outcome.item.label or "its work"
        raise ExecutionError(f"{how}, {tries} times, while doing {label}")


def as_rpd_error(error: BaseException) -> BaseException:
    """Explain errors of shipping work and attempts to end rpd; leave all others as they are."""
    if isinstance(error, RpdError):
        return error
    if isinstance(error, SystemExit):
        return ExecutionError(f"the policy or the environment wants to end rpd ({one_line(error)})")
    if isinstance(error, pickle.PicklingError) or "pickle" in str(error).lower():
        return ExecutionError(
            f"the work cannot be sent to other processes ({one_line(error)}): use one worker, or "
            "name your function as python:module:attribute"
        )
    return error


def can_be_shipped(recipe: object) -> bool:
    """Tell whether a recipe can be sent to another process."""
    try:
        pickle.dumps(recipe)
    except Exception:
        return False
    return True
