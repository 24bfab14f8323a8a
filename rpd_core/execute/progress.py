"""How far a run is: pace and time left of its stages, bars in a notebook or a terminal."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rpd_core.errors import ConfigError

Progress = Callable[[str, int, int], None]
"""Told (stage, done, total) as work is finished."""
Note = Callable[[str], None]
"""Told what the user should know."""

_EVERY = 0.2
"""Seconds between two pictures of the bars in a notebook."""


@contextmanager
def shown(wanted: Progress | bool) -> Iterator[Progress]:
    """Yield a function that is told (stage, done, total); True: bars where they can be seen."""
    if callable(wanted):
        yield wanted
    elif wanted is True:
        with _notebook_bars() if _in_notebook() else _terminal_bars() as tell:
            yield tell
    elif wanted is False:
        yield silent
    else:
        raise ConfigError(
            f"progress must be True, False or a function of (stage, done, total), got {wanted!r}"
        )


def silent(stage: str, done: int, total: int) -> None:
    """Show no progress."""


def _in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


@contextmanager
def _terminal_bars() -> Iterator[Progress]:
    """Show a bar for each stage on standard error, if that is a terminal."""
    from rich.console import Console  # rich takes a while to import
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if not console.is_terminal:
        yield silent
        return
    columns = (TextColumn("{task.description:>12}"), BarColumn(), MofNCompleteColumn())
    times = (TimeElapsedColumn(), TimeRemainingColumn())
    bars = Progress(*columns, *times, console=console, transient=True)
    tasks: dict[str, TaskID] = {}

    def tell(stage: str, done: int, total: int) -> None:
        if stage not in tasks:
            tasks[stage] = bars.add_task(stage, total=total)
        bars.update(tasks[stage], completed=done, total=total)

    with bars:
        yield tell


@contextmanager
def _notebook_bars() -> Iterator[Progress]:
    """Show a bar for each stage below the cell, and take them away at the end."""
    notebook = importlib.import_module("IPython.display")  # there, since this is a notebook
    handle = notebook.display(notebook.HTML(""), display_id=True)
    bars = NotebookBars(lambda text: handle.update(notebook.HTML(text)))
    try:
        yield bars.tell
    finally:
        bars.draw("")


class NotebookBars:
    """Bars as HTML, drawn now and then."""

    def __init__(self, draw: Callable[[str], object]) -> None:
        self.draw = draw
        self._stages: dict[str, tuple[int, int]] = {}
        self._last = 0.0

    def tell(self, stage: str, done: int, total: int) -> None:
        """Take note of how far a stage is; draw it unless that was done a moment ago."""
        new = stage not in self._stages
        self._stages[stage] = (done, total)
        now = time.monotonic()
        if new or done >= total or now - self._last >= _EVERY:
            self._last = now
            self.draw(self.as_html())

    def as_html(self) -> str:
        """Return the bars of all stages."""
        import html  # only a notebook shows it

        rows = "".join(
            f"<tr><td>{html.escape(stage)}</td>"
            f'<td><progress value="{done}" max="{max(total, 1)}"></progress></td>'
            f"<td>{done}/{total}</td></tr>"
            for stage, (done, total) in self._stages.items()
        )
        return f"<table>{rows}</table>"


RUNS = "runs"
"""The stage of a grid, which is made of whole runs."""


@dataclass
class Stage:
    """How far a stage is."""

    name: str
    total: int
    done: int
    """Episodes that are finished, also by earlier calls of the same command."""
    found: int
    """Episodes that were finished when the stage began."""
    began: float
    """When it began, by the clock."""
    changed: float
    """When something was finished last."""

    @property
    def counts_episodes(self) -> bool:
        """Whether it is made of episodes, and not one piece of work."""
        return self.total > 1 and self.name != RUNS

    @property
    def counted(self) -> str:
        """How much of it is done, in words; nothing for one piece of work."""
        if self.name != RUNS and not self.counts_episodes:
            return ""
        return f"{self.done} of {self.total} {RUNS if self.name == RUNS else 'episodes'}"

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""
        return self.done >= self.total


class Pace:
    """Follows the stages of a run and estimates how long the present one will take."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.stages: dict[str, Stage] = {}
        self.expected: float | None = None
        """Seconds per episode before any was played, where that is known."""
        self.quickest: float | None = None
        """Seconds per episode in the quickest stage so far."""

    def tell(self, name: str, done: int, total: int) -> Stage:
        """Note that a stage begins or that some of it is finished."""
        now, stage = self.clock(), self.stages.get(name)
        if stage is None or total != stage.total or done < stage.done:
            stage = self.stages[name] = Stage(name, total, done, done, now, now)
        elif done > stage.done:
            stage.done, stage.changed = done, now
            if stage.counts_episodes:
                each = (now - stage.began) / (done - stage.found)
                self.quickest = each if self.quickest is None else min(self.quickest, each)
        return stage

    def elapsed(self, stage: Stage) -> float:
        """Return the seconds since a stage began, or that it took."""
        return (stage.changed if stage.finished else self.clock()) - stage.began

    def left(self, stage: Stage) -> float | None:
        """Return the seconds until a stage is done; None where nothing is known yet.

        Until something of it is finished, its episodes are taken to last as long as others did.
        """
        if stage.finished:
            return 0.0
        own = stage.done - stage.found
        if own:
            each, since = (stage.changed - stage.began) / own, stage.changed
        else:
            known = self.seconds_each()
            if known is None or not stage.counts_episodes:
                return None
            each, since = known, stage.began
        return max((stage.total - stage.done) * each - (self.clock() - since), 0.0)

    def seconds_each(self) -> float | None:
        """Return how long an episode took in the quickest stage; None if none was played.

        Small stages are no guide: workers start in the first of them, and few episodes fit side by
        side less well than many.
        """
        known = [each for each in (self.expected, self.quickest) if each is not None]
        return min(known, default=None)


def in_words(seconds: float) -> str:
    """Return a length of time as people say it."""
    if seconds < 90:
        return "1 second" if round(seconds) == 1 else f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def as_clock(seconds: float) -> str:
    """Return a length of time as 0:01:30."""
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
