"""Units of work, and what runs them: the contract of executors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True)
class InputFile:
    """A file that the work reads, and what must be in it."""

    path: Path
    """Where it is on the machine that made the item."""
    digest: str
    """`sha256:` and the hexadecimal digest of its content."""


@dataclass(frozen=True)
class WorkItem:
    """A unit of work: a picklable function of one picklable argument.

    An executor pickles the whole item, calls `rpd_core.perform(item)` where the work is to be done,
    and brings the `Outcome` back as it is. That raises nothing that the work raises: errors are
    part of the outcome. Items of one process are performed one at a time, in whatever thread. An
    item may be performed more than once; the core uses one of the outcomes.
    """

    identity: str
    """Unique among all items of all runs, and the same when the item is made again."""
    function: Callable[[Any], Any]
    """What is called, with `argument`."""
    argument: Any
    """What it is called with; can be pickled."""
    label: str = ""
    """What progress and errors call it."""
    files: tuple[InputFile, ...] = ()
    """Files that the work reads: their content is checked where it runs.

    An executor whose workers have other disks ships `rpd_core.contents(item.files)` once, and
    calls `rpd_core.deliver` with it on each worker.
    """
    attempt: int = 0
    """0, and one more each time lost work is tried again; `identity` and `attempt` make a key for a
    scheduler."""


@dataclass(frozen=True)
class Outcome:
    """What became of a work item, under its identity; can be pickled where `perform` made it."""

    identity: str
    """Of the item."""
    value: Any = None
    """What the work returned."""
    error: BaseException | None = None
    """What the work raised, or why the executor cannot have it done; then there is no value."""
    lost: bool = False
    """The worker died, of which `error` may tell more; trying the item again may succeed."""


class WorkQueue(Protocol):
    """Where an engine gets its work; more may arrive while it runs."""

    def take(self) -> WorkItem | None:
        """Return the next item, at once; None: nothing now, ask again after the next outcome."""


class Engine(Protocol):
    """An executor that was opened for a run; used by one thread, for one queue after another."""

    def execute(self, queue: WorkQueue) -> Iterator[Outcome]:
        """Yield outcomes as they come until nothing is running and the queue has no more.

        Take items, in the thread that iterates, until all workers are busy (and a few wait) or the
        queue gives None; yield each outcome; then take again, because lost work returns to the
        queue while the iterator is suspended. Return only when the queue gives None while nothing
        is running. Every item that was taken comes back in one outcome, in any order. When the
        caller closes the iterator early, cancel what is under way or ignore what it gives: an item
        of an earlier call never appears in a later one. Switch an engine's own retries off.
        """


@runtime_checkable
class Executor(Protocol):
    """The recipe of what runs work items somewhere; the core retries and is the only writer.

    It is never pickled, stored or part of a run's identity, so a field may hold a live client.
    """

    def open(self, workers: int) -> AbstractContextManager[Engine]:
        """Return a context: entered before a run's first item, left after its last, also on errors.

        Starting and ending workers is the executor's own affair. A worker process sets
        OMP_NUM_THREADS=1 before it imports anything numerical where it can; environments that are
        still open when it ends in an orderly way are closed.
        """
