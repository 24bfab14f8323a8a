"""Twins: the same episode with one decision more given to the default action.

A look plays a block of fresh episodes of a pruned policy, and again those that visit a decision,
without it. An episode is fixed by its identity and by who decides where, so one in which the policy
never differs from the default there is its own twin and is not played. Loss is what an episode
returns more than its twin, in the mean over all episodes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from rpd_core.analysis.suite import take_episodes
from rpd_core.chance import Phase
from rpd_core.play.chunks import Evaluation
from rpd_core.play.recipe import Recipe
from rpd_core.plugin.protocols import Episodes, Visits
from rpd_core.pruning.evaluation import Evaluations, ask

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import BoolArray, FloatArray, IntArray, KeyArray

T = TypeVar("T")

CONTROLS = 4
"""Twins of a look in which no action differs: they must equal their episodes."""
_FEWEST = 2
"""Twins of each unit at least, where as many visit it."""
_ENOUGH_PAIRS = 30
"""Twins from which on their correlation says something."""


@dataclass(frozen=True)
class Played:
    """A block of episodes of a pruned policy."""

    name: str
    """What the set of episodes is called."""
    asked: Evaluation
    episodes: Episodes
    visits: Visits
    """Who visited what."""


Questions = Mapping[str, Evaluation]
"""Evaluations that are to be played, by name."""
Answers = Mapping[str, Episodes]
"""Their episodes."""
Asking = Generator[Questions, Answers, T]
"""Work that asks for episodes as it goes; several can be played in the same batches."""


def play_together(evaluations: Evaluations, stage: str, works: Sequence[Asking[T]]) -> list[T]:
    """Play what several works ask for, question by question, and return what they end with.

    What each asks for does not depend on the others, so that the same work has the same end alone.
    """
    ends: dict[int, T] = {}
    asked: dict[int, Questions] = {}

    def go_on(place: int, answers: Answers | None) -> None:
        try:
            work = works[place]
            asked[place] = next(work) if answers is None else work.send(answers)
        except StopIteration as end:
            asked.pop(place, None)
            ends[place] = end.value

    for place in range(len(works)):
        go_on(place, None)
    while asked:
        questions = {name: one for some in asked.values() for name, one in some.items()}
        played = evaluations.play(stage, questions)
        for place, some in list(asked.items()):
            go_on(place, {name: played[name] for name in some})
    return [ends[place] for place in range(len(works))]


@dataclass
class Blocks:
    """Plays pruned policies, each on a block of fresh episodes that is used once."""

    evaluations: Evaluations
    keys: KeyArray
    """All states that are known."""
    phase: Phase = Phase.MINIMISE
    stage: str = "minimising"
    used: int = 0
    """The last block that was used; the next one is the part of the next number."""
    recipe: Recipe | None = None
    """What is played, if not what the run plays."""
    variant: str = ""
    """What tells it apart then."""
    paired: bool = True
    """Whether twins share the identity of their episodes."""
    count: int = 0
    """Blocks that were used."""
    steps: int = 0
    """Steps of all episodes that were played; stored ones count, too."""
    episodes: int = 0
    """Their number."""
    broken: int = 0
    """Twins that differ from their episodes though no action does."""
    twins: int = 0
    """Twins among these episodes."""
    twin_steps: int = 0
    """Their steps."""

    def twin_length(self, episodes: Episodes) -> float:
        """Return how long twins are: as those so far, or as the longest of some episodes."""
        return self.twin_steps / self.twins if self.twins else float(episodes.length.max())

    def play(self, kept: KeyArray | None, count: int) -> Asking[Played]:
        """Play a pruned policy on the next block of episodes, and tell who visits what.

        None: the policy as it is.
        """
        name = self._next_block()
        nothing = self.keys[:0]
        asked = self._ask([nothing if kept is None else kept], count, visits=True)
        if kept is None:
            asked = dataclasses.replace(asked, rankings=(nothing,), unranked_kept=True)
        episodes = yield from self._played(name, asked)
        return Played(name, asked, episodes, self.evaluations.visits(name, 0, count - 1))

    def play_twins(
        self, block: Played, units: IntArray, chosen: IntArray, removed: IntArray
    ) -> Asking[Episodes]:
        """Play some episodes of a block again, each without one unit of states."""
        asked = dataclasses.replace(
            block.asked,
            chosen=tuple(chosen.tolist()),
            test_episodes=len(chosen),
            units=tuple(units.tolist()),
            removed=tuple(removed.tolist()),
            visits=False,
        )
        found = yield from self._played(f"{block.name}-twins", asked)
        self.twins, self.twin_steps = (
            self.twins + len(found),
            self.twin_steps + int(found.length.sum()),
        )
        return found

    def _next_block(self) -> str:
        self.used, self.count = self.used + 1, self.count + 1
        return f"{self.stage}-{self.used}"

    def _ask(self, sets: Sequence[KeyArray], count: int, visits: bool) -> Evaluation:
        session = self.evaluations.session
        others = session.setup.config.settings.unvisited == "policy"
        rankings = [ranking_of(kept, self.keys) if others else kept for kept in sets]
        points = [(place, len(kept)) for place, kept in enumerate(sets)]
        asked = ask(session, rankings, points, phase=self.phase, part=self.used)
        recipe = asked.recipe if self.recipe is None else self.recipe
        return dataclasses.replace(
            asked, test_episodes=count, visits=visits, recipe=recipe, variant=self.variant
        )

    def _played(self, name: str, asked: Evaluation) -> Asking[Episodes]:
        found = (yield {name: asked})[name]
        self.steps += int(found.length.sum())
        self.episodes += len(found)
        return found


def ranking_of(kept: KeyArray, keys: KeyArray) -> KeyArray:
    """Return states in an order that has the kept ones first: a ranking to be cut after them."""
    return np.concatenate([kept, np.setdiff1d(keys, kept)])


@dataclass(frozen=True)
class Look:
    """What a block of episodes and its twins say about each unit of kept states."""

    kept: KeyArray
    """The kept states, in ascending order."""
    units: IntArray
    """The unit that each is given to the default with."""
    returns: FloatArray
    """Of the episodes of the block."""
    visited: BoolArray
    """Per kept state, whether any episode visits it."""
    state_steps: FloatArray
    """Per kept state, its share of all steps."""
    state_overrides: FloatArray
    """Per kept state, the share of all steps at which the policy differs from the default there."""
    loss: FloatArray
    """Per unit."""
    error: FloatArray
    """Per unit, the standard error of that."""
    saved: FloatArray
    """Per unit, by how much the share of steps that the policy decides falls without it.

    It may rise: without a decision the policy may spend its steps in others.
    """
    twins: int
    """Twins that were played."""
    correlation: float | None
    """Of the returns of episodes and their twins; None: too few."""

    @cached_property
    def mean(self) -> float:
        """Mean return of the block."""
        return float(self.returns.mean())

    @property
    def unit_steps(self) -> FloatArray:
        """Per unit, its share of all steps."""
        return np.asarray(np.bincount(self.units, self.state_steps, len(self.loss)), dtype=float)


def look_at(
    blocks: Blocks, kept: KeyArray, units: IntArray, count: int, twins: int, most: float = np.inf
) -> Asking[Look]:
    """Play a block of `count` episodes, and of those that visit a unit at most `twins` without it.

    Where twins would take more than `most` steps, fewer are played, but one of each unit.
    """
    block = yield from blocks.play(kept, count)
    return (yield from weigh(blocks, block, kept, units, twins, most))


def weigh(
    blocks: Blocks,
    block: Played,
    kept: KeyArray,
    units: IntArray,
    twins: int,
    most: float = np.inf,
) -> Asking[Look]:
    """Play twins of a block, and return what it says about each unit."""
    episodes, visits = block.episodes, block.visits
    own = np.flatnonzero(np.isin(visits.key, kept))
    place = np.searchsorted(kept, visits.key[own])
    many = int(units.max(initial=-1)) + 1
    affordable = most / (blocks.twin_length(episodes) * max(many, 1))
    twins = max(int(min(twins, affordable)), _FEWEST)
    if blocks.paired:
        found = _changes(visits, own, units[place])
        losses = yield from _paired_losses(blocks, block, units, found, twins)
    else:
        losses = yield from _unpaired_losses(blocks, block, units, twins)
    total = float(episodes.length.sum())
    return Look(
        kept=kept,
        units=units,
        returns=episodes.total_return,
        visited=np.bincount(place, minlength=len(kept)) > 0,
        state_steps=np.bincount(place, visits.count[own], len(kept)) / total,
        state_overrides=np.bincount(place, visits.overrides[own], len(kept)) / total,
        loss=losses.mean,
        error=losses.error,
        saved=losses.saved,
        twins=losses.twins,
        correlation=losses.correlation,
    )


@dataclass(frozen=True)
class _Losses:
    """Losses of units, with their standard errors."""

    mean: FloatArray
    error: FloatArray
    saved: FloatArray
    twins: int
    correlation: float | None = None


@dataclass(frozen=True)
class _Changes:
    """Episodes that visit a unit, each pair once, by unit and then by episode."""

    episode: IntArray
    unit: IntArray
    changed: BoolArray
    """Whether the episode is another one without the unit: the default differs there."""


def _changes(visits: Visits, own: IntArray, unit: IntArray) -> _Changes:
    """Return which episodes visit which unit, and whether leaving it out changes an action."""
    episode = visits.episode[own]
    many = int(episode.max(initial=0)) + 1
    pairs, place = np.unique(unit * many + episode, return_inverse=True)
    changed = np.bincount(place, visits.differed[own], len(pairs)) > 0
    return _Changes(pairs % many, pairs // many, changed)


def _paired_losses(
    blocks: Blocks, block: Played, units: IntArray, found: _Changes, twins: int
) -> Asking[_Losses]:
    """Play episodes again without a unit that they visit; the first ones where there are many."""
    many = int(units.max(initial=-1)) + 1
    changed = np.flatnonzero(found.changed)
    count = np.bincount(found.unit[changed], minlength=many)
    number = np.arange(len(changed)) - np.repeat(np.cumsum(count) - count, count)
    chosen = changed[number < twins]
    controls = np.flatnonzero(~found.changed)[:CONTROLS]
    rows = np.concatenate([chosen, controls])
    if not len(rows):
        return _Losses(np.zeros(many), np.zeros(many), np.zeros(many), 0)
    played = yield from blocks.play_twins(block, units, found.episode[rows], found.unit[rows])
    before, after = block.episodes.total_return[found.episode[rows]], played.total_return
    blocks.broken += int((before[len(chosen) :] != after[len(chosen) :]).sum())
    before, after = before[: len(chosen)], after[: len(chosen)]
    own = take_episodes(block.episodes, found.episode[chosen])
    twin = take_episodes(played, np.arange(len(chosen)))
    unit, visiting = found.unit[chosen], count / len(block.episodes)
    mean, error = _moments(before - after, unit, visiting, len(block.episodes))
    noisy = _adds_noise(before - after, count / len(block.episodes), block, after)
    if blocks.broken or noisy:
        blocks.paired = False  # from the next look on
    saved = _saved_steps(block.episodes, own, twin, unit, visiting)
    return _Losses(mean, error, saved, len(rows), _correlation(before, after))


def _adds_noise(
    difference: FloatArray, visiting: FloatArray, block: Played, twins: FloatArray
) -> bool:
    """Return whether losses would be surer if as many twins were fresh episodes.

    Episodes that do not change count: that these cost nothing is most of what pairing gains.
    """
    if len(twins) < _ENOUGH_PAIRS:
        return False
    returns, each = block.episodes.total_return, len(visiting) / len(twins)
    paired = float(np.mean(visiting**2)) * float(difference.var()) * each
    return paired > float(twins.var()) * each + float(returns.var()) / len(returns)


def _saved_steps(
    block: Episodes, own: Episodes, twins: Episodes, unit: IntArray, visiting: FloatArray
) -> FloatArray:
    """Return by how much the share of the policy's steps falls without each unit.

    `own` are the episodes of the twins, row by row; those that do not change stay as they are.
    """
    many, length = len(visiting), float(block.length.mean())
    share = float(block.policy_steps.sum() / block.length.sum())
    per_twin = visiting / np.maximum(np.bincount(unit, minlength=many), 1)
    fewer = np.bincount(unit, own.policy_steps - twins.policy_steps, many) * per_twin
    shorter = np.bincount(unit, own.length - twins.length, many) * per_twin
    rest = np.maximum(length - shorter, 1.0)
    return np.asarray(share - (share * length - fewer) / rest)


def _moments(
    difference: FloatArray, unit: IntArray, visiting: FloatArray, episodes: int
) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard error of the loss of each unit.

    A unit's few differences are taken to vary as all do, as if one more had been seen; one that no
    episode visits, as if one did.
    """
    many = len(visiting)
    count = np.bincount(unit, minlength=many)
    mean = np.bincount(unit, difference, many) / np.maximum(count, 1)
    rest = (difference - mean[unit]) ** 2
    units = int((count > 0).sum())
    further = len(rest) - units
    usual = float(rest.sum()) / further if further >= units > 0 else _variance(difference)
    variance = (np.bincount(unit, rest, many) + usual) / np.maximum(count, 1)
    spread = visiting**2 * variance / np.maximum(count, 1)
    chance = mean**2 * visiting * (1 - visiting) / episodes
    unseen = float(np.mean(difference**2)) / episodes**2 if len(difference) else 0.0
    return visiting * mean, np.sqrt(spread + chance + np.where(count > 0, 0.0, unseen))


