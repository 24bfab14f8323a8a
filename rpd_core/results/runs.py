"""Runs on a disk: where they lie, what differs between them, and how far each is."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from rpd_core.config.configuration import short_digest
from rpd_core.config.settings import declared
from rpd_core.errors import RpdError, StoreError, one_line
from rpd_core.store.directory import RunDirectory

RUNS = Path("runs")
"""Where runs lie that were given no directory."""
_DEEPEST = 3
"""Folders below the one that is searched."""
_TOUCHED = (
    *("run.json", "suite", "pruning", "analyses", "analyses/latest.json"),
    *("analyses/question.json", "prepared.json"),
)
"""What changes when something is done with a run."""


def _find_runs(folder: Path, depth: int = _DEEPEST) -> Iterator[Path]:
    """Yield the run directories in a folder, or the folder itself; runs within runs are parts."""
    if (folder / "run.json").is_file():
        yield folder
        return
    if depth:
        with suppress(OSError):  # a folder of somebody else's
            inner = (one for one in os.scandir(folder) if not one.name.startswith("."))
            for path in sorted(one.path for one in inner if one.is_dir(follow_symlinks=False)):
                yield from _find_runs(Path(path), depth - 1)


def _last_change(run: Path) -> float:
    """Return when something was done with a run last, as seconds since the epoch."""
    times = []
    for name in _TOUCHED:
        with suppress(OSError):
            times.append((run / name).stat().st_mtime)
    return max(times, default=0.0)


def latest_run(folder: Path = RUNS) -> Path:
    """Return the run directly in a folder with which something was done last."""
    runs = [path for path in _find_runs(folder, depth=1) if path != folder]
    if not runs:
        raise StoreError(f"there is no run in {str(folder)!r}: name one, or begin with rpd run")
    return max(runs, key=lambda path: (_last_change(path), path.name))


def _size_of(run: Path) -> int:
    """Return the bytes of all files of a run."""
    total = 0
    for folder, _, files in os.walk(run):
        for name in files:
            with suppress(OSError):  # it may go while it is counted
                total += os.lstat(os.path.join(folder, name)).st_size
    return total


_UNSAID = ("chunk", "shares")
"""Settings that nobody types."""


@dataclass(frozen=True)
class RunRow:
    """One of several runs."""

    path: str
    """The run directory."""
    state: str
    """`finished`, `n of N episodes` or `broken`."""
    episodes_done: int
    """Mutant episodes that are stored."""
    episodes: int
    """Mutant episodes that were asked for last."""
    analyses: tuple[str, ...]
    """Names of the finished analyses."""
    changed: float
    """When something was done with it last, in seconds since the epoch."""
    bytes: int
    """Size of all its files."""
    differs: Mapping[str, object] = field(default_factory=dict)
    """Settings in which the runs differ, with the values of this one."""
    problem: str = ""
    """What is wrong with a broken run."""


def list_runs(folder: Path) -> list[RunRow]:
    """List the runs in a folder, the latest first."""
    found = [_row(path) for path in _find_runs(folder)]
    return sorted(_with_differences(found), key=lambda row: (-row.changed, row.path))


def _row(path: Path) -> RunRow:
    """Read what can be told of a run quickly; its episodes are counted, not read."""
    directory = RunDirectory(path)
    empty = RunRow(str(path), "broken", 0, 0, (), _last_change(path), _size_of(path))
    try:
        directory.stored()  # another schema is told before anything else that comes of it
        latest = directory.latest()
        config = directory.configuration(directory.analysis(latest) if latest else None)
        if latest is None and (question := directory.question()) is not None:
            config = replace(config, settings=replace(config.settings, **question.given()))
        done, asked = directory.suite().count(), config.settings.episodes
        lacking = sum(last - first + 1 for first, last in directory.suite().missing(asked))
        names = tuple(directory.analyses())
    except RpdError as error:
        return replace(empty, problem=one_line(error))
    held = asked - lacking
    state = f"{held} of {asked} episodes"
    if names:
        state = "finished" if held >= asked else f"finished; {state}"
    given = config.settings.given().items()
    chosen = {name: one for name, one in given if name not in _UNSAID and name in declared()}
    contents = {f"{name} content": short_digest(one) for name, one in config.components.items()}
    return replace(
        empty,
        state=state,
        episodes_done=done,
        episodes=asked,
        analyses=names,
        differs={"env": config.env, "policy": config.policy, **chosen, **contents},
    )


def _with_differences(rows: Iterable[RunRow]) -> list[RunRow]:
    """Return runs with those settings alone that differ among those of an environment.

    The recommendations of two environments differ in much that nobody has chosen.
    """
    found = list(rows)
    groups: dict[object, list[RunRow]] = {}
    for row in found:
        groups.setdefault(row.differs.get("env"), []).append(row)
    known = [row for row in found if row.differs]
    several = {name for name in ("env", "policy") if _vary(known, name)}
    answer = []
    for row in found:
        mine = groups[row.differs.get("env")]
        names = [name for name in row.differs if name in several or _vary(mine, name)]
        told = [name for name in names if name.partition(" ")[0] not in names or " " not in name]
        shown = {name: row.differs[name] for name in told}
        answer.append(replace(row, differs=shown))
    return answer


def _vary(rows: list[RunRow], name: str) -> bool:
    return len({repr(row.differs.get(name)) for row in rows}) > 1


def age_in_words(changed: float, now: float | None = None) -> str:
    """Return how long ago something was, shortly."""
    seconds = max((time.time() if now is None else now) - changed, 0.0)
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{seconds:.0f} s"


def size_in_words(count: float) -> str:
    """Return a number of bytes, shortly."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
