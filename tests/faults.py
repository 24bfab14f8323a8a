"""Faults that every engine must survive alike: memory that runs out, processes that stop."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import itemwork
import pytest
from clusters import Heard, items, kill_worker_once, results

from rpd_core.errors import ExecutionError
from rpd_core.plugin.protocols import Engine

_GROUPS = (
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
    ("/sys/fs/cgroup", "memory.max"),
)
"""Where control groups of memory lie, and the file that holds their limit: both versions."""
_ALLOWED = 64 << 20


@contextmanager
def little_memory() -> Iterator[Path]:
    """Yield a control group whose processes the kernel kills when they use more than 64 MiB."""
    for place, limit in _GROUPS:
        group = Path(place, f"rpd-tests-{os.getpid()}")
        try:
            group.mkdir()
        except OSError:
            continue
        if not (group / limit).exists():
            group.rmdir()
            continue
        (group / limit).write_text(str(_ALLOWED))
        try:
            yield group
        finally:
            group.rmdir()
        return
    pytest.skip("needs a control group of memory that may be changed")


def check_a_worker_that_is_killed(engine: Engine, folder: Path) -> str:
    """Check that a killed worker costs its own item only; return what is said of it."""
    work = [
        *items(kill_worker_once, str(folder / "marker")),
        *items(itemwork.double, *range(20)),
    ]
    heard = Heard(engine)
    assert results(heard, work) == ["survived", *range(0, 40, 2)]
    (lost,) = [outcome for outcome in heard.outcomes if outcome.lost]
    assert lost.identity == work[0].identity
    return str(lost.error)


def check_a_process_that_dies_every_time(engine: Engine) -> str:
    """Check that its item is given up in the end; return what is said of it."""
    with pytest.raises(ExecutionError) as caught:
        results(engine, items(itemwork.die_of, signal.SIGKILL))
    told = str(caught.value)
    assert "was killed by SIGKILL (memory may have run out" in told
    assert told.endswith(", 4 times, while doing die_of 0")
    return told


def check_memory_that_the_kernel_ends(engine: Engine) -> None:
    """Check that a process killed for its memory costs its own item, which is given up at last."""
    with little_memory() as group:
        work = [*items(itemwork.double, 1), *items(itemwork.exhaust_memory, str(group))]
        with pytest.raises(ExecutionError) as caught:
            results(engine, work)
    assert "was killed by SIGKILL (memory may have run out: try fewer --workers)" in str(
        caught.value
    )
    assert str(caught.value).endswith(", 4 times, while doing exhaust_memory 0")
    assert results(engine, items(itemwork.double, 2)) == [4]


def check_memory_that_is_refused(engine: Engine, folder: Path) -> None:
    """Check that work without enough memory is tried again, and given up in one line."""
    heard = Heard(engine)
    marker = str(folder / "wanted")
    work = [
        *items(itemwork.want_too_much_once, marker),
        *items(itemwork.double, *range(4)),
    ]
    assert results(heard, work) == ["survived", 0, 2, 4, 6]
    with pytest.raises(ExecutionError) as caught:
        results(engine, items(itemwork.want_too_much, 1))
    told = "the worker process ran out of memory (MemoryError), 4 times, while doing "
    assert str(caught.value) == f"{told}want_too_much 0"


def check_a_process_that_stops(impatient: Engine) -> None:
    """Check that a stopped process is ended; the engine gives up after a second."""
    with pytest.raises(ExecutionError, match=r"^no progress for 1 seconds before the first"):
        results(impatient, items(itemwork.stop_itself, 1))
