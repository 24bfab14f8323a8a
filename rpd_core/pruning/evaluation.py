"""Episodes of pruned policies: played where missing, stored, read again.

Parts of several evaluations may be one item of work, so that it fills its lanes: those whose
episode is over start the next one of the item, and towards its end they stay idle. What is stored
does not depend on any of this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.suite import concat_visits, merge_states, take_visits
from rpd_core.chance import Phase
from rpd_core.config.configuration import short_digest
from rpd_core.config.settings import Settings
from rpd_core.play.chunks import Evaluation, EvaluationChunk, PlayedEvaluations, perform_evaluations
from rpd_core.plugin.protocols import Episodes, States, Visits, WorkItem
from rpd_core.plugin.protocols.suite import PrunedColumns, StateWords
from rpd_core.pruning.stored_sweep import read_evaluation
from rpd_core.store.files import file_stem
from rpd_core.store.parts import Part, Parts
from rpd_core.store.session import Session, StoredItem
from rpd_core.store.tables import read_table, table_of

if TYPE_CHECKING:
    import pyarrow as pa

    from rpd_core.plugin.protocols import KeyArray


def ask(
    session: Session,
    rankings: Sequence[KeyArray],
    points: Sequence[tuple[int, int]],
    unranked_kept: bool | None = None,
    phase: Phase = Phase.TEST,
    part: int = 0,
) -> Evaluation:
    """Describe pruned policies, each a ranking and a cutoff, with the run's settings."""
    settings = session.setup.config.settings
    if unranked_kept is None:
        unranked_kept = settings.unvisited == "policy"
    return Evaluation(
        session.recipe,
        settings.seed,
        phase,
        part,
        tuple(rankings),
        tuple(points),
        unranked_kept,
        settings.test_episodes,
    )


@dataclass
class Evaluations:
    """The pruned episodes of one analysis, and where each set of them is stored."""

    session: Session
    folders: dict[str, str] = field(default_factory=dict)
    """Folder in `pruning` of each set, by what it is."""
    lengths: dict[str, int] = field(default_factory=dict)
    """Steps of each set, by its folder."""

    def play(
        self, stage: str, asked: Mapping[str, Evaluation], before: int = 0
    ) -> dict[str, Episodes]:
        """Play what is missing of several evaluations and return the episodes of each.

        `before` counts episodes of the same stage that were played in earlier calls.
        """
        session = self.session
        base = session.setup.config.digest()
        folders = {name: _folder_name(name, one, base) for name, one in asked.items()}
        self.folders |= folders
        stored = {
            name: session.directory.evaluation(folder, asked[name].visits, asked[name].traced)
            for name, folder in folders.items()
        }
        for parts in stored.values():
            session.repair(parts)
            session.remember_origins(parts)
        missing = [
            _Missing(name, one, Part(stored[name], first, last))
            for name, one in asked.items()
            for first, last in stored[name].each_gap(one.total, session.setup.config.settings.chunk)
        ]
        total = before + sum(one.total for one in asked.values())
        done = total - sum(one.part.size for one in missing)
        session.progress(stage, done, total)
        session.play(stage, self._work(missing), done, total)
        found = {name: read_evaluation(stored[name], asked[name].total) for name in asked}
        self.lengths |= {folders[name]: int(one.length.sum()) for name, one in found.items()}
        return found

    def visited(self, name: str, first: int, last: int) -> KeyArray:
        """Return the states that some episodes of a set visited, where that was recorded."""
        return np.unique(self.visits(name, first, last).key)

    def visits(self, name: str, first: int = 0, last: int = 2**62) -> Visits:
        """Return who visited what in some episodes of a set, where that was recorded."""
        stored = self._with_visits(name)
        visits = concat_visits(
            [
                read_table(Visits, stored.read(start, end, ("visits",))["visits"])
                for start, end in stored.covered()
                if start <= last and end >= first
            ]
        )
        wanted = (visits.episode >= first) & (visits.episode <= last)
        return take_visits(visits, np.flatnonzero(wanted))

    def states(self, *names: str) -> States:
        """Return what policy and default action chose in the states that some sets visited.

        It is added up over all episodes of the sets, and cannot be taken apart again.
        """
        return merge_states(
            [
                read_table(States, stored.read(start, end, ("states",))["states"])
                for stored in map(self._with_visits, names)
                for start, end in stored.covered()
            ]
        )

    def _with_visits(self, name: str) -> Parts:
        return self.session.directory.evaluation(self.folders[name], visits=True)

    def _work(self, missing: Sequence[_Missing]) -> Iterator[StoredItem]:
        """Yield items of work; parts of the same recipe share lanes."""
        base = self.session.setup.config.digest()
        for alike in _by_recipe(missing):
            files = self.session.files(alike[0].asked.recipe)
            for some in _shared(alike, self.session.setup.config.settings, self.session.workers):
                item = WorkItem(
                    f"{base}/{_identity_of(some)}",
                    perform_evaluations,
                    tuple(one.chunk for one in some),
                    _label_of(some),
                    files,
                )
                yield StoredItem(tuple(one.part for one in some), item, partial(_to_tables, some))


