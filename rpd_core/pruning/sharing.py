"""Which parts of evaluations are played together: an item of work that fills its lanes.

Lanes whose episode is over start the next one of the item; towards its end, they stay idle. What
is stored does not depend on any of this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import numpy as np

from rpd_core.config.identity import short_digest
from rpd_core.config.settings import Settings
from rpd_core.play.jobs import Evaluation, EvaluationJob
from rpd_core.store.session import Missing

FILLS = 2
"""How often an item of work fills the lanes, where a chunk fills them less often."""


@dataclass(frozen=True)
class Gap:
    """A part of an evaluation that is to be played."""

    name: str
    """Of the evaluation."""
    asked: Evaluation
    missing: Missing

    @property
    def job(self) -> EvaluationJob:
        """What a worker is told."""
        first, last = self.missing.first, self.missing.last
        return EvaluationJob(self.asked.narrowed(first, last), first, last)


def by_recipe(gaps: Sequence[Gap]) -> Iterable[Sequence[Gap]]:
    """Return parts that can share lanes."""
    found: dict[tuple[int, ...], list[Gap]] = {}
    for gap in gaps:
        components = tuple(id(one) for _, one in gap.asked.recipe.components())
        found.setdefault(components, []).append(gap)
    return found.values()


def shared(gaps: Sequence[Gap], settings: Settings, workers: int) -> Iterator[Sequence[Gap]]:
    """Yield the parts of each item of work: neighbours, of about the same size together."""
    lengths = np.array([len(gap.missing) for gap in gaps])
    middles = np.cumsum(lengths) - lengths / 2
    items = number_of_items(int(lengths.sum()), settings.chunk, settings.lanes, workers)
    numbers = (middles * items // lengths.sum()).tolist()
    for _, some in groupby(zip(numbers, gaps, strict=True), key=itemgetter(0)):
        yield [gap for _, gap in some]


def number_of_items(episodes: int, chunk: int, lanes: int, workers: int) -> int:
    """Return how many items of work some episodes are to be.

    An item is no longer than a chunk, unless that fills the lanes hardly once. All workers have the
    same number of items, unless these would leave lanes empty from the beginning.
    """
    fewest = -(-episodes // max(chunk, FILLS * lanes))
    return min(-(-fewest // workers) * workers, -(-episodes // lanes))


def identity_of(gaps: Sequence[Gap]) -> str:
    """Return what tells an item of work from all others of its run."""
    parts = [gap.missing for gap in gaps]
    places = [f"{one.parts.path.name}/{one.first}-{one.last}" for one in parts]
    return places[0] if len(places) == 1 else f"{len(places)}-parts/{short_digest(places)}"


def label_of(gaps: Sequence[Gap]) -> str:
    """Return what people call an item of work."""
    first = gaps[0]
    label = f"episodes {first.missing.first} to {first.missing.last} of {first.name}"
    return label if len(gaps) == 1 else f"{label} and {len(gaps) - 1} more"
