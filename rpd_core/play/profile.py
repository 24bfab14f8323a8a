"""Where the time of a run goes: stages of this process, and what workers call inside their items.

While an item is timed, what a player has opened is called through thin wrappers that switch the
stopwatch; what happens between two calls is named after the one before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from rpd_core.plugin.chain import Chain
from rpd_core.plugin.protocols import WorkItem

if TYPE_CHECKING:
    from rpd_core.play.loop import Player

OPENING, LOOP, RECORDING = "opening", "loop", "recording"
_CALLS = {
    "environment": LOOP,
    "abstraction": "keys and coins",
    "policy": LOOP,
    "default action": RECORDING,
}
"""What is called, and what the loop does next."""
_LANES = ("reset", "step", "observe", "view", "info")


@dataclass
class _Stopwatch:
    """Seconds by what they were spent on, by clock and by processor; one thing at a time."""

    spent: dict[str, float] = field(default_factory=dict)
    processor: dict[str, float] = field(default_factory=dict)
    present: str = OPENING
    since: float = field(default_factory=time.perf_counter)
    worked: float = field(default_factory=time.process_time)

    def switch(self, what: str) -> None:
        now, worked = time.perf_counter(), time.process_time()
        _add(self.spent, {self.present: now - self.since})
        _add(self.processor, {self.present: worked - self.worked})
        self.present, self.since, self.worked = what, now, worked


def _add(spent: dict[str, float], more: Mapping[str, float]) -> None:
    for what, seconds in more.items():
        spent[what] = spent.get(what, 0.0) + seconds


_present: ContextVar[_Stopwatch | None] = ContextVar("stopwatch", default=None)
"""The stopwatch of the item that this process works on; items run one at a time."""


def _perform_timed(timed: tuple[Callable[[Any], Any], Any]) -> tuple[Any, _Stopwatch]:
    function, argument = timed
    watch = _Stopwatch()
    token = _present.set(watch)
    try:
        value = function(argument)
    finally:
        _present.reset(token)
    watch.switch("")
    return value, watch


def timing() -> bool:
    return _present.get() is not None


def instrument(player: Player) -> None:
    """Have everything that a player calls timed, from now on, when its item is."""
    unwatched, play_together = cast(Any, player), player.play_together
    unwatched.lanes = _TimedLanes(player.lanes)
    if isinstance(player.abstraction, Chain):
        unwatched.abstraction = _TimedChain(player.abstraction.links)
    unwatched.policy = _TimedCall("policy", player.policy)
    unwatched.default = _TimedCall("default action", player.default)

    def then_recording(*given: Any, **more: Any) -> Any:
        played, watch = play_together(*given, **more), _present.get()
        if watch is not None:
            watch.switch(RECORDING)  # its steps become columns
        return played

    unwatched.play_together = then_recording


def _timed(what: str, function: Callable[..., Any], *given: Any) -> Any:
    watch = _present.get()
    if watch is None:
        return function(*given)
    watch.switch(what)
    try:
        return function(*given)
    finally:
        watch.switch(_CALLS[what])


class _TimedLanes:
    """Lanes whose calls are timed."""

    def __init__(self, lanes: object) -> None:
        self._lanes = lanes

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._lanes, name)
        if name not in _LANES:
            return found

        def call(*given: Any) -> Any:
            return _timed("environment", found, *given)

        setattr(self, name, call)  # looked up once
        return call


class _TimedCall:
    """A policy or a default action whose calls are timed."""

    def __init__(self, what: str, function: Callable[..., Any]) -> None:
        self._what, self._function = what, function

    def __call__(self, given: Any) -> Any:
        return _timed(self._what, self._function, given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


class _TimedChain(Chain):
    """Abstractions whose calls are timed."""

    def __call__(self, values: object, views: object) -> Any:
        return _timed("abstraction", super().__call__, values, views)


ELSEWHERE = "elsewhere"  # what no stage is


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
    stages_processor: dict[str, float] = field(default_factory=dict)
    """Processor time of this process, likewise."""
    workers_processor: dict[str, float] = field(default_factory=dict)
    """Processor time inside the items, likewise: other programs on the machine do not add to it."""


@dataclass
class Profiler:
    """Times the stages of a run and adds up what its workers tell."""

    began: float = field(default_factory=time.perf_counter)
    watch: _Stopwatch = field(default_factory=lambda: _Stopwatch(present=ELSEWHERE))
    items: int = 0
    workers: dict[str, float] = field(default_factory=dict)
    workers_processor: dict[str, float] = field(default_factory=dict)

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
        return replace(item, function=_perform_timed, argument=(item.function, item.argument))

    def unwrapped(self, answer: tuple[object, _Stopwatch]) -> object:
        value, watch = answer
        self.items += 1
        _add(self.workers, watch.spent)
        _add(self.workers_processor, watch.processor)
        return value

    def found(self) -> Profile:
        self.watch.switch(self.watch.present)
        seconds = time.perf_counter() - self.began
        spent = self.watch.spent, self.workers, self.watch.processor, self.workers_processor
        largest_first = [dict(sorted(x.items(), key=lambda one: (-one[1], one[0]))) for x in spent]
        stages, workers, *processor = largest_first
        return Profile(seconds, stages, self.items, workers, *processor)
