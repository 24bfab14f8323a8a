"""Pairs of clips: an episode of the smallest policy, and its twin without one decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rpd_core.play.deciders import OneArm
from rpd_core.play.loop import Plan
from rpd_core.play.recipe import Recipe
from rpd_core.play.replay import Viewer, Watched, viewing, watch_episodes
from rpd_pictures import files
from rpd_pictures.cards import StepCards, Who
from rpd_pictures.twins import Smallest, Twin

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
    """Twins to be filmed."""

    recipe: Recipe
    policy: Smallest
    twins: tuple[Twin, ...]
    actions: tuple[str, ...]
    """Names of the actions."""


@dataclass(frozen=True)
class Clips:
    """What came of a job."""

    pairs: tuple[tuple[bytes, bytes], ...]
    """For each twin, the clip with the decision and the one without."""
    problem: str = ""
    """Why the environment draws nothing; empty if it does."""


def perform_clips(job: ClipJob) -> Clips:
    """Play each episode and its twin and film them."""
    with viewing(job.recipe) as viewer:
        seen = film_pairs(job, viewer)
    made = [
        (_clip(job, seen, 2 * place), _clip(job, seen, 2 * place + 1))
        for place in range(len(job.twins))
    ]
    return Clips(tuple(made), viewer.problem)


def _both(job: ClipJob, limits: Sequence[int]) -> tuple[Plan, OneArm]:
    """Return each episode twice, first with the decision, then without."""
    visits = [one.visit for one in job.twins]
    episodes = np.repeat(np.array([one.episode for one in visits], dtype=np.int64), 2)
    keys = np.repeat(np.array([one.key for one in visits], dtype=np.uint64), 2)
    plan = job.policy.plan(episodes, np.array(limits, dtype=np.int64))
    arms = np.tile(np.array([True, False]), len(visits))
    return plan, OneArm(job.policy.keep(len(plan)), keys, arms)


def film_pairs(job: ClipJob, viewer: Viewer) -> Watched:
    """Play twins again and look at what happens around the first visit, and at the end."""
    ends = [_film_end(one, arm) for one in job.twins for arm in (0, 1)]
    plan, keep = _both(job, ends)

    def look_at(position: int, number: int) -> bool:
        visited = job.twins[position // 2].visit.step
        around = visited - _BEFORE <= number <= visited + _AFTER
        return around or ends[position] - _TAIL <= number

    return watch_episodes(viewer.player, plan, keep, look_at, viewer.draws)


def _film_end(twin: Twin, arm: int) -> int:
    """Return the step behind the last one of a clip: the episode's end, unless it is far."""
    visited, length = twin.visit.step, twin.lengths[arm]
    return length if length <= visited + _WITHIN else visited + _AFTER + 1


def ending(twin: Twin, arm: int, shown: int) -> tuple[Who, str]:
    """Return how a film of so many steps ends, and what became of the episode."""
    length = twin.lengths[arm]
    about = f"return {twin.returns[arm]:g} after {length} steps"
    return ("over" if shown == length else "cut"), about


def _clip(job: ClipJob, seen: Watched, position: int) -> bytes:
    """Return one clip as a lossless WebP file, smaller where it would be too large."""
    twin, arm = job.twins[position // 2], position % 2
    steps, last = seen.steps[position], seen.last_frames[position]
    who, about = ending(twin, arm, int(seen.episodes.length[position]))
    content = b""
    for longest in (_LONGEST, _LONGEST // 2, _LONGEST // 4):
        cards = StepCards(job.recipe, job.actions, longest).cards(steps, last, who, about)
        content = files.film_webp(cards, _durations(seen, position, twin.visit.step))
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
