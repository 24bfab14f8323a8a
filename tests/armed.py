"""A world and a policy that can be told to fail in the middle of any item of work of a run.

`Arming` is the executor of this machine that tells them: on a worker, the chosen items fail while
they are tried for the first time, or always, in the code of the environment or of the policy; an
item that plays nothing fails at its end.
"""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import itemwork
import numpy as np
import worlds

from rpd_core.execute.local import LocalProcesses
from rpd_core.plugin.protocols import (
    Choice,
    Engine,
    Facts,
    Lanes,
    Opening,
    Outcome,
    Policy,
    PolicyInput,
    StepResult,
    WorkItem,
    WorkQueue,
)

Deed = Callable[[], object]
_STEPS = 3
"""Calls of an environment or a policy after which the deed is done."""


def be_killed() -> None:
    """Die as by the kernel that needs the memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def run_out_of_memory() -> None:
    """Raise what Python raises for the memory that no machine has."""
    bytearray(1 << 60)


def exceed_limit() -> None:
    """Ask for 1 GiB where only 64 MiB more may be had."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), before[1]))
    try:
        np.ones(1 << 27)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def exhaust_group(group: Path) -> Deed:
    """Return the deed of using more memory than a control group allows: the kernel kills."""
    return partial(itemwork.exhaust_memory, str(group))


@dataclass
class _Armed:
    """What is to be done in this process, where, and after how many calls."""

    deed: Deed | None = None
    place: str = ""
    calls: int = 0

    def pass_by(self, place: str) -> None:
        if self.deed is not None and place == self.place:
            self.calls += 1
            if self.calls == _STEPS:
                self.do()

    def do(self) -> None:
        deed, self.deed = self.deed, None
        if deed is not None:
            deed()


_HERE = _Armed()


@dataclass(frozen=True)
class Corridor(worlds.Corridor):
    """The corridor, whose steps fail where that was asked for."""

    def open(self, opening: Opening) -> Lanes:
        return _CorridorLanes(opening.lanes)


class _CorridorLanes(worlds.CorridorLanes):
    def step(self, actions: worlds.Array, active: worlds.NDArray[np.bool_]) -> StepResult:
        _HERE.pass_by("environment")
        return super().step(actions, active)


@dataclass(frozen=True)
class Goes(worlds.Goes):
    """The policy of the corridor, whose decisions fail where that was asked for."""

    def load(self, facts: Facts) -> Policy:
        decide = super().load(facts)

        def passing(seen: PolicyInput) -> Choice:
            _HERE.pass_by("policy")
            return decide(seen)

        return passing


def _perform(work: tuple[Callable[[Any], Any], Any, Deed, str]) -> Any:
    """Do the work of an item, with the deed on the way."""
    function, argument, deed, place = work
    _HERE.deed, _HERE.place, _HERE.calls = deed, place, 0
    try:
        value = function(argument)
        _HERE.do()
        return value
    finally:
        _HERE.deed = None


@dataclass
class Arming:
    """One worker of this machine, whose chosen items fail on the way."""

    deed: Deed | None = None
    """What happens."""
    place: str = "environment"
    """In whose code."""
    chosen: Callable[[str], bool] = lambda label: True
    """Whether it happens in an item that is called like this."""
    always: bool = False
    """Whether it happens again when the item is tried again."""
    isolate: bool = True
    """Whether work is done in another process, not in this one."""
    labels: list[str] = field(default_factory=list)
    """What the items are called that were taken, in that order."""
    lost: int = 0
    """How often an item was tried again."""

    @contextmanager
    def open(self, workers: int) -> Iterator[Engine]:
        with LocalProcesses(isolate=self.isolate).open(1) as engine:
            yield _Engine(self, engine)

    def armed(self, item: WorkItem) -> WorkItem:
        """Return an item as the worker gets it."""
        self.labels += [item.label] if item.attempt == 0 else []
        self.lost += item.attempt > 0
        if self.deed is None or not self.chosen(item.label) or (item.attempt and not self.always):
            return item
        work = (item.function, item.argument, self.deed, self.place)
        return replace(item, function=_perform, argument=work)


@dataclass(frozen=True)
class _Engine:
    arming: Arming
    engine: Engine

    def execute(self, queue: WorkQueue) -> Iterator[Outcome]:
        yield from self.engine.execute(_Queue(self.arming, queue))


@dataclass(frozen=True)
class _Queue:
    arming: Arming
    queue: WorkQueue

    def take(self) -> WorkItem | None:
        item = self.queue.take()
        return None if item is None else self.arming.armed(item)
