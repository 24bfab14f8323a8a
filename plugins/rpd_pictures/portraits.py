"""A small picture of a decision: the frame at which it is met, and the state as drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.play.recipe import Recipe
from rpd_pictures.files import thumbnail
from rpd_pictures.twins import Smallest, Visit
from rpd_pictures.viewing import Viewer, drawing_of, picture_fault, viewing, watch_episodes

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array

_MOST_STEPS = 50_000
"""Steps that are played for the pictures of a run at most."""


@dataclass(frozen=True)
class PortraitJob:
    """Decisions to be drawn, by replaying episodes of the smallest policy that visit them."""

    recipe: Recipe
    policy: Smallest
    visits: tuple[Visit, ...]
    """Ordered by episode."""


@dataclass(frozen=True)
class Portraits:
    """What came of a job."""

    pictures: dict[int, bytes] = field(default_factory=dict)
    """WebP files by key."""
    problem: str = ""
    """Why the environment draws nothing; empty if it does."""


def affordable(visits: Iterable[Visit], most_steps: int = _MOST_STEPS) -> list[Visit]:
    """Return the visits that can be replayed in so many steps, those that come first first."""
    needed: dict[int, int] = {}
    spent, chosen = 0, []
    for one in visits:
        more = max(one.step + 1 - needed.get(one.episode, 0), 0)
        if spent + more <= most_steps:
            spent += more
            needed[one.episode] = needed.get(one.episode, 0) + more
            chosen.append(one)
    return chosen


def by_episodes(visits: Sequence[Visit], episodes: int) -> Iterator[tuple[Visit, ...]]:
    """Yield the visits of so many episodes at a time."""
    ordered = sorted(visits, key=lambda one: (one.episode, one.step, one.key))
    numbers = sorted({one.episode for one in ordered})
    for first in range(0, len(numbers), episodes):
        wanted = set(numbers[first : first + episodes])
        yield tuple(one for one in ordered if one.episode in wanted)


def perform_portraits(job: PortraitJob) -> Portraits:
    """Replay each episode once, up to the last step that is wanted, and draw its states."""
    with viewing(job.recipe) as viewer:
        if not viewer.draws:
            return Portraits(problem=viewer.problem)
        return Portraits(dict(_drawn(job, viewer)))


def _drawn(job: PortraitJob, viewer: Viewer) -> Iterator[tuple[int, bytes]]:
    wanted: dict[tuple[int, int], int] = {(one.episode, one.step): one.key for one in job.visits}
    index = np.array(sorted({one.episode for one in job.visits}), dtype=np.int64)
    last = {one.episode: one.step for one in job.visits}  # they are in order
    limits = np.array([last[episode] + 1 for episode in index.tolist()])
    plan = job.policy.plan(index, limits)

    def look_at(position: int, number: int) -> bool:
        return (int(index[position]), number) in wanted

    seen = watch_episodes(viewer.player, plan, job.policy.keep(len(plan)), look_at, True)
    for episode, steps in zip(index.tolist(), seen.steps, strict=True):
        for step in steps:
            agrees = wanted[episode, step.number] == step.key  # or it does not repeat itself
            if agrees and step.frame is not None and not picture_fault(step.frame):
                drawing = drawing_of(job.recipe, step.value)
                yield step.key, _portrait(step.frame, drawing)


def _portrait(frame: Array, drawing: Array | None) -> bytes:
    """Return the picture of a state, with what its abstraction draws of it beside."""
    return thumbnail([frame] if drawing is None else [frame, drawing])
