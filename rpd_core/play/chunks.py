"""What a worker does: chunks of suites and of evaluations, by the recipes that it keeps open."""

from __future__ import annotations

import atexit
import os
import pickle
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import cloudpickle
import numpy as np

from rpd_core.chance import Draws, Phase, canonical, combine, episode_keys, state_keys
from rpd_core.errors import EpisodeError, FitError
from rpd_core.play.actions import first_action, in_every_lane
from rpd_core.play.deciders import Coin, TopStates
from rpd_core.play.entry_names import names_of
from rpd_core.play.heartbeat import one_numeric_thread
from rpd_core.play.loop import Plan, Player, Step, joined
from rpd_core.play.names import Names
from rpd_core.play.profile import instrument, timing
from rpd_core.play.recipe import Recipe
from rpd_core.play.recorder import Tracer, play_suite, recorder_for
from rpd_core.plugin.blame import Origin, origin_of
from rpd_core.plugin.protocols import Episodes, PolicyInput, States, Suite, Visits
from rpd_core.plugin.protocols.arrays import Batch, BoolArray, FloatArray, IntArray, KeyArray
from rpd_core.plugin.protocols.suite import BEGINNING, RANKED_STEPS, Trace

_PLAYERS = 2  # opened recipes that a worker keeps: the policy's and random play's


@dataclass(frozen=True)
class _OpenPlayer:
    """An opened recipe, and which distributions it is made of."""

    player: Player
    origin: Origin


_open: OrderedDict[bytes, _OpenPlayer] = OrderedDict()
"""What this process has opened; items of work run one at a time."""


def player_for(recipe: Recipe) -> _OpenPlayer:
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
            _refuse_moody_policy(player)
        except BaseException:
            player.close()
            raise
        if timing():
            instrument(player)
        players[name] = _OpenPlayer(player, origin_of(recipe.components()))
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
    while _open:
        _open.popitem()[1].player.close()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_open.clear)  # they are its parent's


def _refuse_moody_policy(player: Player) -> None:
    """Refuse a policy whose answer changes when it is asked the same again."""
    facts, lanes = player.facts, player.facts.lanes
    seen = PolicyInput(  # the lanes as they are before the first episode
        observations=player.lanes.observe(),
        views={name: player.lanes.view(name) for name in player.views},
        starts=np.ones(lanes, dtype=bool),
        memory=None,
        draws=Draws(np.arange(lanes, dtype=np.uint64), np.zeros(lanes, dtype=np.int64)),
        previous=in_every_lane(first_action(facts), facts),
        rewards=np.zeros(lanes),
    )
    with one_numeric_thread():
        first = np.array(player.ask_policy(seen).actions)
        second = np.asarray(player.ask_policy(seen).actions)
    unknown = first.dtype.kind == "f"  # NaN is refused for what it is, at the first step
    if not np.array_equal(first, second, equal_nan=unknown):
        raise FitError(
            "the policy gave other actions when it was asked the same twice: it must depend on its "
            "input, its memory and its draws alone, or no episode could be repeated"
        )


@dataclass(frozen=True)
class SuiteChunk:
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


@dataclass(frozen=True)
class PlayedSuite:
    """What a chunk of a suite gave, and who played it."""

    suite: Suite
    names: Names
    origin: Origin


