"""Suites, played part by part: mutant episodes, unmutated ones, mutants of pruned policies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from rpd_core.errors import StoreError
from rpd_core.play.jobs import Names, SuiteChunk, SuiteJob, perform_suite
from rpd_core.plugin.chain import Chain
from rpd_core.plugin.protocols import Entry, States, WorkItem
from rpd_core.store import tables
from rpd_core.store.directory import RunDirectory
from rpd_core.store.parts import Parts
from rpd_core.store.session import Missing, PartWork, Session

_WORDS = 200_000
"""States whose words are remembered between parts."""


def play_parts(
    session: Session, stage: str, parts: Parts, whole: SuiteJob, cut: bool = True
) -> None:
    """Play the episodes of a suite, or of a range of its parts, that are missing, part by part.

    With `cut`, the first episodes of a suite that holds more can be read without the others.
    """
    total = whole.last + 1 - whole.first
    _look_at_stored(session, parts, whole, cut)
    done = total - sum(last - first + 1 for _, first, last in _missing(session, parts, whole, cut))
    words, files = _WordsOf(session.setup.abstraction), session.files(whole.recipe)

    def to_tables(answer: SuiteChunk) -> list[dict[str, Any]]:
        _keep_names(session.directory, answer.names, done > 0)
        states = words(answer.suite.states, answer.names.state_entries)
        return [tables.suite_tables(answer.suite, states)]

    work = (
        PartWork(
            (Missing(place, first, last),),
            WorkItem(
                f"{parts.configuration}/{stage}/{first}-{last}",
                perform_suite,
                replace(whole, first=first, last=last),
                f"episodes {first} to {last}",
                files,
            ),
            to_tables,
        )
        for place, first, last in _missing(session, parts, whole, cut)
    )
    session.play(stage, work, done, total)
    _check_complete(session, parts, whole)


def _look_at_stored(session: Session, parts: Parts, whole: SuiteJob, cut: bool) -> None:
    for place in (parts, *([parts.cut(whole.last + 1)] if cut else [])):
        session.repair(place)
        session.remember_origins(place)


def _missing(
    session: Session, parts: Parts, whole: SuiteJob, cut: bool
) -> Iterator[tuple[Parts, int, int]]:
    """Yield the ranges that are to be played, and where each is to be stored.

    What a part adds up for its states cannot be taken apart, so the beginning of a part that goes
    on beyond the last episode is played again, beside it.
    """
    total, chunk = whole.last + 1, session.setup.config.settings.chunk
    for gap in parts.each_gap(total, chunk, whole.first):
        yield (parts, *gap)
    across = parts.across(total) if cut else None
    if across is not None and (across[0], total - 1) not in parts.cut(total).covered():
        yield parts.cut(total), across[0], total - 1


def _check_complete(session: Session, parts: Parts, whole: SuiteJob) -> None:
    total, chunk = whole.last + 1, session.setup.config.settings.chunk
    lacking = sum(last - first + 1 for first, last in parts.each_gap(total, chunk, whole.first))
    if lacking:
        asked = total - whole.first
        raise StoreError(
            f"{str(session.directory.path)!r} holds {asked - lacking} of {asked} episodes, "
            "although all were played: somebody else changes it; run the same command again"
        )


def _keep_names(directory: RunDirectory, names: Names, begun: bool) -> None:
    """Store what things are called; refuse to count on where choices were counted otherwise."""
    if directory.read_json("names.json") is None:
        directory.write_json("names.json", names)
    elif begun and directory.names().relations != names.relations:
        raise StoreError(
            f"{str(directory.path)!r} was begun by a version that counted the policy's choices "
            "in another way: it can be read, but not grow; choose another --out"
        )


class _WordsOf:
    """Puts states into words, each key once."""

    def __init__(self, chain: Chain) -> None:
        self.show = chain.show
        self.known: dict[int, str] = {}

    def __call__(self, states: States, entries: Sequence[Entry]) -> list[str]:
        if len(self.known) > _WORDS:
            self.known.clear()
        for row, key in enumerate(states.key.tolist()):
            if key not in self.known:
                self.known[key] = self.show(states.value[row], entries)
        return [self.known[key] for key in states.key.tolist()]
