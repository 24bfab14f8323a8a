"""A line that says at once that rpd has begun, while the rest of it is still being imported."""

from __future__ import annotations

import sys

SLOW = frozenset({
    "run", "suite", "rank", "prune", "refine", "validate", "bench", "show", "explain", "replay",
    "verify", "runs", "describe-policy", "check-plugin",
})  # fmt: skip
"""Commands that import what takes long."""
_shown: list[str] = []


def show_status(words: list[str]) -> None:
    """Show a line on a terminal, if a command takes long to begin; it is written over later."""
    slow = bool(words) and words[0] in SLOW and not {"-h", "--help"} & set(words)
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