@dataclass(frozen=True)
class Evaluation:
    """Pruned policies of some rankings, each over the same test episodes."""

    # Episode i of an evaluation is test episode `i % test_episodes` of pruned policy `i //
    # test_episodes`.

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
    """Whether it is stored which states each episode visited, and what was chosen there."""
    traced: bool = False
    """Whether every step is stored, too."""
    chosen: tuple[int, ...] | None = None
    """Which of the test episodes are played, in order; None: all. There are `test_episodes`."""
    units: tuple[int, ...] = ()
    """Per state of the only ranking, the unit of states that it is given to the default with."""
    removed: tuple[int, ...] = ()
    """Per episode in `chosen`, the unit that acts by default in this twin; -1: none."""
    variant: str = ""
    """What tells apart episodes of another recipe than the run's own."""

    def __post_init__(self) -> None:
        if self.removed and (len(self.points) != 1 or len(self.removed) != self.test_episodes):
            raise ValueError("twins are of one pruned policy, and each lacks one unit of states")

    @property
    def total(self) -> int:
        return len(self.points) * self.test_episodes

    def test_numbers(self, index: IntArray) -> IntArray:
        place = index % self.test_episodes
        return place if self.chosen is None else np.array(self.chosen, dtype=np.int64)[place]

    def plan(self, first: int, last: int) -> Plan:
        index = np.arange(first, last + 1)
        numbers = self.test_numbers(index)
        return Plan(index, episode_keys(self.seed, self.phase, numbers, self.part))

    def narrowed(self, first: int, last: int) -> Evaluation:
        """Return it without the rankings that the episodes `first` to `last` do not need."""
        some = slice(first // self.test_episodes, last // self.test_episodes + 1)
        used = sorted({ranking for ranking, _ in self.points[some]})
        place = {ranking: number for number, ranking in enumerate(used)}
        points = tuple((place.get(ranking, 0), kept) for ranking, kept in self.points)
        return replace(self, rankings=tuple(self.rankings[one] for one in used), points=points)

    def actor(self, index: int) -> str:
        if self.phase is Phase.REFERENCE:
            return "random play, which gives the reference (--reference does without)"
        if self.phase is Phase.IMITATE:
            return "a decision tree in place of the policy"
        ranking, kept = self.points[index // self.test_episodes]
        states = len(self.rankings[ranking])
        if kept == states and self.unranked_kept:
            return "the policy as it is"
        if kept == 0 and not self.unranked_kept:
            return "the default action everywhere"
        return f"the policy in {kept} of {states} states"


@dataclass(frozen=True)
class EvaluationChunk:
    """The episodes `first` to `last` of an evaluation."""

    evaluation: Evaluation
    first: int
    last: int


@dataclass(frozen=True)
class _PlayedEvaluation:
    """What a chunk of an evaluation gave."""

    episodes: Episodes
    visits: Visits | None = None
    """Where the evaluation asks for them."""
    states: States | None = None
    """Likewise: what the policy and the default action chose in each."""
    trace: Trace | None = None
    """Its steps, where the evaluation asks for them."""


@dataclass(frozen=True)
class PlayedEvaluations:
    """What some of them gave, in their order, and who played them."""

    chunks: tuple[_PlayedEvaluation, ...]
    origin: Origin


def perform_suite(chunk: SuiteChunk) -> PlayedSuite:
    index = np.arange(chunk.first, chunk.last + 1)
    plan = Plan(index, episode_keys(chunk.seed, chunk.phase, index, chunk.part))
    opened = player_for(chunk.recipe)
    try:
        suite = play_suite(opened.player, plan, Coin(plan, chunk.mutation_rate))
    except EpisodeError as error:
        error.add(", a mutant" if chunk.mutation_rate else ", the policy as it is")
        raise
    return PlayedSuite(suite, names_of(opened.player.facts, chunk.recipe.links), opened.origin)


def perform_evaluations(chunks: Sequence[EvaluationChunk]) -> PlayedEvaluations:
    """Play chunks of evaluations, all of one recipe, in the same lanes."""
    opened = player_for(chunks[0].evaluation.recipe)
    shared = _Shared(chunks, opened.player)
    try:
        played = opened.player.play_together(shared.plans, shared.keep, shared.record, shared.watch)
    except EpisodeError as error:
        if error.position is not None:
            error.add(f", {shared.actor(error.position)}")
        raise
    return PlayedEvaluations(tuple(shared.results(played)), opened.origin)


class _Shared:
    """Jobs that are played in the same lanes, one after the other."""

    def __init__(self, chunks: Sequence[EvaluationChunk], player: Player) -> None:
        self.chunks = chunks
        self.plans = [chunk.evaluation.plan(chunk.first, chunk.last) for chunk in chunks]
        self.ends = np.cumsum([len(plan) for plan in self.plans])
        """Per chunk, the position after its last episode."""
        self.keep = _top_states(chunks)
        self.recorder = recorder_for(player, preferences=False)
        self.asked = any(chunk.evaluation.visits for chunk in chunks)
        self.beginnings = np.zeros(int(self.ends[-1]))
        self.tracers = {
            place: Tracer(player.facts.action_space, end - len(plan), end)
            for place, (chunk, plan, end) in enumerate(
                zip(chunks, self.plans, self.ends.tolist(), strict=True)
            )
            if chunk.evaluation.traced
        }

    def record(self, step: Step) -> None:
        self.keep.record(step)
        if self.asked:
            self.recorder(step)
            begins = np.flatnonzero(step.number == 0)
            if len(begins):
                marks = _marks(step.observations, step.lanes[begins])
                self.beginnings[step.position[begins]] = marks
        for tracer in self.tracers.values():
            tracer(step)

    def watch(self, rewards: FloatArray, over: BoolArray) -> None:
        for tracer in self.tracers.values():
            tracer.watch(rewards)

    def actor(self, position: int) -> str:
        place = int(np.searchsorted(self.ends, position, side="right"))
        before_end = int(self.ends[place]) - position
        return self.chunks[place].evaluation.actor(self.chunks[place].last + 1 - before_end)

    def results(self, played: Sequence[Episodes]) -> Iterator[_PlayedEvaluation]:
        whole, ranked_steps = joined(self.plans), np.split(self.keep.ranked_steps, self.ends[:-1])
        for place, (episodes, ranked) in enumerate(zip(played, ranked_steps, strict=True)):
            counted = replace(episodes, info={**episodes.info, RANKED_STEPS: ranked})
            tracer = self.tracers.get(place)
            trace = None if tracer is None else tracer.trace(whole)
            if self.chunks[place].evaluation.visits:
                first = int(self.ends[place]) - len(episodes)
                counted.info[BEGINNING] = self.beginnings[first : first + len(episodes)]
                suite = self.recorder.suite(counted, whole, self.keep, first)
                yield _PlayedEvaluation(counted, suite.visits, suite.states, trace)
            else:
                yield _PlayedEvaluation(counted, trace=trace)


def _marks(observations: Batch, lanes: IntArray) -> FloatArray:
    """Return a number for the observation of each of some lanes, the same for the same ones."""
    parts = observations.values() if isinstance(observations, dict) else (observations,)
    keys = np.zeros(len(lanes), dtype=np.uint64)
    for rows in (np.asarray(part)[lanes] for part in parts):
        if rows.dtype.kind in "biuf":
            keys = combine(keys, state_keys(canonical(rows)))
    return np.asarray(keys >> np.uint64(11), dtype=np.float64)  # as many bits as a float holds


def _top_states(chunks: Sequence[EvaluationChunk]) -> TopStates:
    rankings: list[KeyArray] = []
    unranked_kept: list[bool] = []
    units: list[IntArray] = []
    points, removed = [], []
    for chunk in chunks:
        asked, index = chunk.evaluation, np.arange(chunk.first, chunk.last + 1)
        policies = index // asked.test_episodes
        points.append(np.array(asked.points, dtype=np.int64)[policies] + [len(rankings), 0])
        rankings += asked.rankings
        unranked_kept += [asked.unranked_kept] * len(asked.rankings)
        own = np.array(asked.units, dtype=np.int64)
        units += [own if asked.removed else np.full(len(one), -1) for one in asked.rankings]
        lacking = np.array(asked.removed or [-1] * asked.test_episodes, dtype=np.int64)
        removed.append(lacking[index % asked.test_episodes])
    keep = TopStates(rankings, np.concatenate(points), unranked_kept)
    if any(chunk.evaluation.removed for chunk in chunks):
        keep.remove(units, np.concatenate(removed))
    return keep


@dataclass(frozen=True)
class Probed:
    """Some mutant episodes, and how long they took."""

    chunk: PlayedSuite
    seconds: float
    """Time of playing them, without that of opening what plays them."""


def perform_probe(chunk: SuiteChunk) -> Probed:
    player_for(chunk.recipe)  # opening costs time only once, so it stays outside the clock
    start = time.perf_counter()
    played = perform_suite(chunk)
    return Probed(played, time.perf_counter() - start)
