"""A stored run checked as a whole, as databases check their files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from rpd_core.analysis.suite import StoredEpisodes
from rpd_core.errors import ComponentError, StoreError, one_line, shell_word
from rpd_core.play.prepare import unsealed
from rpd_core.plugin.registry import finishing, installed
from rpd_core.results.kept import read_kept
from rpd_core.results.run import Run
from rpd_core.store.directory import VARIANTS, RunDirectory
from rpd_core.store.files import read_whole
from rpd_core.store.parts import Parts
from rpd_core.store.tables import LARGEST_TABLE, open_parquet, read_episodes


@dataclass(frozen=True)
class Verification:
    """What was found in a run."""

    parts: int
    """Part files that were read in full."""
    analyses: int
    """Analyses that were read."""
    faults: tuple[str, ...]
    """What is wrong, a line each."""


def verify(directory: RunDirectory) -> Verification:
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
    for check in (
        RunDirectory.names, RunDirectory.question, _check_names, _check_latest, _check_prepared
    ):  # fmt: skip
        attempt(partial(check, directory))
    for stored in _all_parts(directory):
        for first, last in stored.covered():
            parts += 1
            attempt(partial(_check_part, stored, first, last))
    done, asked = directory.unmutated().count(), directory.stored().settings.unmutated_episodes
    if directory.analyses() and done < asked:
        faults.append(f"{done} of {asked} unmutated episodes are stored")
    names = directory.analyses()
    for name in names:
        attempt(partial(_check_analysis, directory, name))
        for further in _further_checks():
            attempt(partial(further, Run(directory.path, name)))
    for folder in sorted((directory.path / VARIANTS).glob("*/")):  # runs below this one
        found = verify(RunDirectory(folder))
        parts += found.parts
        faults += [f"{VARIANTS}/{folder.name}: {fault}" for fault in found.faults]
    return Verification(parts, len(names), tuple(faults))


def _further_checks() -> Iterator[Callable[[Run], object]]:
    """Yield what checks that which commands leave with a run at its end."""
    registry = installed()
    for name in finishing(registry):
        with suppress(ComponentError):  # a broken plugin is no fault of the run
            check = getattr(registry.after_run(name), "check", None)
            if check is not None:
                yield check


def _all_parts(directory: RunDirectory) -> Iterator[Parts]:
    yield directory.suite()
    for entry in sorted(directory.path.glob("suite/first-*")):
        if entry.name.removeprefix("first-").isdecimal():
            yield directory.suite().cut(int(entry.name.removeprefix("first-")))
    yield directory.unmutated()
    folder = directory.path / "pruning"
    if folder.is_dir():
        for entry in sorted(folder.iterdir()):
            yield directory.evaluation(entry.name)


def _check_folders(path: Path, *names: str) -> None:
    """Refuse what is in the way of a folder."""
    for name in names:
        if (path / name).exists() and not (path / name).is_dir():
            raise StoreError(f"{str(path / name)!r} is not a folder: delete it")


def _check_names(directory: RunDirectory) -> None:
    if directory.suite().covered() and directory.read_json("names.json") is None:
        raise StoreError(
            f"{str(directory.path / 'names.json')!r} is missing: actions and entries have no names "
            "until more episodes are played"
        )


def _check_latest(directory: RunDirectory) -> None:
    lost = directory.lost()
    if lost is not None:
        where = directory.path / "analyses" / lost / "summary.json"
        again = f"rpd prune {shell_word(directory.path)} makes it again"
        raise StoreError(f"{str(where)!r} is missing: {again}")


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
    held = len(StoredEpisodes(directory.suite(), asked.episodes))
    if held < asked.episodes:
        raise StoreError(f"the suite holds {held} of {asked.episodes} episodes of {name!r}")
    missing = [f for f in asked.evaluations.values() if not directory.evaluation(f).covered()]
    if missing:
        raise StoreError(f"analysis {name!r} stands on {missing[0]!r}, which is not there")
    for fraction, policy in summary.policies.items():
        kept = read_kept(directory, name, float(fraction))
        if policy is not None and (kept is None or len(kept.keys) != policy.kept):
            raise StoreError(
                f"analysis {name!r} does not hold the {policy.kept} states that its policy for "
                f"{fraction} of the return keeps: rpd prune {shell_word(directory.path)} asks again"
            )
    folder = directory.path / "analyses" / name
    _check_folders(folder, "rankings")
    for path in sorted((folder / "rankings").glob("*.parquet")):
        content = read_whole(path, directory.path, LARGEST_TABLE)
        if content is not None:
            _check_ranking(path, content, summary.suite.states)


def _check_ranking(path: Path, content: bytes, states: int) -> None:
    try:
        rows = open_parquet(content).metadata.num_rows
    except Exception as error:  # pyarrow raises many kinds for damaged files
        raise StoreError(f"cannot read {str(path)!r}: {one_line(error)}") from error
    if rows != states:
        raise StoreError(f"{str(path)!r} ranks {rows} states, the analysis has {states}")
