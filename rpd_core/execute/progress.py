"""How far a run is: pace and time left of its stages, bars in a notebook or a terminal."""

from __future__ import annotations

import importlib
import inspect
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rpd_core.errors import ConfigError, brief

Progress = Callable[[str, int, int], None]  # told (stage, done, total) as work is finished
Note = Callable[[str], None]  # told what the user should know

_EVERY = 0.2  # seconds between two pictures of the bars in a notebook


@contextmanager
def shown(wanted: Progress | bool) -> Iterator[Progress]:
    """Yield a function that is told (stage, done, total); True: bars where they can be seen."""
    if callable(wanted):
        check_told("progress", wanted, "stage", "done", "total")
        yield wanted
    elif wanted is True:
        ipython = sys.modules.get("IPython")
        shell = ipython.get_ipython() if ipython is not None else None
        in_notebook = getattr(shell, "kernel", None) is not None
        with _notebook_bars() if in_notebook else _terminal_bars() as tell:
            yield tell
    elif wanted is False:
        yield silent
    else:
        raise ConfigError(
            "progress must be True, False or a function of (stage, done, total), got "
            f"{brief(wanted)}"
        )


def check_told(name: str, function: object, *of: str) -> None:
    """Refuse what cannot be called with this many arguments, before anything is played."""
    if callable(function):
        try:
            inspect.signature(function).bind(*of)
        except TypeError:
            pass
        except ValueError:  # some functions in C do not tell what they take
            return
        else:
            return
    listed = of[0] if len(of) == 1 else f"({', '.join(of)})"
    raise ConfigError(f"{name} must be a function of {listed}, got {brief(function)}")


def silent(stage: str, done: int, total: int) -> None:
    """Show no progress."""


@contextmanager
def _terminal_bars() -> Iterator[Progress]:
    from rich import progress as parts
    from rich.console import Console  # rich takes a while to import

    console = Console(stderr=True)
    if not console.is_terminal:
        yield silent
        return
    counts = (parts.BarColumn(), parts.MofNCompleteColumn())
    times = (parts.TimeElapsedColumn(), parts.TimeRemainingColumn())
    name = parts.TextColumn("{task.description:>12}")
    bars = parts.Progress(name, *counts, *times, console=console, transient=True)
    tasks: dict[str, parts.TaskID] = {}

    def tell(stage: str, done: int, total: int) -> None:
        if stage not in tasks:
            tasks[stage] = bars.add_task(stage, total=total)
        bars.update(tasks[stage], completed=done, total=total)

    with bars:
        yield tell


@contextmanager
def _notebook_bars() -> Iterator[Progress]:
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
        import html  # only a notebook shows it

        rows = "".join(
            f"<tr><td>{html.escape(stage)}</td>"
            f'<td><progress value="{done}" max="{max(total, 1)}"></progress></td>'
            f"<td>{done}/{total}</td></tr>"
            for stage, (done, total) in self._stages.items()
        )
        return f"<table>{rows}</table>"


RUNS = "runs"  # the stage of a grid, which is made of whole runs
_OPEN = ("growing", "minimising")  # stages of which nobody knows beforehand how long they are
_TOLD_FROM = 0.05  # share of the work from which on it is told how long the rest takes
_NOT_YET = 0.99  # share of the work that is shown at most while there is still some


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
    before: int = 0
    """Episodes of the same stage that were finished before it began anew."""
    since: float = 0.0
    """When it began for the first time."""

    @property
    def counts_episodes(self) -> bool:
        """Whether it is made of episodes, and not one piece of work."""
        return self.total > 1 and self.name != RUNS

    @property
    def counted(self) -> str:
        """How much of it is done, in words; nothing for one piece of work."""
        if self.name != RUNS and not self.counts_episodes:
            return ""
        if self.is_open:
            return f"{self.before + self.done} episodes"
        return f"{self.done} of {self.total} {RUNS if self.name == RUNS else 'episodes'}"

    @property
    def is_open(self) -> bool:
        return self.name in _OPEN

    @property
    def finished(self) -> bool:
        return self.done >= self.total


