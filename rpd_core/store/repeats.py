"""Do stored episodes come out the same when they are played again? A few whole ones tell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from rpd_core.errors import counted
from rpd_core.execute.items import run_items
from rpd_core.play.chunks import PlayedSuite, SuiteChunk, perform_suite
from rpd_core.plugin.protocols import Episodes, WorkItem
from rpd_core.store.parts import Parts
from rpd_core.store.session import Session
from rpd_core.store.tables import read_episodes

_SHARE, _MOST = 100, 16
"""One episode in so many is played again, and at most so many."""


def say_what_differs(session: Session, parts: Parts, whole: SuiteChunk) -> None:
    """Play the first episodes of a suite again, as one item, and say which came out otherwise.

    By now their worker has played others, and beside them are others than before: both must not
    matter.
    """
    held = next((one for one in parts.covered() if one[0] <= whole.first <= one[1]), None)
    if held is None:
        return
    count = min(max((whole.last + 1 - whole.first) // _SHARE, 1), _MOST, held[1] + 1 - whole.first)
    again = replace(whole, last=whole.first + count - 1)
    stored = read_episodes(parts.read(*held, ["episodes"])["episodes"])

    def compare(item: WorkItem, answer: PlayedSuite) -> None:
        differing = list(_differing(stored, answer.suite.episodes))
        if differing:
            session.note(
                f"{len(differing)} of {counted(count, 'episode')} came out otherwise when played "
                f"again ({differing[0]}): the environment or the policy does not repeat itself, so "
                "that this run cannot be repeated, and replays may differ"
            )

    item = WorkItem(
        f"{parts.configuration}/again/{again.first}-{again.last}",
        perform_suite,
        again,
        f"episodes {again.first} to {again.last}, played again",
        session.files(whole.recipe),
    )
    with session.stage("playing again"):
        run_items(session.engine, [item], compare)


def _differing(stored: Episodes, again: Episodes) -> Iterator[str]:
    places = np.searchsorted(stored.index, again.index)
    for row, place in enumerate(places.tolist()):
        pairs = [
            (getattr(stored, name)[place].item(), getattr(again, name)[row].item())
            for name in ("total_return", "length")
        ]
        if any(before != now for before, now in pairs):
            (was, now), (steps, later) = pairs
            yield (
                f"episode {again.index[row]}: return {was:g} in {steps} steps, then {now:g} in "
                f"{later}"
            )
