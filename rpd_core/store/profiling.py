"""Where the time of a run went: stages of this process, and what workers told of their items."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from rpd_core.play.timing import Stopwatch, Timed, TimedAnswer, perform_timed
from rpd_core.plugin.protocols import WorkItem

ELSEWHERE = "elsewhere"
"""What no stage is."""


@dataclass(frozen=True)
class Profile:
    """What was found, in seconds."""

    seconds: float
    """From the beginning to the end."""
    stages: dict[str, float]
    """Of this process, by stage; waiting for workers is part of the stage that waits."""
    items: int
    """Items of work that came back."""
    workers: dict[str, float]
    """Inside those items, wherever they were done, by what was called; they may overlap in time."""


@dataclass
class Profiler:
    """Times the stages of a run and adds up what its workers tell."""

    began: float = field(default_factory=time.perf_counter)
    watch: Stopwatch = field(default_factory=lambda: Stopwatch(present=ELSEWHERE))
    items: int = 0
    workers: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what is done meanwhile, apart from stages within it."""
        outer = self.watch.present
        self.watch.switch(name)
        try:
            yield
        finally:
            self.watch.switch(outer)

    def wrapped(self, item: WorkItem) -> WorkItem:
        """Return an item that times itself where it is done; its identity stays."""
        return replace(item, function=perform_timed, argument=Timed(item.function, item.argument))

    def unwrapped(self, answer: TimedAnswer) -> object:
        """Return what an item gave; its times are added up."""
        self.items += 1
        for what, seconds in answer.spent.items():
            self.workers[what] = self.workers.get(what, 0.0) + seconds
        return answer.value

    def found(self) -> Profile:
        """Return where the time went so far."""
        self.watch.switch(self.watch.present)
        stages = _largest_first(self.watch.spent)
        seconds = time.perf_counter() - self.began
        return Profile(seconds, stages, self.items, _largest_first(self.workers))


def _largest_first(spent: dict[str, float]) -> dict[str, float]:
    return dict(sorted(spent.items(), key=lambda one: (-one[1], one[0])))
