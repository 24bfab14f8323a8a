"""Where runs lie: found by name and time alone, so that it is quick and imports nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rpd_core.errors import StoreError

RUNS = Path("runs")
"""Where runs lie that were given no directory."""
_DEEPEST = 3
"""Folders below the one that is searched."""
_TOUCHED = (
    *("run.json", "suite", "pruning", "analyses", "analyses/latest.json"),
    *("analyses/question.json", "prepared.json"),
)
"""What changes when something is done with a run."""


def find_runs(folder: Path, depth: int = _DEEPEST) -> Iterator[Path]:
    """Yield the run directories in a folder, or the folder itself; runs within runs are parts."""
    if (folder / "run.json").is_file():
        yield folder
        return
    if depth:
        with suppress(OSError):  # a folder of somebody else's
            inner = sorted(entry.path for entry in os.scandir(folder) if _may_hold_runs(entry))
            for path in inner:
                yield from find_runs(Path(path), depth - 1)


def _may_hold_runs(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")


def last_change(run: Path) -> float:
    """Return when something was done with a run last, as seconds since the epoch."""
    times = []
    for name in _TOUCHED:
        with suppress(OSError):
            times.append((run / name).stat().st_mtime)
    return max(times, default=0.0)


def latest_run(folder: Path = RUNS) -> Path:
    """Return the run directly in a folder with which something was done last."""
    runs = [path for path in find_runs(folder, depth=1) if path != folder]
    if not runs:
        raise StoreError(f"there is no run in {str(folder)!r}: name one, or begin with rpd run")
    return max(runs, key=lambda path: (last_change(path), path.name))


def size_of(run: Path) -> int:
    """Return the bytes of all files of a run."""
    total = 0
    for folder, _, files in os.walk(run):
        for name in files:
            with suppress(OSError):  # it may go while it is counted
                total += os.lstat(os.path.join(folder, name)).st_size
    return total
