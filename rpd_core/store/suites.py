"""Suites, played part by part: mutant episodes, unmutated ones, mutants of pruned policies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rpd_core.errors import StoreError
from rpd_core.play.jobs import SuiteChunk, SuiteJob, perform_suite
from rpd_core.plugin.chain import Chain
from rpd_core.plugin.protocols import States, WorkItem
from rpd_core.store import tables
from rpd_core.store.parts import Parts
from rpd_core.store.session import PartWork, Session

_WORDS = 200_000
"""States whose words are remembered between parts."""


def play_parts(session: Session, stage: str, parts: Parts, whole: SuiteJob) -> None:
    """Play the episodes of a suite that are missing, part by part."""
    chunk = session.setup.config.settings.chunk
    session.repair(parts)
    session.remember_origins(parts)
    total = whole.last + 1
    missing = parts.gaps(total, chunk)
    done = total - sum(last - first + 1 for first, last in missing)
    words, files = _WordsOf(session.setup.abstraction), session.files(whole.recipe)

    def to_tables(answer: SuiteChunk) -> dict[str, Any]:
        if session.directory.read_json("names.json") is None:
            session.directory.write_json("names.json", answer.names)
        return tables.suite_tables(answer.suite, words(answer.suite.states))

    work = [
        PartWork(
            parts,
            first,
            last,
            WorkItem(
                f"{parts.configuration}/{stage}/{first}-{last}",
                perform_suite,
                replace(whole, first=first, last=last),
                f"episodes {first} to {last}",
                files,
            ),
            to_tables,
        )
        for first, last in missing
    ]
    session.play(stage, work, done, total)
    held = parts.count()
    if held < total or parts.gaps(total, chunk):
        raise StoreError(
            f"{str(session.directory.path)!r} holds {held} of {total} episodes, although all were "
            "played: somebody else changes it; run the same command again"
        )


class _WordsOf:
    """Puts states into words, each key once."""

    def __init__(self, chain: Chain) -> None:
        self.show = chain.show
        self.known: dict[int, str] = {}

    def __call__(self, states: States) -> list[str]:
        if len(self.known) > _WORDS:
            self.known.clear()
        for row, key in enumerate(states.key.tolist()):
            if key not in self.known:
                self.known[key] = self.show(states.value[row])
        return [self.known[key] for key in states.key.tolist()]
