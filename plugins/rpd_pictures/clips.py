"""Pairs of clips: an episode of the smallest policy, and its twin without one decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.play.loop import Plan
from rpd_core.play.recipe import Recipe
from rpd_core.results.words import few
from rpd_pictures import files
from rpd_pictures.cards import StepCards, Who
from rpd_pictures.twins import Choice, Filmed, Smallest, Twin, Visit, passing, telling
from rpd_pictures.viewing import OneArm, Viewer, Watched, viewing, watch_episodes

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Condition

_BEFORE, _AFTER, _TAIL = 5, 30, 12
"""Steps of a clip before the first visit, after it, and at the end of the episode."""
_FOLLOWED = 2000
"""Steps after the first visit at which twins are broken off that are played to choose one."""
_WITHIN = 600
"""Steps after the first visit within which the end of an episode is shown."""
_LONGEST = 320
"""Longest side of the picture in a stored clip; larger ones are reduced."""
PAUSE, END = 1000, 1500
"""Milliseconds that the first visit and the last frame are shown."""


@dataclass(frozen=True)
class ClipJob:
    """Decisions to be filmed."""

    recipe: Recipe
    policy: Smallest
    choices: tuple[Choice, ...]
    """Per decision, what its film is chosen from."""
    actions: tuple[str, ...]
    """Names of the actions."""
    condition: Condition
    """When an episode passes."""


@dataclass(frozen=True)
class Clip:
    """A pair of clips."""

    filmed: Filmed
    policy: bytes
    """With the decision."""
    default: bytes
    """Without it."""


@dataclass(frozen=True)
class Clips:
    """What came of a job."""

    pairs: tuple[Clip, ...]
    """Of the decisions that a twin shows clearly."""
    problem: str = ""
    """Why the environment draws nothing; empty if it does."""


def perform_clips(job: ClipJob) -> Clips:
    """Play an episode of each decision, and its twin, and film them."""
    with viewing(job.recipe) as viewer:
        chosen = choose_twins(job, viewer)
        seen = film_twins(job, viewer, [one.twin for one in chosen])
    made = []
    for place, one in enumerate(chosen):
        both = (_clip(job, seen, 2 * place + arm, one.twin) for arm in (0, 1))
        made.append(Clip(one, *both))
    return Clips(tuple(made), viewer.problem)


def choose_twins(job: ClipJob, viewer: Viewer) -> list[Filmed]:
    """Return what is filmed of each decision; those that no twin shows clearly are left out."""
    several = (choice.twins or _played_twins(job, viewer, choice.visits) for choice in job.choices)
    return [chosen for twins in several if (chosen := telling(twins)) is not None]


def _played_twins(job: ClipJob, viewer: Viewer, visits: Sequence[Visit]) -> list[Twin]:
    """Play episodes that visit a decision, and their twins without it."""
    if not visits:
        return []
    limits = [one.step + _FOLLOWED for one in visits for _ in (0, 1)]
    played = viewer.player.play(*_both(job.policy, visits, limits))
    returns, lengths = played.total_return.tolist(), played.length.tolist()
    passed = passing(job.condition, played)
    found = []
    for at, one in zip(range(0, len(returns), 2), visits, strict=True):
        whole = max(lengths[at : at + 2]) < limits[at]
        outcome = (passed[at], passed[at + 1]) if whole else (False, False)
        total, steps = (returns[at], returns[at + 1]), (lengths[at], lengths[at + 1])
        found.append(Twin(one, total, steps, outcome))
    return found


def _both(policy: Smallest, visits: Sequence[Visit], limits: Sequence[int]) -> tuple[Plan, OneArm]:
    """Return each episode twice, first with the decision, then without."""
    episodes = np.repeat(np.array([one.episode for one in visits], dtype=np.int64), 2)
    keys = np.repeat(np.array([one.key for one in visits], dtype=np.uint64), 2)
    plan = policy.plan(episodes, np.array(limits, dtype=np.int64))
    arms = np.tile(np.array([True, False]), len(visits))
    return plan, OneArm(policy.keep(len(plan)), keys, arms)


def film_twins(job: ClipJob, viewer: Viewer, twins: Sequence[Twin]) -> Watched:
    """Play twins again and look at what happens around the first visit, and at the end."""
    ends = [_film_end(one, arm) for one in twins for arm in (0, 1)]
    plan, keep = _both(job.policy, [one.visit for one in twins], ends)

    def look_at(position: int, number: int) -> bool:
        visited = twins[position // 2].visit.step
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
    over = shown == length < twin.visit.step + _FOLLOWED
    return ("over" if over else "cut"), f"return {few(twin.returns[arm])} after {length} steps"


def _clip(job: ClipJob, seen: Watched, position: int, twin: Twin) -> bytes:
    """Return one clip as a lossless WebP file, smaller where it would be too large."""
    arm = position % 2
    steps, last = seen.steps[position], seen.last_frames[position]
    who, about = ending(twin, arm, int(seen.episodes.length[position]))
    content = b""
    for longest in (_LONGEST, _LONGEST // 2, _LONGEST // 4):
        show = StepCards(job.recipe, job.actions, longest, beside=2, marked=twin.visit.step)
        cards = show.cards(steps, last, who, about)
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
