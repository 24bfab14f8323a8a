"""Consoles whose text carries no control characters, and progress on standard error.

Progress is shown as bars on a terminal, and as a line now and then elsewhere.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.segment import Segment

from rpd_core.cli.streams import clear_status, output_for_the_answer
from rpd_core.execute.progress import RUNS, Pace, Stage, as_clock, in_words

if TYPE_CHECKING:
    from rich.progress import Progress, Task


def without_controls(text: str) -> str:
    """Return text in which only line ends steer the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


class CleanConsole(Console):
    """A console that shows names out of files, which may hold escape sequences, as plain text.

    What rich itself sends, colours and progress bars, is not text and passes. Names such as
    `networks:X:` stay as they are: nothing becomes an emoji.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(emoji=False, highlight=False, **options)

    def render(self, *args: Any, **options: Any) -> Iterable[Segment]:
        """Yield what is to be shown, its text cleaned."""
        for segment in super().render(*args, **options):
            clean = segment.control or segment.text.isprintable()
            yield segment if clean else segment._replace(text=without_controls(segment.text))


_bars: list[tuple[Console, Callable[[], None]]] = []
"""The console that shows progress bars, while they are there, and what ends them."""


@contextmanager
def showing_bars(console: Console, end: Callable[[], None]) -> Iterator[None]:
    """Meanwhile let everything else that is shown stand above the bars of a console."""
    clear_status()
    _bars.append((console, end))
    try:
        yield
    finally:
        _bars.pop()


def end_bars() -> None:
    """End the bars that are shown, so that a last word stands below them."""
    for _, end in _bars:
        end()


def errors() -> Console:
    """Return the console for everything that is not the answer."""
    clear_status()
    return _bars[-1][0] if _bars else CleanConsole(stderr=True, soft_wrap=True)


def asked_width() -> int | None:
    """Return the width of the terminal, or the one asked for in the environment; None: neither."""
    if sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    asked = os.environ.get("COLUMNS", "")
    return int(asked) if asked.isdecimal() and 20 <= int(asked) <= 1000 else None


def answers() -> Console:
    """Return the console for the answer; as wide as it is made for when it is not a terminal."""
    clear_status()
    width = None if sys.stdout.isatty() else asked_width() or 100
    return CleanConsole(width=width)


# ---------------------------------------------------------------------------------- progress


EVERY = 60.0
"""Seconds between two lines, at least; a stage that lasts longer has fewer of them."""
SHARE = 0.1
"""Part of the time since a stage began that passes, at least, between two lines."""
YOUNG = 1.0
"""Seconds in which a stage has nothing to tell yet."""
_LOOK_EVERY = 0.2
ALL = "all"
"""The name of the bar for everything."""
_PULSE = ""
"""The name of a bar without an end."""


@contextmanager
def progress_bars(label: str = "starting") -> Iterator[Display]:
    """Show how far each stage is, with an estimate; `label` is shown until the first one begins."""
    console = errors()
    lines = Lines(lambda text: errors().print(f"rpd: {text}", markup=False))
    display = Bars(console, label) if console.is_terminal else lines
    with display, output_for_the_answer():
        yield display


class Display:
    """Shows how far the stages are; to be called with (stage, done, total)."""

    def __init__(self) -> None:
        self.pace = Pace()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Note that a stage begins or that some of it is finished."""
        self.pace.tell(stage, done, total)

    def __enter__(self) -> Display:
        return self

    def __exit__(self, *_: object) -> None:
        """Stop showing anything."""

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Meanwhile show nothing, so that a question can be asked."""
        yield

    @contextmanager
    def busy(self, label: str) -> Iterator[None]:
        """Meanwhile show that something is done whose length is not known."""
        yield


class Bars(Display):
    """A bar for everything, where its length is known, and below it one for the present stage."""

    def __init__(self, console: Console, label: str) -> None:
        super().__init__()
        self.bars = _make_bars(console, self.pace)
        self.tasks: dict[str, Any] = {}
        self._pulse(label)

    def __enter__(self) -> Display:
        self._showing = showing_bars(self.bars.console, self.bars.stop)
        self._showing.__enter__()
        self.bars.start()
        return self

    def __exit__(self, *what: object) -> None:
        """Leave the bars as they are; what comes next stands below them."""
        self._end_pulse()
        if ALL in self.tasks and what[:1] in ((), (None,)):
            self.bars.update(self.tasks[ALL], completed=1.0)
        self.bars.stop()
        self._showing.__exit__(None, None, None)

    def __call__(self, stage: str, done: int, total: int) -> None:
        super().__call__(stage, done, total)
        self._end_pulse()
        share = self.pace.share()
        if share is not None:
            self._draw(ALL, share, 1.0)
        for other in self.tasks.keys() - {ALL, RUNS, stage}:
            self.bars.remove_task(self.tasks.pop(other))
        self._draw(stage, done, None if self.pace.stages[stage].is_open else total)

    def _draw(self, name: str, done: float, total: float | None) -> None:
        if name not in self.tasks:
            self.tasks[name] = self.bars.add_task(name, total=total, stage=name)
        self.bars.update(self.tasks[name], completed=done, total=total)

    def _pulse(self, label: str) -> None:
        self.tasks[_PULSE] = self.bars.add_task(label, total=None, stage="")

    def _end_pulse(self) -> None:
        if _PULSE in self.tasks:
            self.bars.remove_task(self.tasks.pop(_PULSE))

    @contextmanager
    def busy(self, label: str) -> Iterator[None]:
        self._end_pulse()
        self._pulse(label)
        try:
            yield
        finally:
            self._end_pulse()

    @contextmanager
    def paused(self) -> Iterator[None]:
        self.bars.stop()
        try:
            yield
        finally:
            self.bars.start()


def _make_bars(console: Console, pace: Pace) -> Progress:
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
    from rich.text import Text

    class Count(ProgressColumn):
        """How many episodes are done."""

        def render(self, task: Task) -> Text:
            if task.fields["stage"] == ALL:
                return Text(f"{task.completed:.0%}")
            stage = pace.stages.get(task.fields["stage"])
            return Text("" if stage is None else stage.counted.replace(" of ", "/"))

    class Left(ProgressColumn):
        """How long it will take."""

        def render(self, task: Task) -> Text:
            name = task.fields["stage"]
            stage = pace.stages.get(name)
            left = None if stage is None or stage.is_open else pace.left(stage)
            if name == ALL:
                left = 0.0 if task.finished else pace.left_of_all()
            about = "about " * (name == ALL)
            return Text("" if not left else f"{about}{as_clock(left)} left", style="cyan")

    columns = (
        *(TextColumn("{task.description:>12}"), BarColumn(), Count()),
        *(TimeElapsedColumn(), Left()),
    )
    return Progress(*columns, console=console)


class Lines(Display):
    """A line now and then, for logs; quick stages have none."""

    def __init__(self, write: Callable[[str], None]) -> None:
        super().__init__()
        self.write = write
        self.present: Stage | None = None
        self.written = self.pace.clock()
        self._lock, self._over = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Display:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def __call__(self, stage: str, done: int, total: int) -> None:
        with self._lock:
            self.present = self.pace.tell(stage, done, total)
            self.write_if_due()

    def write_if_due(self) -> None:
        stage, now = self.present, self.pace.clock()
        if stage is not None:
            due = self.written + max(EVERY, SHARE * (now - stage.began))
            if now >= max(due, stage.began + YOUNG) and (
                stage.done > stage.found or not stage.finished
            ):
                self.written = now
                self.write(_stage_in_words(stage, self.pace))
                self.present = None if stage.finished else stage

    def _look(self) -> None:
        while not self._over.wait(_LOOK_EVERY):
            with self._lock:
                self.write_if_due()


def _stage_in_words(stage: Stage, pace: Pace) -> str:
    """Return a line on how far a stage is, and how far everything."""
    spent = in_words(pace.elapsed(stage))
    if not stage.counted:
        return f"{stage.name}: {spent} so far{_whole_in_words(pace)}"
    share = "" if stage.is_open else f" ({stage.done / stage.total:.0%})"
    text = f"{stage.name}: {stage.counted}{share} in {spent}"
    left, whole = pace.left(stage), pace.stages.get(RUNS)
    if pace.plan:
        return f"{text}{_whole_in_words(pace)}"
    text = f"{text}, about {in_words(left)} left" if left and left >= 1 else text
    return text if whole is None or whole is stage else f"{text}; {whole.counted} done"


def _whole_in_words(pace: Pace) -> str:
    """Return how far everything is, where that is known."""
    share, left = pace.share(), pace.left_of_all()
    if share is None:
        return ""
    return f"; {share:.0%} of all" + (f", about {in_words(left)} left" if left else "")
