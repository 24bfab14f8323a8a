"""The two kinds of work a worker does: a chunk of a suite, a chunk of pruned episodes."""

from __future__ import annotations

import pickle
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.errors import EpisodeError
from rpd_core.play.chance import Phase, episode_keys
from rpd_core.play.loop import Plan, Player, Recipe, Step
from rpd_core.play.recording import play_suite
from rpd_core.plugin.records import Episodes, Suite

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import BoolArray, IntArray, KeyArray

RANKED_STEPS = "rpd.ranked_steps"
"""Column of an evaluation's episodes: steps spent in states of the ranking."""

_PLAYERS = 2
"""Opened recipes that a worker keeps: the policy's and random play's."""


@dataclass(frozen=True)
class SuiteJob:
    """The mutant episodes `first` to `last`, both included."""

    recipe: Recipe
    seed: int
    mutation_rate: float
    first: int
    last: int


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

    @property
    def total(self) -> int:
        """Number of episodes."""
        return len(self.points) * self.test_episodes

    def actor(self, index: int) -> str:
        """Say who acts in an episode."""
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


def perform_suite(job: SuiteJob) -> Suite:
    """Play a chunk of mutant episodes."""
    index = np.arange(job.first, job.last + 1)
    plan = Plan(index, episode_keys(job.seed, Phase.SUITE, index))
    try:
        return play_suite(player_for(job.recipe), plan, job.mutation_rate)
    except EpisodeError as error:
        error.add(", a mutant")
        raise


def perform_evaluation(job: EvaluationJob) -> Episodes:
    """Play a chunk of an evaluation."""
    asked = job.evaluation
    index = np.arange(job.first, job.last + 1)
    identity = episode_keys(asked.seed, asked.phase, index % asked.test_episodes, asked.part)
    points = np.array(asked.points, dtype=np.int64)[index // asked.test_episodes]
    keep = TopStates(asked.rankings, points, asked.unranked_kept)
    try:
        played = player_for(asked.recipe).play(Plan(index, identity), keep, keep.record)
    except EpisodeError as error:
        if error.episode is not None:
            error.add(f", {asked.actor(error.episode.index)}")
        raise
    return replace(played, info={**played.info, RANKED_STEPS: keep.ranked_steps})


class TopStates:
    """Keeps the policy in the first states of a ranking, with ranking and cutoff per episode."""

    def __init__(
        self, rankings: tuple[KeyArray, ...], points: IntArray, unranked_kept: bool
    ) -> None:
        self.sorted_keys = np.sort(rankings[0])
        self.ranks = np.stack([np.argsort(ranked) for ranked in rankings])
        """Per ranking, the rank of each of the sorted keys."""
        self.ranking, self.cutoffs = points[:, 0], points[:, 1]
        self.unranked = -1 if unranked_kept else np.iinfo(np.int64).max
        self.ranked_steps = np.zeros(len(points))
        """Per episode, steps spent in states of the ranking."""
        self._found = np.zeros(0, dtype=bool)

    def __call__(self, keys: KeyArray, position: IntArray) -> BoolArray:
        if not len(self.sorted_keys):
            self._found = np.zeros(len(keys), dtype=bool)
            return np.full(len(keys), self.unranked < 0)
        at = np.minimum(np.searchsorted(self.sorted_keys, keys), len(self.sorted_keys) - 1)
        self._found = self.sorted_keys[at] == keys
        rank = np.where(self._found, self.ranks[self.ranking[position], at], self.unranked)
        return np.asarray(rank < self.cutoffs[position])

    def record(self, step: Step) -> None:
        """Count the step where its state is in the ranking; lanes play different episodes."""
        self.ranked_steps[step.position[self._found & step.active]] += 1


class _OpenPlayers(threading.local):
    """What this thread has opened: a player serves one caller at a time."""

    def __init__(self) -> None:
        self.players: OrderedDict[bytes, Player] = OrderedDict()


_open = _OpenPlayers()


def player_for(recipe: Recipe) -> Player:
    """Give the opened recipe, kept open between chunks of the same process."""
    try:
        name = pickle.dumps(recipe)
    except Exception:  # functions made in Python cannot be pickled; they live in one process
        name = repr(id(recipe)).encode()
    players = _open.players
    if name not in players:
        while len(players) >= _PLAYERS:
            players.popitem(last=False)[1].close()
        players[name] = Player(recipe)
    players.move_to_end(name)
    return players[name]


def close_players() -> None:
    """Close what this thread has opened."""
    while _open.players:
        _open.players.popitem()[1].close()
