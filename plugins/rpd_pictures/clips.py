"""Pairs of clips: one stored episode, in which one state's arm is the policy or the default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rpd_core.chance import Phase, episode_keys
from rpd_core.play.deciders import Coin, OneArm
from rpd_core.play.loop import Plan
from rpd_core.play.recipe import Recipe
from rpd_core.play.replay import Viewer, Watched, viewing, watch_episodes
from rpd_pictures import files
from rpd_pictures.cards import StepCards, Who
from rpd_pictures.portraits import Visit

_FOLLOWED = 2000
"""Steps after the first visit at which both versions of an episode are broken off."""
_BEFORE, _AFTER, _TAIL = 10, 30, 12
"""Steps of a clip before the first visit, after it, and at the end of the episode."""
_WITHIN = 600
"""Steps after the first visit within which the end of an episode is shown."""
_LONGEST = 320
"""Longest side of the picture in a stored clip; larger ones are reduced."""
PAUSE, END = 1000, 1500
"""Milliseconds that the first visit and the last frame are shown."""


@dataclass(frozen=True)
class ClipJob:
    """Decisions to be filmed, each with the episodes that may serve."""

    recipe: Recipe
    seed: int
    """Of the run."""
    mutation_rate: float
    """Of its suite."""
    visits: tuple[tuple[Visit, ...], ...]
    """Per decision, in the order in which they are tried."""
    actions: tuple[str, ...]
    """Names of the actions."""


@dataclass(frozen=True)
class _MadePair:
    """A pair of clips as it comes back."""

    pair: Pair
    """What was played."""
    policy: bytes
    """The clip in which the policy decides in the state."""
    default: bytes
    """The clip in which the default action does."""


@dataclass(frozen=True)
class Clips:
    """What came of a job."""

    pairs: tuple[_MadePair, ...]
    problem: str = ""
    """Why the environment draws nothing; empty if it does."""


@dataclass(frozen=True)
class Pair:
    """Both versions of an episode, played."""

    visit: Visit
    returns: tuple[float, float]
    """With the policy's arm, and with the default's."""
    lengths: tuple[int, int]
    """Steps of both, broken off where they are very long."""
    tried: int
    """Episodes of which both versions were played."""
    differing: int
    """Those whose returns differ."""

    def ending(self, arm: int, shown: int) -> tuple[Who, str]:
        """Return how a film of so many steps ends, and what became of the episode."""
        length = self.lengths[arm]
        over = shown == length < self.visit.step + _FOLLOWED
        return ("over" if over else "cut"), f"return {self.returns[arm]:g} after {length} steps"


def perform_clips(job: ClipJob) -> Clips:
    """Play both versions of each episode, choose one per decision, and film it."""
    with viewing(job.recipe) as viewer:
        chosen = choose_pairs(job, viewer)
        seen = film_pairs(job, viewer, chosen)
    made = []
    for place, one in enumerate(chosen):
        policy, default = (_clip(job, seen, 2 * place + arm, one) for arm in (0, 1))
        made.append(_MadePair(one, policy, default))
    return Clips(tuple(made), viewer.problem)


def _both_arms(visits: Sequence[Visit], job: ClipJob, limits: Sequence[int]) -> tuple[Plan, OneArm]:
    """Return each episode twice, first with the policy's arm in its state, then the default's."""
    index = np.repeat(np.array([one.episode for one in visits], dtype=np.int64), 2)
    keys = np.repeat(np.array([one.key for one in visits], dtype=np.uint64), 2)
    ends = np.array(limits, dtype=np.int64)
    plan = Plan(index, episode_keys(job.seed, Phase.SUITE, index), ends)
    arms = np.tile(np.array([True, False]), len(visits))
    return plan, OneArm(Coin(plan, job.mutation_rate), keys, arms)


def choose_pairs(job: ClipJob, viewer: Viewer) -> list[Pair]:
    """Return, per decision, the first episode whose return depends on the arm, else the first."""
    flat = [visit for visits in job.visits for visit in visits]
    if not flat:
        return []
    plan, keep = _both_arms(flat, job, [v.step + _FOLLOWED for v in flat for _ in (0, 1)])
    played = viewer.player.play(plan, keep)
    returns, lengths = played.total_return.reshape(-1, 2), played.length.reshape(-1, 2)
    chosen, start = [], 0
    for visits in job.visits:
        mine = returns[start : start + len(visits)]
        start += len(visits)
        if visits:
            differing = np.flatnonzero(mine[:, 0] != mine[:, 1])
            at = int(differing[0]) if len(differing) else 0
            pair = float(mine[at, 0]), float(mine[at, 1])
            ends = lengths[start - len(visits) + at].tolist()
            chosen.append(Pair(visits[at], pair, tuple(ends), len(visits), len(differing)))
    return chosen


def film_pairs(job: ClipJob, viewer: Viewer, pairs: Sequence[Pair]) -> Watched:
    """Play pairs again and look at what happens around the first visit, and at the end."""
    ends = [_film_end(pair, arm) for pair in pairs for arm in (0, 1)]
    plan, keep = _both_arms([pair.visit for pair in pairs], job, ends)

    def look_at(position: int, number: int) -> bool:
        visited = pairs[position // 2].visit.step
        around = visited - _BEFORE <= number <= visited + _AFTER
        return around or ends[position] - _TAIL <= number

    return watch_episodes(viewer.player, plan, keep, look_at, viewer.draws)


def _film_end(pair: Pair, arm: int) -> int:
    """Return the step behind the last one of a clip: the episode's end, unless it is far."""
    visited, length = pair.visit.step, pair.lengths[arm]
    return length if length <= visited + _WITHIN else visited + _AFTER + 1


def _clip(job: ClipJob, seen: Watched, position: int, pair: Pair) -> bytes:
    """Return one clip as a lossless WebP file, smaller where it would be too large."""
    arm = position % 2
    steps, last = seen.steps[position], seen.last_frames[position]
    who, about = pair.ending(arm, int(seen.episodes.length[position]))
    content = b""
    for longest in (_LONGEST, _LONGEST // 2, _LONGEST // 4):
        cards = StepCards(job.recipe, job.actions, longest).cards(steps, last, who, about)
        content = files.film_webp(cards, _durations(seen, position, pair.visit.step))
        if len(content) <= files.LARGEST_CLIP:
            break
    return content


def _durations(seen: Watched, position: int, visited: int) -> list[int]:
    """Return how long each step is shown, and the last frame, in milliseconds.

    The last frame waits for the longer clip of the pair: both begin again at the same time.
    """
    usual, first = 1000 // files.FRAMES_PER_SECOND, position - position % 2
    steps = seen.steps[position]
    longest = max(len(seen.steps[first]), len(seen.steps[first + 1]))
    shown = [PAUSE if step.number == visited else usual for step in steps]
    return [*shown, END + usual * (longest - len(steps))]
