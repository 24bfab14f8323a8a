"""Consoles whose text carries no control characters, whoever wrote it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment


def without_controls(text: str) -> str:
    """Return text in which only line ends steer the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


class CleanConsole(Console):
    """A console that shows names out of files, which may hold escape sequences, as plain text.

    What rich itself sends, colours and progress bars, is not text and passes.
    """

    def render(self, *args: Any, **options: Any) -> Iterable[Segment]:
        """Yield what is to be shown, its text cleaned."""
        for segment in super().render(*args, **options):
            clean = segment.control or segment.text.isprintable()
            yield segment if clean else segment._replace(text=without_controls(segment.text))
