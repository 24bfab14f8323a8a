"""The two kinds of work a worker does: a chunk of a suite, a chunk of pruned episodes."""

from __future__ import annotations

import atexit
import os
import pickle
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.errors import EpisodeError
from rpd_core.play.chance import Phase, episode_keys
from rpd_core.play.deciders import TopStates
from rpd_core.play.loop import Plan, Player
from rpd_core.play.recipe import Recipe
from rpd_core.play.recording import play_suite
from rpd_core.play.repeatable import refuse_moody_policy
from rpd_core.plugin.origins import Origin, origin_of
from rpd_core.plugin.protocols import Episodes, Facts, Suite

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import KeyArray

RANKED_STEPS = "rpd.ranked_steps"
"""Column of an evaluation's episodes: steps spent in states of the ranking."""

_PLAYERS = 2
"""Opened recipes that a worker keeps: the policy's and random play's."""


@dataclass(frozen=True)
class Names:
    """What people call the actions and the entries of an observation."""

    environment: str = ""
    actions: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()


@dataclass(frozen=True)
class SuiteJob:
    """The mutant episodes `first` to `last`, both included."""

    recipe: Recipe
    seed: int
    mutation_rate: float
    first: int
    last: int


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

    @property
    def total(self) -> int:
        """Number of episodes."""
        return len(self.points) * self.test_episodes

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
    """What an evaluation job gave, and who played it."""

    episodes: Episodes
    origin: Origin


def perform_suite(job: SuiteJob) -> SuiteChunk:
    """Play a chunk of mutant episodes."""
    index = np.arange(job.first, job.last + 1)
    plan = Plan(index, episode_keys(job.seed, Phase.SUITE, index))
    opened = player_for(job.recipe)
    try:
        suite = play_suite(opened.player, plan, job.mutation_rate)
    except EpisodeError as error:
        error.add(", a mutant")
        raise
    return SuiteChunk(suite, names_of(opened.player.facts), opened.origin)


def names_of(facts: Facts) -> Names:
    """Return the names that an environment has for things."""
    return Names(facts.description, tuple(facts.action_names), tuple(facts.entry_names))


def perform_evaluation(job: EvaluationJob) -> EvaluationChunk:
    """Play a chunk of an evaluation."""
    asked = job.evaluation
    index = np.arange(job.first, job.last + 1)
    identity = episode_keys(asked.seed, asked.phase, index % asked.test_episodes, asked.part)
    points = np.array(asked.points, dtype=np.int64)[index // asked.test_episodes]
    keep = TopStates(asked.rankings, points, asked.unranked_kept)
    opened = player_for(asked.recipe)
    try:
        played = opened.player.play(Plan(index, identity), keep, keep.record)
    except EpisodeError as error:
        if error.index is not None:
            error.add(f", {asked.actor(error.index)}")
        raise
    episodes = replace(played, info={**played.info, RANKED_STEPS: keep.ranked_steps})
    return EvaluationChunk(episodes, opened.origin)


@dataclass(frozen=True)
class OpenPlayer:
    """An opened recipe, and which distributions it is made of."""

    player: Player
    origin: Origin


_open: OrderedDict[bytes, OpenPlayer] = OrderedDict()
"""What this process has opened; items of work run one at a time."""


def player_for(recipe: Recipe) -> OpenPlayer:
    """Return the opened recipe, kept open between chunks of the same process."""
    try:
        name = pickle.dumps(recipe)
    except Exception:  # functions made in Python cannot be pickled; they live in one process
        name = repr(id(recipe)).encode()
    players = _open
    if name not in players:
        while len(players) >= _PLAYERS:
            players.popitem(last=False)[1].player.close()
        player = Player(recipe)
        try:
            refuse_moody_policy(player)
        except BaseException:
            player.close()
            raise
        players[name] = OpenPlayer(player, origin_of(recipe.components()))
    players.move_to_end(name)
    return players[name]


@atexit.register
def close_players() -> None:
    """Close what this process has opened."""
    while _open:
        _open.popitem()[1].player.close()


os.register_at_fork(after_in_child=_open.clear)  # they are its parent's
