"""What a worker does: a chunk of a suite, a chunk of pruned episodes, a few against the clock."""

from __future__ import annotations

import atexit
import os
import pickle
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import cloudpickle
import numpy as np
from gymnasium.spaces import Discrete

from rpd_core.chance import Phase, episode_keys
from rpd_core.errors import EpisodeError
from rpd_core.play.deciders import Coin, CoinAround, TopStates
from rpd_core.play.entry_names import observed_entries, related_names, relations_note
from rpd_core.play.loop import Plan, Player, Step, joined
from rpd_core.play.profile import instrument, timing
from rpd_core.play.recipe import Recipe
from rpd_core.play.recorder import play_suite, recorder_for
from rpd_core.play.repeatable import refuse_moody_policy
from rpd_core.plugin.chain import Chain
from rpd_core.plugin.origins import Origin, origin_of
from rpd_core.plugin.protocols import Entry, Episodes, Facts, Suite, Visits
from rpd_core.plugin.protocols.suite import RANKED_STEPS

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import IntArray, KeyArray

_MANY = 1000
"""Actions beyond which their numbers are not stored."""
_PLAYERS = 2
"""Opened recipes that a worker keeps: the policy's and random play's."""


@dataclass(frozen=True)
class Names:
    """What people call the actions and the entries of an observation."""

    environment: str = ""
    actions: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    state_entries: tuple[Entry, ...] = ()
    """Those of an abstract state; none where they are not known."""
    relations: tuple[str, ...] = ()
    """Actions relative to the state, where choices are counted so."""
    note: str = ""
    """What these mean, in a sentence."""

    @property
    def choices(self) -> tuple[str, ...]:
        """What the counted choices in a state are called."""
        return self.relations or self.actions


@dataclass(frozen=True)
class Around:
    """A pruned policy around which mutants are drawn: which states of it keep the policy."""

    kept: KeyArray
    other_rate: float
    """Chance that any other state is mutated, as it always is in the pruned policy itself."""


@dataclass(frozen=True)
class SuiteJob:
    """The episodes `first` to `last` of a suite, both included."""

    recipe: Recipe
    seed: int
    mutation_rate: float
    """Chance that a state is mutated; 0 for episodes of the policy as it is."""
    first: int
    last: int
    phase: Phase = Phase.SUITE
    part: int = 0
    """Distinguishes suites within a phase."""
    around: Around | None = None
    """The pruned policy that is mutated; None: the policy itself."""


@dataclass(frozen=True)
class SuiteChunk:
    """What a suite job gave, and who played it."""

    suite: Suite
    names: Names
    origin: Origin


