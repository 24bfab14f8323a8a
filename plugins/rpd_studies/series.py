"""Many runs in one folder, one after the other: one engine does the work of all of them."""

from __future__ import annotations

import dataclasses
import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rpd_core.api import Call
from rpd_core.cli.shared import resumable
from rpd_core.errors import ConfigError
from rpd_core.execute.progress import RUNS, Note, shown
from rpd_core.plugin.blame import gave_instead, lacks_of_kind, require
from rpd_core.plugin.protocols import Engine, Executor
from rpd_core.plugin.registry import installed
from rpd_core.store.files import locked

_OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)
"""Errors that no other run would escape."""
Asked = TypeVar("Asked")
Found = TypeVar("Found")


@contextmanager
def series(call: Call, folder: Path) -> Iterator[Call]:
    """Hold a folder for many runs; yield the call that they have in common, with one open engine.

    Each would pay for starting workers. A note is passed on once, however many runs it comes from.
    Whoever interrupts is told how to go on.
    """
    _refuse_foreign(folder)
    executor = call.executor
    if isinstance(executor, str):
        executor = installed().make("executor", executor)
    with (
        resumable(folder, same_command=True),
        locked(folder),
        shown(call.progress) as progress,
        standing(executor, call.workers) as engine,
    ):
        note = heard_once(call.note)
        yield dataclasses.replace(call, executor=engine, progress=progress, note=note)


def play_each(
    call: Call,
    asked: Sequence[Asked],
    play: Callable[[Asked], Found],
    failed: Callable[[Asked, Exception], Found] | None = None,
) -> list[Found]:
    """Play runs one after the other, and show how many are done.

    With `failed`, an error is what that makes of it, and the others are played; but for one of the
    disk, which no other would escape.
    """
    found = []
    for place, one in enumerate(asked):
        _tell(call, place, len(asked))
        try:
            found.append(play(one))
        except Exception as error:  # of a policy, an environment, an executor: another may do well
            if failed is None or _is_of_the_disk(error):
                raise
            found.append(failed(one, error))
    _tell(call, len(asked), len(asked))
    return found


def _tell(call: Call, done: int, total: int) -> None:
    if callable(call.progress):
        call.progress(RUNS, done, total)


def _is_of_the_disk(error: BaseException) -> bool:
    causes = (error, error.__cause__)
    return any(isinstance(one, OSError) and one.errno in _OF_THE_DISK for one in causes)


def _refuse_foreign(folder: Path) -> None:
    """Refuse a folder that holds a run, or what is no folder."""
    if (folder / "run.json").exists():
        raise ConfigError(f"{str(folder)!r} is a run, not the folder of many: choose another --out")
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{str(folder)!r} is not a folder: choose another --out")


def heard_once(note: Note) -> Note:
    """Return a note that is passed on once, however often it comes."""
    heard: set[str] = set()

    def once(text: str) -> None:
        if text not in heard:
            heard.add(text)
            note(text)

    return once


@dataclass(frozen=True)
class _Standing:
    """An executor whose engine somebody else has opened, and closes."""

    engine: Engine
    """Does the work of one run after the other."""
    workers: int
    """Workers that it was opened with."""
    behind: Executor
    """What it was opened from, for work that cannot leave this process."""

    @property
    def stall_timeout(self) -> float | None:
        """Seconds without progress after which work is given up, where that can be set."""
        found: float | None = getattr(self.behind, "stall_timeout", None)
        return found

    @contextmanager
    def open(self, workers: int) -> Iterator[Engine]:
        """Yield the open engine; one of its own where the work takes another number of workers."""
        if workers == self.workers:
            yield self.engine
            return
        with self.behind.open(workers) as engine:
            yield engine


@contextmanager
def standing(executor: Executor, workers: int) -> Iterator[_Standing]:
    """Open an executor for many runs."""
    require("executor", executor, lacks_of_kind("executor", executor))
    with executor.open(workers) as engine:
        require("executor", executor, gave_instead("failed: open()", engine, Engine))
        yield _Standing(engine, workers, executor)