def _to_tables(missing: Sequence[_Missing], answer: PlayedEvaluations) -> list[dict[str, pa.Table]]:
    found = []
    for one, chunk in zip(missing, answer.chunks, strict=True):
        found.append({"episodes": _evaluation_table(one.asked, chunk.episodes)})
        if chunk.visits is not None and chunk.states is not None:
            found[-1]["visits"] = table_of(chunk.visits)
            found[-1]["states"] = table_of(chunk.states, StateWords([""] * len(chunk.states)))
        if chunk.trace is not None:
            found[-1]["trace"] = table_of(chunk.trace)
    return found


def _evaluation_table(asked: Evaluation, episodes: Episodes) -> pa.Table:
    """Return the episodes with the pruned policy and the test episode that each belongs to."""
    points = np.array(asked.points, dtype=np.int64)[episodes.index // asked.test_episodes]
    numbers = asked.test_numbers(episodes.index)
    return table_of(episodes, PrunedColumns(points[:, 0], points[:, 1], numbers))


def _folder_name(name: str, asked: Evaluation, base: str) -> str:
    """Return a name that is readable and differs whenever the episodes would."""
    what = [
        base, asked.phase, asked.part, asked.points, asked.unranked_kept, asked.test_episodes,
        "states" if asked.visits else False,
        [ranked.tobytes().hex() for ranked in asked.rankings],
        *([] if asked.chosen is None else [asked.chosen]),
        *([asked.units, asked.removed] if asked.removed else []),
        *([asked.variant] if asked.variant else []),
        *(["trace"] if asked.traced else []),
    ]  # fmt: skip
    return f"{file_stem(name)}-{short_digest(what)}"


FILLS = 2
"""How often an item of work fills the lanes, where a chunk fills them less often."""


@dataclass(frozen=True)
class _Missing:
    """A part of an evaluation that is to be played."""

    name: str
    """Of the evaluation."""
    asked: Evaluation
    part: Part

    @property
    def chunk(self) -> EvaluationChunk:
        """What a worker is told."""
        _, first, last = self.part
        return EvaluationChunk(self.asked.narrowed(first, last), first, last)


def _by_recipe(missing: Sequence[_Missing]) -> Iterable[Sequence[_Missing]]:
    """Return parts that can share lanes."""
    found: dict[tuple[int, ...], list[_Missing]] = {}
    for one in missing:
        components = tuple(id(part) for _, part in one.asked.recipe.components())
        found.setdefault(components, []).append(one)
    return found.values()


def _shared(
    missing: Sequence[_Missing], settings: Settings, workers: int
) -> Iterator[Sequence[_Missing]]:
    """Yield the parts of each item of work: neighbours, of about the same size together."""
    lengths = np.array([one.part.size for one in missing])
    middles = np.cumsum(lengths) - lengths / 2
    items = number_of_items(int(lengths.sum()), settings.chunk, settings.lanes, workers)
    numbers = (middles * items // lengths.sum()).tolist()
    for _, some in groupby(zip(numbers, missing, strict=True), key=itemgetter(0)):
        yield [one for _, one in some]


def number_of_items(episodes: int, chunk: int, lanes: int, workers: int) -> int:
    """Return how many items of work some episodes are to be.

    An item is no longer than a chunk, unless that fills the lanes hardly once. All workers have the
    same number of items, unless these would leave lanes empty from the beginning.
    """
    fewest = -(-episodes // max(chunk, FILLS * lanes))
    return min(-(-fewest // workers) * workers, -(-episodes // lanes))


def _identity_of(missing: Sequence[_Missing]) -> str:
    """Return what tells an item of work from all others of its run."""
    parts = [one.part for one in missing]
    places = [f"{one.parts.path.name}/{one.first}-{one.last}" for one in parts]
    return places[0] if len(places) == 1 else f"{len(places)}-parts/{short_digest(places)}"


def _label_of(missing: Sequence[_Missing]) -> str:
    """Return what people call an item of work."""
    first = missing[0]
    label = f"episodes {first.part.first} to {first.part.last} of {first.name}"
    return label if len(missing) == 1 else f"{label} and {len(missing) - 1} more"
