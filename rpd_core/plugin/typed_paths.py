"""Files that people mean when they type a name that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

_LISTED = 10_000
"""Entries of a folder that are looked through at most: a suggestion is not worth more."""


def files_called(value: str) -> Sequence[str]:
    """Return the files that have this name and an ending, written as the value is."""
    path = Path(value)
    names = [name for name in _beside(path) if path.name and Path(name).stem == path.name]
    return [f"{value.removesuffix(path.name)}{name}" for name in sorted(names)]


def nearest_file(path: Path) -> str:
    """Return ' Did you mean ...?' with the file beside a path whose name is closest, if any is."""
    close = difflib.get_close_matches(path.name, _beside(path), n=1, cutoff=0.7)
    return f" Did you mean {close[0]!r}?" if close else ""


def _beside(path: Path) -> list[str]:
    """Return the names of the files in a path's folder; none where it cannot be read."""
    try:
        entries = [entry for _, entry in zip(range(_LISTED), path.parent.iterdir(), strict=False)]
        return [entry.name for entry in entries if entry.is_file()]
    except (OSError, ValueError):
        return []
