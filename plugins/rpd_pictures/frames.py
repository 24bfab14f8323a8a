"""Frames of the typical episode: those of the steps that matter most, and some between them."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from rpd_core.chance import Phase, episode_keys
from rpd_core.play.loop import Plan
from rpd_core.play.recipe import Recipe
from rpd_pictures.files import reduced, webp
from rpd_pictures.twins import Smallest
from rpd_pictures.viewing import Viewer, picture_fault, viewing, watch_episodes

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, FloatArray, KeyArray

_FRAMES = 24
"""Steps that are drawn."""
_LONGEST = 320
"""Longest side of a frame; larger ones are reduced."""
_LARGEST = 24_000
"""Bytes beyond which a frame is stored with loss."""


@dataclass(frozen=True)
class FrameJob:
    """Steps of a fresh episode of the smallest policy that are to be drawn."""

    recipe: Recipe
    policy: Smallest
    episode: int
    """Of those that confirmed it."""
    part: int
    """Which of the sets of fresh episodes it is of."""
    steps: tuple[int, ...]
    keys: tuple[int, ...]
    """Keys of the states at these steps."""


@dataclass(frozen=True)
class Frames:
    """What came of a job."""

    frames: dict[int, bytes] = field(default_factory=dict)
    """WebP files by step."""
    problem: str = ""
    """Why the environment draws nothing; empty if it does."""


def steps_to_draw(losses: FloatArray, keys: KeyArray, most: int = _FRAMES) -> tuple[int, ...]:
    """Return steps of an episode: of each state some, the largest losses first, and even ones."""
    count = len(losses)
    if count <= most:
        return tuple(range(count))
    seen: Counter[int] = Counter()
    rounds: list[tuple[int, int, int]] = []
    for at in np.argsort(-losses, kind="stable").tolist():
        seen[int(keys[at])] += 1
        if losses[at] > 0:
            rounds.append((seen[int(keys[at])], len(rounds), at))
    worst = [at for _, _, at in sorted(rounds)[: most // 2]]
    even = np.linspace(0, count - 1, most - len(worst)).astype(int).tolist()
    return tuple(sorted({*worst, *even}))


def perform_frames(job: FrameJob) -> Frames:
    """Replay the episode up to the last step that is wanted, and draw it there."""
    with viewing(job.recipe) as viewer:
        if not viewer.draws:
            return Frames(problem=viewer.problem)
        return Frames(dict(_drawn(job, viewer)))


def _drawn(job: FrameJob, viewer: Viewer) -> Iterator[tuple[int, bytes]]:
    episode = np.array([job.episode], dtype=np.int64)
    identity = episode_keys(job.policy.seed, Phase.CONFIRM, episode, job.part)
    plan = Plan(episode, identity, np.array([max(job.steps) + 1]))
    wanted = dict(zip(job.steps, job.keys, strict=True))

    def look_at(position: int, number: int) -> bool:
        return number in wanted

    seen = watch_episodes(viewer.player, plan, job.policy.keep(1), look_at, True)
    for step in seen.steps[0]:
        agrees = wanted[step.number] == step.key  # or it does not repeat itself
        if agrees and step.frame is not None and not picture_fault(step.frame):
            yield step.number, _file(step.frame)


def _file(frame: Array) -> bytes:
    picture = Image.fromarray(np.ascontiguousarray(reduced(frame, _LONGEST)))
    content = webp(picture)
    if len(content) <= _LARGEST:
        return content
    sink = io.BytesIO()
    picture.save(sink, "WEBP", quality=70, method=4)
    return sink.getvalue()