class Pace:
    """Follows the stages of a run and estimates how long the present one and all will take."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.stages: dict[str, Stage] = {}
        self.expected: float | None = None
        """Seconds per episode before any was played, where that is known."""
        self.quickest: float | None = None  # seconds per episode in the quickest stage so far
        self.plan: Sequence[tuple[str, int]] = ()
        """Stages in their order, each with the episodes that are expected; empty: not known."""
        self._place, self._begun, self._share = 0, 0, 0.0
        self._present: Stage | None = None

    def tell(self, name: str, done: int, total: int) -> Stage:
        """Note that a stage begins or that some of it is finished."""
        now, stage = self.clock(), self.stages.get(name)
        if stage is None or total != stage.total or done < stage.done:
            before, since = (0, now) if stage is None else (stage.before, stage.since)
            again = 0 if stage is None or done >= stage.done else stage.done
            stage = Stage(name, total, done, done, now, now, before + again, since)
            self.stages[name] = stage
        elif done > stage.done:
            stage.done, stage.changed = done, now
            if stage.counts_episodes:
                each = (now - stage.began) / (done - stage.found)
                self.quickest = each if self.quickest is None else min(self.quickest, each)
        if self._present is None or self._present.name != name:
            self._move_on(name)
        self._present = stage
        return stage

    def _move_on(self, name: str) -> None:
        """Go on in the plan to a stage that begins, if one of that name is still to come."""
        for place in range(self._place, len(self.plan)):
            if self.plan[place][0] == name:
                self._place, self._begun = place, self._finished(name)
                return

    def _finished(self, name: str) -> int:
        stage = self.stages.get(name)
        return stage.before + stage.done if stage is not None and stage.counts_episodes else 0

    def share(self) -> float | None:
        """Return the share of all work that is done, never less than before; None: not known."""
        if not self.plan:
            return None
        done = sum(map(self._finished, {name for name, _ in self.plan}))
        present, later = self._to_come()
        share = done / max(done + present + later, 1)
        self._share = max(self._share, min(share, _NOT_YET))
        return self._share

    def _to_come(self) -> tuple[int, int]:
        """Return the episodes that are left of the present stage, and of those after it."""
        present, stage = 0, self._present
        if stage is not None and stage.counts_episodes:
            present = stage.total - stage.done
        if self._place < len(self.plan):
            name, expected = self.plan[self._place]
            if stage is None or stage.name == name:
                present = max(present, expected - (self._finished(name) - self._begun))
        return present, sum(expected for _, expected in self.plan[self._place + 1 :])

    def left_of_all(self) -> float | None:
        """Return the seconds until everything is done; None where nothing is known yet.

        A few episodes say little, and nobody knows how long growing lasts; what is overdue may
        take a while still.
        """
        played = [one for one in self.stages.values() if one.counts_episodes]
        count = sum(one.done - one.found for one in played)
        took = sum(one.changed - one.began for one in played)
        each, stage = took / count if count else None, self._present
        unknown = stage is not None and stage.name == _OPEN[0]
        if each is None or unknown or (self.share() or 0.0) < _TOLD_FROM:
            return None
        present, later = self._to_come()
        own = None if stage is None or stage.is_open else self.left(stage)
        left = later * each + (present * each if own is None else own)
        return left if left >= 1 else None

    def elapsed(self, stage: Stage) -> float:
        """Return the seconds since a stage began, or that it took."""
        began = stage.since if stage.is_open else stage.began
        return (stage.changed if stage.finished else self.clock()) - began

    def left(self, stage: Stage) -> float | None:
        """Return the seconds until a stage is done; None where nothing is known yet."""
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
        """Return how long an episode took in the quickest stage; None if none was played."""
        # Small stages are no guide: workers start in the first of them, and few episodes fit side
        # by side less well than many.
        known = [each for each in (self.expected, self.quickest) if each is not None]
        return min(known, default=None)


def in_words(seconds: float) -> str:
    if seconds < 90:
        return "1 second" if round(seconds) == 1 else f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def as_clock(seconds: float) -> str:
    """Return a length of time as 0:01:30."""
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