@dataclass(frozen=True)
class Evaluation:
    """Pruned policies of some rankings, each over the same test episodes.

    Episode i of an evaluation is test episode `i % test_episodes` of pruned policy
    `i // test_episodes`.
    """

    recipe: Recipe
    seed: int
    phase: Phase
    part: int
    """Distinguishes sets of episodes within a phase."""
    rankings: tuple[KeyArray, ...]
    """Keys of the same states, most important first, once per ranking."""
    points: tuple[tuple[int, int], ...]
    """Per pruned policy: which ranking, and how many of its first states keep the policy."""
    unranked_kept: bool
    """Whether states outside the ranking keep the policy."""
    test_episodes: int
    visits: bool = False
    """Whether it is stored which states each episode visited."""
    chosen: tuple[int, ...] | None = None
    """Which of the test episodes are played, in order; None: all. There are `test_episodes`."""

    @property
    def total(self) -> int:
        """Number of episodes."""
        return len(self.points) * self.test_episodes

    def test_numbers(self, index: IntArray) -> IntArray:
        """Return which test episode each episode is."""
        place = index % self.test_episodes
        return place if self.chosen is None else np.array(self.chosen, dtype=np.int64)[place]

    def plan(self, first: int, last: int) -> Plan:
        """Return the episodes `first` to `last`."""
        index = np.arange(first, last + 1)
        numbers = self.test_numbers(index)
        return Plan(index, episode_keys(self.seed, self.phase, numbers, self.part))

    def narrowed(self, first: int, last: int) -> Evaluation:
        """Return it without the rankings that the episodes `first` to `last` do not need.

        There are many of a large suite's states, and a chunk of episodes seldom needs two of them.
        """
        some = slice(first // self.test_episodes, last // self.test_episodes + 1)
        used = sorted({ranking for ranking, _ in self.points[some]})
        place = {ranking: number for number, ranking in enumerate(used)}
        points = tuple((place.get(ranking, 0), kept) for ranking, kept in self.points)
        return replace(self, rankings=tuple(self.rankings[one] for one in used), points=points)

    def actor(self, index: int) -> str:
        """Return who acts in an episode."""
        if self.phase is Phase.REFERENCE:
            return "random play, which gives the reference (--reference does without)"
        ranking, kept = self.points[index // self.test_episodes]
        states = len(self.rankings[ranking])
        if kept == states and self.unranked_kept:
            return "the policy as it is"
        if kept == 0 and not self.unranked_kept:
            return "the default action everywhere"
        return f"the policy in {kept} of {states} states"


@dataclass(frozen=True)
class EvaluationJob:
    """The episodes `first` to `last` of an evaluation."""

    evaluation: Evaluation
    first: int
    last: int


@dataclass(frozen=True)
class EvaluationChunk:
    """What an evaluation job gave."""

    episodes: Episodes
    visits: Visits | None = None
    """Where the evaluation asks for them."""


@dataclass(frozen=True)
class EvaluationChunks:
    """What some evaluation jobs gave, in their order, and who played them."""

    chunks: tuple[EvaluationChunk, ...]
    origin: Origin


def perform_suite(job: SuiteJob) -> SuiteChunk:
    """Play a chunk of mutant episodes, or of the policy's own."""
    index = np.arange(job.first, job.last + 1)
    plan = Plan(index, episode_keys(job.seed, job.phase, index, job.part))
    opened = player_for(job.recipe)
    try:
        suite = play_suite(opened.player, plan, _coin(job, plan))
    except EpisodeError as error:
        error.add(", a mutant" if job.mutation_rate else ", the policy as it is")
        raise
    return SuiteChunk(suite, names_of(opened.player.facts, job.recipe), opened.origin)


def _coin(job: SuiteJob, plan: Plan) -> Coin:
    if job.around is None:
        return Coin(plan, job.mutation_rate)
    return CoinAround(plan, job.around.kept, job.mutation_rate, job.around.other_rate)


def names_of(facts: Facts, recipe: Recipe) -> Names:
    """Return the names that an environment, and what abstracts from it, have for things."""
    actions = tuple(facts.action_names) or _numbers(facts.action_space)
    entries = Chain(recipe.links).name_entries(observed_entries(facts))
    relations = related_names(recipe.links, facts.action_space)
    note = relations_note(recipe.links) if relations else ""
    return Names(facts.description, actions, tuple(facts.entry_names), entries, relations, note)


def _numbers(space: Any) -> tuple[str, ...]:
    """Return the numbers of discrete actions that have no names."""
    if not isinstance(space, Discrete) or space.n > _MANY:
        return ()
    return tuple(str(int(space.start) + place) for place in range(int(space.n)))


def perform_evaluations(jobs: Sequence[EvaluationJob]) -> EvaluationChunks:
    """Play chunks of evaluations, all of one recipe, in the same lanes."""
    opened = player_for(jobs[0].evaluation.recipe)
    shared = _Shared(jobs, opened.player)
    try:
        played = opened.player.play_together(shared.plans, shared.keep, shared.record)
    except EpisodeError as error:
        if error.position is not None:
            error.add(f", {shared.actor(error.position)}")
        raise
    return EvaluationChunks(tuple(shared.chunks(played)), opened.origin)


class _Shared:
    """Jobs that are played in the same lanes, one after the other."""

    def __init__(self, jobs: Sequence[EvaluationJob], player: Player) -> None:
        self.jobs = jobs
        self.plans = [job.evaluation.plan(job.first, job.last) for job in jobs]
        self.ends = np.cumsum([len(plan) for plan in self.plans])
        """Per job, the position after its last episode."""
        self.keep = _top_states(jobs)
        self.recorders = {
            place: recorder_for(player) for place, job in enumerate(jobs) if job.evaluation.visits
        }

    def record(self, step: Step) -> None:
        """Record a step for the jobs that want it."""
        self.keep.record(step)
        for place, recorder in self.recorders.items():
            end = self.ends[place]
            mine = (step.position < end) & (step.position >= end - len(self.plans[place]))
            recorder(replace(step, active=step.active & mine))

    def actor(self, position: int) -> str:
        """Return who acts in an episode."""
        place = int(np.searchsorted(self.ends, position, side="right"))
        before_end = int(self.ends[place]) - position
        return self.jobs[place].evaluation.actor(self.jobs[place].last + 1 - before_end)

    def chunks(self, played: Sequence[Episodes]) -> Iterator[EvaluationChunk]:
        """Yield what each job gave."""
        whole, ranked_steps = joined(self.plans), np.split(self.keep.ranked_steps, self.ends[:-1])
        for place, (episodes, ranked) in enumerate(zip(played, ranked_steps, strict=True)):
            counted = replace(episodes, info={**episodes.info, RANKED_STEPS: ranked})
            recorder = self.recorders.get(place)
            suite = None if recorder is None else recorder.suite(counted, whole, self.keep)
            yield EvaluationChunk(counted, None if suite is None else suite.visits)


def _top_states(jobs: Sequence[EvaluationJob]) -> TopStates:
    """Return who decides in the episodes of all jobs, one after the other."""
    rankings: list[KeyArray] = []
    unranked_kept: list[bool] = []
    points = []
    for job in jobs:
        asked = job.evaluation
        policies = np.arange(job.first, job.last + 1) // asked.test_episodes
        points.append(np.array(asked.points, dtype=np.int64)[policies] + [len(rankings), 0])
        rankings += asked.rankings
        unranked_kept += [asked.unranked_kept] * len(asked.rankings)
    return TopStates(rankings, np.concatenate(points), unranked_kept)


@dataclass(frozen=True)
class OpenPlayer:
    """An opened recipe, and which distributions it is made of."""

    player: Player
    origin: Origin


_open: OrderedDict[bytes, OpenPlayer] = OrderedDict()
"""What this process has opened; items of work run one at a time."""


def player_for(recipe: Recipe) -> OpenPlayer:
    """Return the opened recipe, kept open between chunks of the same process."""
    name = _name_of(recipe)
    players = _open
    if timing():
        name = b"timed " + name
    if name not in players:
        while len(players) >= _PLAYERS:
            players.popitem(last=False)[1].player.close()
        player = Player(recipe)
        try:
            refuse_moody_policy(player)
        except BaseException:
            player.close()
            raise
        if timing():
            instrument(player)
        players[name] = OpenPlayer(player, origin_of(recipe.components()))
    players.move_to_end(name)
    return players[name]


def _name_of(recipe: Recipe) -> bytes:
    """Return bytes that are the same for the same recipe, sent once more by the parent process."""
    for dumps in (pickle.dumps, cloudpickle.dumps):  # the second for functions without a module
        with suppress(Exception):  # whatever a stranger's object raises
            name: bytes = dumps(recipe)
            return name
    return repr(id(recipe)).encode()  # it never leaves this process


@atexit.register
def close_players() -> None:
    """Close what this process has opened."""
    while _open:
        _open.popitem()[1].player.close()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_open.clear)  # they are its parent's


@dataclass(frozen=True)
class Probed:
    """Some mutant episodes, and how long they took."""

    chunk: SuiteChunk
    seconds: float
    """Time of playing them, without that of opening what plays them."""


def perform_probe(job: SuiteJob) -> Probed:
    """Play mutant episodes and take the time."""
    player_for(job.recipe)  # opening costs time only once, so it stays outside the clock
    start = time.perf_counter()
    chunk = perform_suite(job)
    return Probed(chunk, time.perf_counter() - start)
