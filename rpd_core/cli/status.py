"""A line that says at once that rpd has begun, while the rest of it is still being imported."""

from __future__ import annotations

import sys

QUICK = frozenset({"list-plugins", "describe", "new-plugin"})
"""Commands that import nothing that takes long."""
_shown: list[str] = []


def show_status(words: list[str]) -> None:
    """Show a line on a terminal, if a command takes long to begin; it is written over later."""
    first = words[0] if words else "-"
    slow = first not in QUICK and first[0] != "-" and not {"-h", "--help"} & set(words)
    if slow and sys.stderr is not None and sys.stderr.isatty():
        _shown.append("rpd: loading ...")
        sys.stderr.write(f"{_shown[0]}\r")
        sys.stderr.flush()


def clear_status() -> None:
    """Remove the line, if it is there."""
    if _shown:
        _shown.clear()
        sys.stderr.write("\x1b[2K\r")
        sys.stderr.flush()
