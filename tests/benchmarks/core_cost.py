"""What does the core cost per item of work? `python tests/benchmarks/core_cost.py`.

An executor that only pretends has a thousand workers and answers at once, so that all time is the
core's: making items, handing them out, checking that each comes back once, retrying what was lost;
then, apart from that, turning answers into tables, storing them as parts, and merging these.
Processor time counts, and memory is looked at while the items pass.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from rpd_core.config.resolve import Setup, resolve
from rpd_core.config.settings import Request
from rpd_core.execute.items import run_items
from rpd_core.play.chunks import PlayedSuite, SuiteChunk, perform_suite
from rpd_core.play.recipe import recipe_of
from rpd_core.plugin.protocols import Outcome, WorkItem, WorkQueue
from rpd_core.plugin.registry import installed
from rpd_core.store.directory import RunDirectory
from rpd_core.store.merge import merge_directories
from rpd_core.store.session import Session, play_parts

WORKERS, ITEMS = 1_000, 100_000
LOSES = 1_000
"""One item in so many is lost once."""


class Pretending:
    """An engine whose workers answer at once, in the order in which they were asked."""

    def __init__(self, workers: int, answer: Callable[[WorkItem], Any], loses: int = 0) -> None:
        self.workers, self.answer, self.loses = workers, answer, loses

    def execute(self, queue: WorkQueue) -> Iterator[Outcome]:
        """Yield an outcome for each item, now and then a loss."""
        running: deque[WorkItem] = deque()
        count = 0
        while True:
            while len(running) < self.workers and (item := queue.take()) is not None:
                running.append(item)
            if not running:
                return
            item, count = running.popleft(), count + 1
            if self.loses and item.attempt == 0 and count % self.loses == 0:
                yield Outcome(item.identity, lost=True)
            else:
                yield Outcome(item.identity, self.answer(item))


@dataclass
class Passing:
    """What was seen while items passed."""

    seconds: float
    """Processor time."""
    most_alive: int
    """Items that existed at once, at most."""
    memory: list[int]
    """Resident memory after each tenth of them, in KiB."""


def resident() -> int:
    """Return this process's memory now, in KiB."""
    if sys.platform != "linux":
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 1024


def pass_items(count: int, workers: int = WORKERS) -> Passing:
    """Have the core pass items of a suite's kind to an engine that pretends, and back."""
    job = SuiteChunk(recipe_of(setup_of("cartpole", count)), 0, 0.4, 0, 0)
    made = handled = most = 0
    memory: list[int] = []

    def items() -> Iterator[WorkItem]:
        nonlocal made, most
        for first in range(count):
            made += 1
            most = max(most, made - handled)
            part = replace(job, first=first, last=first)
            yield WorkItem(f"digest/suite/{first}-{first}", perform_suite, part, f"episode {first}")

    def handle(item: WorkItem, answer: Any) -> None:
        nonlocal handled
        handled += 1
        if handled % (count // 10) == 0:
            memory.append(resident())

    start = time.process_time()
    run_items(Pretending(workers, lambda item: None, LOSES), items(), handle)
    assert handled == count
    return Passing(time.process_time() - start, most, memory)


@cache
def setup_of(env: str, episodes: int, chunk: int = 1) -> Setup:
    """Return a run of so many episodes in parts of `chunk`."""
    return resolve(Request(env=env, episodes=episodes, chunk=chunk), installed())


def store_parts(parts: int, chunk: int, folder: Path) -> tuple[float, float, int]:
    """Store parts of a CartPole suite that nobody plays.

    Return the processor time and the time of it, and the bytes of a part.
    """
    setup = setup_of("cartpole", parts * chunk, chunk)
    settings = setup.config.settings
    whole = SuiteChunk(
        recipe_of(setup), settings.seed, settings.mutation_rate, 0, parts * chunk - 1
    )
    played = perform_suite(replace(whole, last=chunk - 1))
    directory = RunDirectory(folder)
    directory.create(setup.config)
    engine = Pretending(WORKERS, lambda item: _moved(played, item.argument.first))
    session = Session(setup, directory, installed(), engine)
    start, clock = time.process_time(), time.perf_counter()
    play_parts(session, "suite", directory.suite(), whole)
    spent = time.process_time() - start, time.perf_counter() - clock
    size = sum(path.stat().st_size for path in (folder / "suite").rglob("*") if path.is_file())
    return (*spent, size // parts)


def join_parts(run: Path, out: Path, parts: int) -> float:
    """Return the processor time of merging a stored run into a new one, per part."""
    start = time.process_time()
    found = merge_directories(RunDirectory(out), [RunDirectory(run)])
    assert found.parts == parts
    return (time.process_time() - start) / parts


def _moved(chunk: PlayedSuite, first: int) -> PlayedSuite:
    """Return what was played as if it was later episodes."""
    suite = chunk.suite
    episodes = replace(suite.episodes, index=suite.episodes.index + first)
    visits = replace(suite.visits, episode=suite.visits.episode + first)
    return replace(chunk, suite=replace(suite, episodes=episodes, visits=visits))


def measure() -> dict[str, Any]:
    """Return items per second of processor time, and memory, for the loop and for storing."""
    pass_items(2_000)
    few, many = pass_items(ITEMS // 10), pass_items(ITEMS)
    found: dict[str, Any] = {
        "items_per_second": ITEMS / many.seconds,
        "of_a_tenth_as_many": ITEMS / 10 / few.seconds,
        "most_alive": many.most_alive,
        "memory_growth_kib": many.memory[-1] - many.memory[0],
    }
    for chunk, parts in ((1, 2_000), (250, 500), (2_500, 60)):
        with tempfile.TemporaryDirectory() as folder:
            run = Path(folder) / "run"
            busy, clock, size = store_parts(parts, chunk, run)
            joined = join_parts(run, Path(folder) / "all", parts)
        found[f"parts_of_{chunk}"] = {
            "per_second_of_processor_time": parts / busy,
            "per_second": parts / clock,
            "bytes": size,
            "merged_per_second_of_processor_time": 1 / joined,
        }
    return found


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
