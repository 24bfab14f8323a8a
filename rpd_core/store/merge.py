"""Runs of equal configuration joined into one, part by part."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from rpd_core.config.configuration import differences, in_short
from rpd_core.errors import ConfigError, StoreError
from rpd_core.store.directory import OBJECTS, PROCESS, RunDirectory
from rpd_core.store.files import read_whole, write_whole
from rpd_core.store.parts import PartRecord, Parts, Provenance
from rpd_core.store.tables import packed_table

_ALIKE = {
    "prepared.json": "what their abstractions have learned",
    "names.json": "what things are called",
}
"""Files that runs of equal configuration hold alike, where they hold them."""
_SIZES = ("episodes", "unmutated_episodes")  # settings of which the largest number counts
_LARGEST_OBJECT = 4 << 30  # bytes of the file of a policy that a run brings along


@dataclass(frozen=True)
class Merged:
    """What was joined."""

    parts: int
    """Parts that were added, of mutant and of unmutated episodes."""
    unmutated: int
    """How many of these are of unmutated episodes."""
    held: int
    """Parts of the given runs that were there already, with the same content."""
    episodes_done: int
    """Mutant episodes that are stored now, of those that were asked for."""
    episodes: int
    """Mutant episodes that were asked for, the largest number of all."""
    missing: tuple[tuple[int, int], ...]
    """Ranges of those that no run holds, first and last."""


@dataclass(frozen=True)
class _Found:
    """A part, where it is stored."""

    parts: Parts
    record: PartRecord


def merge_directories(
    out: RunDirectory,
    runs: Sequence[RunDirectory],
    progress: Callable[[str, int, int], None] = lambda stage, done, total: None,
    note: Callable[[str], None] = lambda text: None,
) -> Merged:
    """Join the episodes of runs into `out`, a new run or one of the same configuration."""
    # Everything is compared before anything is written; each part is written whole, its record
    # last, so that whoever is interrupted goes on with the same call. The given runs are only read.
    given = [
        run
        for run in runs
        if not (run.path.exists() and out.path.exists() and run.path.samefile(out.path))
    ]
    if not given:
        raise ConfigError(f"there is nothing to merge into {str(out.path)!r}: name other runs")
    for run in given:
        run.stored()  # raises where it is not a run
    with out.lock():
        try:
            held = [out] if out.read_json("run.json") is not None else []
            _refuse_unequal([*held, *given])
            kinds = [
                _held_by([run.suite() for run in (*held, *given)]),
                _held_by([run.unmutated() for run in (*held, *given)]),
            ]
            provenance = Provenance(note)
            for one in kinds:
                for place in sorted(one):
                    provenance.check(one[place][0].record.origin)
            _check_parts(out, kinds)
            _write_basis(out, [*held, *given])
            added = _copy(out, kinds, progress)
        except BaseException:
            out.forget_if_empty()
            raise
        asked = out.stored().settings.episodes
        missing = tuple(out.suite().missing(asked))
        done = asked - sum(last - first + 1 for first, last in missing)
        known = sum(map(len, kinds)) - sum(added)
        return Merged(sum(added), added[1], known, done, asked, missing)


# ---------------------------------------------------------------------------- comparing


def _refuse_unequal(runs: Sequence[RunDirectory]) -> None:
    first = runs[0]
    for run in runs:
        stored = run.stored()
        if stored.live and stored.process != PROCESS:
            raise StoreError(
                f"{str(run.path)!r} was made from functions of a Python process that has ended: "
                "nobody can tell whether another run has the same"
            )
        found = differences(first.configuration().identity(), run.configuration().identity())
        if found:
            both = [re.sub(r": stored (.*), asked (.*)$", r": \1 and \2", one) for one in found]
            raise StoreError(
                f"{str(first.path)!r} and {str(run.path)!r} hold different configurations "
                f"({in_short(both)}): only runs of the same can be merged"
            )
    for name, what in _ALIKE.items():
        _refuse_unlike(runs, name, what)


def _refuse_unlike(runs: Sequence[RunDirectory], name: str, what: str) -> None:
    holders = [(run, run.read_json(name)) for run in runs]
    holders = [(run, content) for run, content in holders if content is not None]
    for run, content in holders[1:]:
        first, known = holders[0]
        if content != known:
            sizes = {one.stored().settings.episodes for one in (first, run)}
            advice = (
                ": give all of them the same --episodes, and versions that learn alike"
                if name == "prepared.json" and len(sizes) > 1  # which they are learned for
                else ": were they built by the same versions?"
            )
            raise StoreError(
                f"{str(first.path)!r} and {str(run.path)!r} differ in {what} ({name}){advice}"
            )


_Holders = dict[tuple[int, int], list[_Found]]
"""By range: who holds it, the one whose part is used first."""


def _held_by(stored: Sequence[Parts]) -> _Holders:
    """Find every part of the runs; refuse two that hold the same episodes with other content."""
    held: _Holders = {}
    for parts in stored:
        for record in parts.records():
            found = _Found(parts, record)
            holders = held.setdefault((record.first, record.last), [])
            if holders:
                _refuse_other_content(holders[0], found)
            holders.append(found)
    ranges = sorted(held)
    for one, other in pairwise(ranges):
        if other[0] <= one[1]:
            raise StoreError(
                f"{str(held[one][0].parts.path)!r} holds episodes {one[0]} to {one[1]} in one "
                f"part, {str(held[other][0].parts.path)!r} {other[0]} to {other[1]}: only runs "
                "that are cut into the same parts can be merged"
            )
    return held


def _refuse_other_content(one: _Found, other: _Found) -> None:
    """Refuse parts whose tables differ; equal ones may be packed in different ways."""
    first, last = one.record.first, one.record.last
    differing = [
        name
        for name in one.parts.tables
        if one.record.digests.get(name) != other.record.digests.get(name)
        and _packed(one.parts, first, last, name) != _packed(other.parts, first, last, name)
    ]
    if differing:
        raise StoreError(
            f"{str(one.parts.path)!r} and {str(other.parts.path)!r} both hold episodes {first} to "
            f"{last}, with different {' and '.join(differing)}: rpd verify may tell which is "
            "damaged; other machine types and versions can differ, too"
        )


def _packed(parts: Parts, first: int, last: int, name: str) -> bytes:
    return packed_table(parts.read(first, last, (name,))[name])


def _check_parts(out: RunDirectory, kinds: Sequence[_Holders]) -> None:
    for held in kinds:
        for (first, last), (found, *_) in sorted(held.items()):
            if found.parts.root != out.path:
                found.parts.read(first, last)


# ------------------------------------------------------------------------------ writing


def _write_basis(out: RunDirectory, runs: Sequence[RunDirectory]) -> None:
    """Write what every part stands on, where it is not there yet; all is read before."""
    asked = runs[0].read_json("run.json")
    assert asked is not None, "it was read before"
    folder = runs[0].path / OBJECTS
    objects: dict[Path, bytes] = {}  # files of a policy that was an object of Python
    for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
        held = read_whole(entry, runs[0].path, _LARGEST_OBJECT)
        objects |= {} if held is None else {out.path / OBJECTS / entry.name: held}
    settings = [run.stored().settings for run in runs]
    sizes = {name: max(getattr(one, name) for one in settings) for name in _SIZES}
    asked = {**asked, "settings": {**asked["settings"], **sizes}}
    for place in objects:
        asked["policy"] = _moved(str(asked["policy"]), place)
    told = {"run.json": asked}
    for name in (*_ALIKE, "pilot.json"):
        content = next(filter(None, (run.read_json(name) for run in runs)), None)
        if content is not None:
            told[name] = content
    for place, file in objects.items():
        if read_whole(place, out.path) != file:
            write_whole(place, file, out.path)
    for name, content in told.items():
        if out.read_json(name) != content:
            out.write_json(name, content)


def _moved(spec: str, place: Path) -> str:
    """Return the spec of a policy with the path of its stored file as it is now."""
    stored = rf"[^:,='\"]*{OBJECTS}/{re.escape(place.name)}"
    return re.sub(stored, lambda _: str(place), spec)


def _copy(
    out: RunDirectory, kinds: Sequence[_Holders], progress: Callable[[str, int, int], None]
) -> list[int]:
    """Copy the parts that are not there yet; return how many of each kind these were."""
    total = sum(last - first + 1 for held in kinds for first, last in held)
    done, added = 0, []
    for held, target in zip(kinds, (out.suite(), out.unmutated()), strict=True):
        here = set(target.covered())
        added.append(len({*held} - here))
        for place in sorted(held):
            if place not in here:
                found = held[place][0]
                target.take(found.parts, found.record)
            done += held[place][0].record.count
            progress("merge", done, total)
    return added
