"""A stored run checked as a whole, as databases check their files."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from rpd_core.errors import StoreError, one_line
from rpd_core.play.prepare import unsealed
from rpd_core.report.opened import Run
from rpd_core.store.checking import LARGEST_TABLE
from rpd_core.store.directory import RunDirectory
from rpd_core.store.files import read_whole
from rpd_core.store.parts import Parts
from rpd_core.store.tables import read_episodes


@dataclass(frozen=True)
class Verdict:
    """What was found in a run."""

    parts: int
    """Part files that were read in full."""
    analyses: int
    """Analyses that were read."""
    faults: tuple[str, ...]
    """What is wrong, a line each."""


def verify(directory: RunDirectory) -> Verdict:
    """Read everything that a run stores; raise only where it is not a run at all."""
    directory.stored()
    faults: list[str] = []

    def attempt(check: Callable[[], object]) -> None:
        try:
            check()
        except StoreError as error:
            faults.append(one_line(error))

    parts = 0
    attempt(partial(_check_folders, directory.path, "suite", "pruning", "analyses"))
    for read in (directory.names, directory.latest, directory.question):
        attempt(read)
    attempt(partial(_check_prepared, directory))
    for stored in _all_parts(directory):
        for first, last in stored.covered():
            parts += 1
            attempt(partial(_check_part, stored, first, last))
    done, asked = directory.suite().count(), directory.stored().settings.episodes
    if directory.analyses() and done < asked:
        faults.append(f"the suite holds {done} of {asked} episodes")
    done, asked = directory.unmutated().count(), directory.stored().settings.unmutated_episodes
    if directory.analyses() and done < asked:
        faults.append(f"{done} of {asked} unmutated episodes are stored")
    names = directory.analyses()
    for name in names:
        attempt(partial(_check_analysis, directory, name))
    return Verdict(parts, len(names), tuple(faults))


def _all_parts(directory: RunDirectory) -> Iterator[Parts]:
    yield directory.suite()
    yield directory.unmutated()
    folder = directory.path / "pruning"
    if folder.is_dir():
        for entry in sorted(folder.iterdir()):
            yield directory.evaluation(entry.name)
    for entry in sorted(directory.path.glob("analyses/*/refine/round-*")):
        yield directory.round_parts(str(entry.relative_to(directory.path)))


def _check_folders(path: Path, *names: str) -> None:
    """Refuse what is in the way of a folder."""
    for name in names:
        if (path / name).exists() and not (path / name).is_dir():
            raise StoreError(f"{str(path / name)!r} is not a folder: delete it")


def _check_prepared(directory: RunDirectory) -> None:
    stored = directory.read_json("prepared.json")
    if stored is not None:
        unsealed(stored, directory.path / "prepared.json")


def _check_part(parts: Parts, first: int, last: int) -> None:
    episodes = read_episodes(parts.read(first, last)["episodes"])
    if not np.isfinite(episodes.total_return).all() or (episodes.length < 1).any():
        raise StoreError(f"{str(parts.path)!r}: episodes {first} to {last} hold impossible numbers")


def _check_analysis(directory: RunDirectory, name: str) -> None:
    run = Run(directory.path, name)
    summary, asked = run.summary, run.asked
    missing = [f for f in asked.evaluations.values() if not directory.evaluation(f).covered()]
    if missing:
        raise StoreError(f"analysis {name!r} stands on {missing[0]!r}, which is not there")
    folder = directory.path / "analyses" / name
    _check_folders(folder, "rankings")
    for path in sorted((folder / "rankings").glob("*.parquet")):
        content = read_whole(path, directory.path, LARGEST_TABLE)
        if content is not None:
            _check_ranking(path, content, summary.suite.states)


def _check_ranking(path: Path, content: bytes, states: int) -> None:
    try:
        rows = pq.ParquetFile(io.BytesIO(content)).metadata.num_rows
    except Exception as error:  # pyarrow raises many kinds for damaged files
        raise StoreError(f"cannot read {str(path)!r}: {one_line(error)}") from error
    if rows != states:
        raise StoreError(f"{str(path)!r} ranks {rows} states, the analysis has {states}")
