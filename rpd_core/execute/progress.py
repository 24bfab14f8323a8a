"""Progress where there is somebody to see it: bars in a notebook, bars in a terminal."""

from __future__ import annotations

import html
import importlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

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
        with _notebook_bars() if in_notebook() else _terminal_bars() as tell:
            yield tell
    elif wanted is False:
        yield silent
    else:
        raise ConfigError(
            f"progress must be True, False or a function of (stage, done, total), got {wanted!r}"
        )


def silent(stage: str, done: int, total: int) -> None:
    """Show no progress."""


def in_notebook() -> bool:
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
    tasks: dict[str, Any] = {}

    def tell(stage: str, done: int, total: int) -> None:
        if stage not in tasks:
            tasks[stage] = bars.add_task(stage, total=total)
        bars.update(tasks[stage], completed=done, total=total)

    with bars:
        yield tell


@contextmanager
def _notebook_bars() -> Iterator[Progress]:
    """Show a bar for each stage below the cell, and take them away at the end."""
    notebook: Any = importlib.import_module("IPython.display")  # there, since this is a notebook
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
        rows = "".join(
            f"<tr><td>{html.escape(stage)}</td>"
            f'<td><progress value="{done}" max="{max(total, 1)}"></progress></td>'
            f"<td>{done}/{total}</td></tr>"
            for stage, (done, total) in self._stages.items()
        )
        return f"<table>{rows}</table>"