def _variance(values: FloatArray) -> float:
    """Return a variance, 0 of nothing."""
    return float(values.var()) if len(values) else 0.0


def _unpaired_losses(blocks: Blocks, block: Played, units: IntArray, twins: int) -> Asking[_Losses]:
    """Play fresh episodes without each unit: what they return less is its loss."""
    many, own = int(units.max(initial=-1)) + 1, block.episodes.total_return
    if not many:
        return _Losses(np.zeros(0), np.zeros(0), np.zeros(0), 0)
    unit = np.repeat(np.arange(many), twins)
    fresh = len(own) + np.arange(len(unit))
    played = yield from blocks.play_twins(block, units, fresh, unit)
    returns = played.total_return.reshape(many, twins)
    variance = returns.var(axis=1) / max(twins - 1, 1) + own.var() / max(len(own) - 1, 1)
    steps = played.policy_steps.reshape(many, twins).sum(axis=1)
    shares = steps / played.length.reshape(many, twins).sum(axis=1)
    whole = float(block.episodes.policy_steps.sum() / block.episodes.length.sum())
    loss = own.mean() - returns.mean(axis=1)
    return _Losses(loss, np.sqrt(variance), whole - shares, len(unit))


def _correlation(before: FloatArray, after: FloatArray) -> float | None:
    """Return how returns of episodes and of their twins go together; None: it cannot be told."""
    if len(before) < _ENOUGH_PAIRS or before.std() == 0 or after.std() == 0:
        return None
    return float(np.corrcoef(before, after)[0, 1])
