"""Work items -> outcomes: the local executor, and the loop that retries and hands results on."""

from __future__ import annotations

import os
import pickle
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

from rpd_core.errors import ExecutionError, RpdError, one_line
from rpd_core.work import Executor, Outcome, WorkItem, WorkQueue

RETRIES = 3
"""How often work whose process died is tried again."""

_ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def one_thread() -> None:
    """Let numerical libraries use one thread: results and speed suffer from more."""
    os.environ.update(_ONE_THREAD)


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
            yield from _pooled(queue, workers)


def _inline(queue: WorkQueue) -> Iterator[Outcome]:
    while (item := queue.take()) is not None:
        try:
            value = item.function(item.argument)
        except Exception as error:
            yield Outcome(item, error=error)
        else:
            yield Outcome(item, value=value)


def _pooled(queue: WorkQueue, workers: int) -> Iterator[Outcome]:
    """Keep every worker busy; a pool that served to the end stays open for the next stage."""
    running: dict[Future[Any], WorkItem] = {}
    try:
        while True:
            # One item per worker waits in line, so that a finished worker never idles and most
            # of the work stays in the queue.
            while len(running) < 2 * workers and (item := queue.take()) is not None:
                running[_submit(item, workers)] = item
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            outcomes = [_outcome(future, running.pop(future)) for future in done]
            if any(outcome.lost for outcome in outcomes):
                outcomes += [Outcome(item, lost=True) for item in running.values()]
                running.clear()
                close_pools()
            yield from outcomes
    except BaseException:  # also when the caller stops listening: end the workers at once
        close_pools()
        raise


def _submit(item: WorkItem, workers: int) -> Future[Any]:
    try:
        return _pool(workers).submit(item.function, item.argument)
    except BrokenProcessPool:  # a worker died while idle
        close_pools()
        return _pool(workers).submit(item.function, item.argument)


def _outcome(future: Future[Any], item: WorkItem) -> Outcome:
    error = future.exception()
    if isinstance(error, BrokenProcessPool):
        return Outcome(item, error=error, lost=True)
    if error is not None:
        return Outcome(item, error=error)
    return Outcome(item, value=future.result())


_pools: dict[int, ProcessPoolExecutor] = {}
"""Open pools by number of workers: starting a worker costs seconds of imports."""


def _pool(workers: int) -> ProcessPoolExecutor:
    if workers not in _pools:
        context = get_context("spawn")  # forking with torch or ALE threads around can hang
        _pools[workers] = ProcessPoolExecutor(
            workers, mp_context=context, initializer=_start_worker
        )
    return _pools[workers]


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    os.dup2(2, 1)  # standard output is for the answer; an environment may print
    one_thread()  # before any numerical library is imported for an item


def close_pools() -> None:
    """End all workers at once: finished work has been handed on, the rest can be repeated."""
    while _pools:
        pool = _pools.popitem()[1]
        processes = list((getattr(pool, "_processes", None) or {}).values())
        manager = getattr(pool, "_executor_manager_thread", None)
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        if manager is not None:  # at exit, its pipes would close under Python's own farewell
            manager.join(timeout=5)


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
    tries: dict[int, int] = {}
    for outcome in executor.execute(pending, workers):
        if outcome.lost:
            tries[id(outcome.item)] = tries.get(id(outcome.item), 0) + 1
            if tries[id(outcome.item)] > RETRIES:
                raise ExecutionError(
                    f"the worker process died {RETRIES + 1} times while doing "
                    f"{outcome.item.label or 'its work'}: it may have run out of memory; try "
                    "fewer --workers"
                )
            pending.items.append(outcome.item)
        elif outcome.error is not None:
            raise as_rpd_error(outcome.error)
        else:
            handle(outcome.item, outcome.value)


def as_rpd_error(error: BaseException) -> BaseException:
    """Explain errors of shipping work; leave all others as they are."""
    if isinstance(error, RpdError):
        return error
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
