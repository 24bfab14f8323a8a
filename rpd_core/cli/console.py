"""Consoles whose text carries no control characters, whoever wrote it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.segment import Segment

from rpd_core.cli.streams import clear_status


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
