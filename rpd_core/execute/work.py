"""Units of work, and what runs them: the contract of executors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True)
class WorkItem:
    """A unit of work: a picklable function of one picklable argument."""

    function: Callable[[Any], Any]
    argument: Any
    label: str = ""
    """What progress and errors call it."""
    inputs: tuple[Path, ...] = ()
    """Files that the work reads; an executor on other machines takes them along."""


@dataclass(frozen=True)
class Outcome:
    """What became of a work item: `value`, unless `error` says what went wrong."""

    item: WorkItem
    value: Any = None
    error: BaseException | None = None
    lost: bool = False
    """The worker died, of which `error` may tell more; running the item again may succeed."""


class WorkQueue(Protocol):
    """Where an executor gets its work; more may arrive while it runs."""

    def take(self) -> WorkItem | None:
        """Give the next item; None: nothing now, ask again after the next outcome."""


@runtime_checkable
class Executor(Protocol):
    """Runs work items somewhere, in any order; the core retries and is the only writer.

    Each process uses one thread for numerics: set OMP_NUM_THREADS=1 before it imports anything.
    """

    def execute(self, queue: WorkQueue, workers: int) -> Iterator[Outcome]:
        """Yield outcomes as they come until nothing is running and the queue has no more."""
