"""The episodes that losses come from, and their twins: what pictures and films are taken of.

An episode and its twin are stored with the run, so that one whose outcome differs as the loss
claims is chosen before anything is played.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rpd_core.analysis.analysis import weigh
from rpd_core.chance import Phase, episode_keys
from rpd_core.errors import ConfigError, StoreError
from rpd_core.play.deciders import TopStates
from rpd_core.play.loop import Plan
from rpd_core.pruning.twins import ranking_of
from rpd_core.results.kept import all_keys
from rpd_core.results.replay import LOSS_BLOCK, LOSS_PART
from rpd_core.results.run import Run
from rpd_core.store.tables import read_episodes

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Condition, Episodes, IntArray, KeyArray
    from rpd_core.results.records import Decision
    from rpd_core.store.parts import Parts

_CLEAR = 0.5
"""Share of the mean loss that a twin must lose to be shown, where no twin fails."""
_TRIED = 8
"""Episodes that are tried for a film where no twins of the run share its episodes."""


@dataclass(frozen=True)
class Smallest:
    """The smallest policy of a run, as it is played."""

    seed: int
    """Of the run."""
    ranking: KeyArray
    """Its kept states, and behind them all others, if states outside keep the policy."""
    kept: int
    """Number of the kept states."""
    elsewhere: bool
    """Whether the policy decides where the suite never was."""

    @classmethod
    def of(cls, run: Run) -> Smallest:
        """Return that of a run; refuse one without."""
        kept = run.kept()
        if kept is None or not run.decisions:
            raise ConfigError(
                f"{str(run.path)!r} has no confirmed smallest policy, so that there is no decision "
                "to film: draw an --episode"
            )
        ranking, elsewhere = kept.array, run.asked.settings.unvisited == "policy"
        if elsewhere:
            ranking = ranking_of(ranking, all_keys(run.directory, run.asked.episodes))
        return cls(run.directory.stored().settings.seed, ranking, len(kept.keys), elsewhere)

    def plan(self, episodes: IntArray, limits: IntArray | None = None) -> Plan:
        """Return some of the episodes that its losses come from."""
        return Plan(episodes, episode_keys(self.seed, Phase.LOSS, episodes, LOSS_PART), limits)

    def keep(self, count: int) -> TopStates:
        """Return who decides in so many episodes."""
        return TopStates((self.ranking,), np.tile([[0, self.kept]], (count, 1)), self.elsewhere)


@dataclass(frozen=True)
class Visit:
    """The first visit of an episode to a state."""

    key: int
    """Key of the state."""
    episode: int
    """Of those that losses come from."""
    step: int
    """From 0."""


@dataclass(frozen=True)
class Twin:
    """An episode that visits a decision, and the same without the decision."""

    visit: Visit
    returns: tuple[float, float]
    """With the decision, and without."""
    lengths: tuple[int, int]
    """Steps of both."""
    passed: tuple[bool, bool] = (False, False)
    """Whether each met the condition of the analysis; neither where one was broken off."""

    @property
    def loss(self) -> float:
        """What this episode loses without the decision."""
        return self.returns[0] - self.returns[1]

    @property
    def flips(self) -> bool:
        """Whether it passes with the decision, and returns less and fails without."""
        return self.passed[0] and not self.passed[1] and self.loss > 0


@dataclass(frozen=True)
class Filmed:
    """A twin that shows what a decision is worth, and how many others go the same way."""

    twin: Twin
    tried: int
    """All twins that it was chosen from."""
    alike: int
    """Those of them that go as this one does."""
    flips: bool
    """Whether these pass with the decision and fail without; else they lose `least` or more."""
    least: float
    """Return that each of them loses at least."""


@dataclass(frozen=True)
class _Played:
    """What became of episodes, in rows."""

    number: tuple[int, ...]
    """Which of the episodes that losses come from each is, or is the twin of."""
    total_return: tuple[float, ...]
    length: tuple[int, ...]
    passed: tuple[bool, ...]

    @classmethod
    def of(cls, table: pa.Table, condition: Condition) -> _Played:
        """Return that of stored episodes."""
        episodes = read_episodes(table)
        numbers = table["test_episode"].to_pylist()
        return cls(
            tuple(numbers),
            tuple(episodes.total_return.tolist()),
            tuple(episodes.length.tolist()),
            tuple(passing(condition, episodes)),
        )


def passing(condition: Condition, episodes: Episodes) -> list[bool]:
    """Return which episodes meet a condition."""
    return [bool(one) for one in weigh(condition, episodes) >= 0.5]


@dataclass(frozen=True)
class LossEpisodes:
    """What is stored of the episodes that losses come from."""

    episodes: _Played
    twins: _Played | None
    """None: none was played."""
    visits: Mapping[int, tuple[Visit, ...]]
    """By decision, in the order of the episodes."""
    rows: Mapping[int, slice]
    """By decision, its rows among the twins."""

    @classmethod
    def read(cls, run: Run) -> LossEpisodes:
        """Read them; twins are stored in the order of the keys."""
        folders, directory = run.asked.evaluations, run.directory
        if LOSS_BLOCK not in folders:
            raise StoreError(f"{str(run.path)!r} holds no episodes that losses come from")
        block = directory.evaluation(folders[LOSS_BLOCK], visits=True)
        twins = folders.get(f"{LOSS_BLOCK}-twins")
        ordered = sorted(run.decisions, key=lambda one: one.key)
        ends = np.cumsum([0, *(one.twins for one in ordered)]).tolist()
        condition = run.analysis.condition

        def played(parts: Parts) -> _Played:
            return _Played.of(_table(parts, "episodes"), condition)

        return cls(
            played(block),
            None if twins is None else played(directory.evaluation(twins)),
            _visits(_table(block, "visits"), [one.key for one in ordered]),
            {one.key: slice(*ends[at : at + 2]) for at, one in enumerate(ordered)},
        )

    def twins_of(self, decision: Decision) -> tuple[Twin, ...]:
        """Return all twins without a decision; none where they do not share its episodes."""
        if self.twins is None:
            return ()
        rows = range(len(self.twins.number))[self.rows[decision.key]]
        own = {number: row for row, number in enumerate(self.episodes.number)}
        visits = {one.episode: one for one in self.visits[decision.key]}
        return tuple(
            self._twin(visits[number], own[number], row)
            for row in rows
            if (number := self.twins.number[row]) in visits and number in own
        )

    def _twin(self, visit: Visit, own: int, row: int) -> Twin:
        one, two = self.episodes, self.twins
        assert two is not None, "the row is one of them"
        return Twin(
            visit,
            (one.total_return[own], two.total_return[row]),
            (one.length[own], two.length[row]),
            (one.passed[own], two.passed[row]),
        )

    def choice(self, decision: Decision) -> Choice:
        """Return what a film of a decision is chosen from."""
        return Choice(self.twins_of(decision), self.visits[decision.key][:_TRIED])


@dataclass(frozen=True)
class Choice:
    """What a film of a decision is chosen from."""

    twins: tuple[Twin, ...]
    """Those that are stored."""
    visits: tuple[Visit, ...]
    """Some visits; their twins are played where none are stored."""


def _table(parts: Parts, name: str) -> pa.Table:
    read = [parts.read(first, last, (name,))[name] for first, last in parts.covered()]
    return pa.concat_tables(read)


def _visits(table: pa.Table, keys: Sequence[int]) -> dict[int, tuple[Visit, ...]]:
    mine = table.filter(np.isin(table["key"].to_numpy(), np.array(keys, dtype=np.uint64)))
    found: dict[int, list[Visit]] = {key: [] for key in keys}
    for row in mine.select(["key", "episode", "first_step"]).to_pylist():
        found[row["key"]].append(Visit(row["key"], row["episode"], row["first_step"]))
    return {key: tuple(rows) for key, rows in found.items()}


def telling(twins: Sequence[Twin]) -> Filmed | None:
    """Return a twin that shows what a decision is worth; None: none shows it clearly.

    Its outcome flips: the condition is met with the decision and missed without. Where no twin
    does that, it loses at least half of what a visiting episode loses in the mean. Of all such
    twins it is the one in the middle.
    """
    flipping = [one for one in twins if one.flips]
    mean = sum(one.loss for one in twins) / max(len(twins), 1)
    alike = flipping or [one for one in twins if mean > 0 and one.loss >= _CLEAR * mean]
    if not alike:
        return None
    alike.sort(key=lambda one: (one.loss, one.visit.step, one.visit.episode))
    chosen = alike[len(alike) // 2]
    return Filmed(chosen, len(twins), len(alike), bool(flipping), alike[0].loss)
