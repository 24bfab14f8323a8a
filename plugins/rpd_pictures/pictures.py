"""Pictures of an analysis, made while policy and environment are at hand, and stored with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Unpack

import numpy as np

from rpd_core.api import Playing, continued
from rpd_core.config.configuration import short_digest
from rpd_core.errors import RpdError
from rpd_core.execute.items import run_items
from rpd_core.plugin.protocols import Gatherer, WorkItem
from rpd_core.pruning.confirm import LOOKS
from rpd_core.results.run import Run
from rpd_core.store.files import file_stem, refuse_outside, write_whole
from rpd_core.store.session import Session
from rpd_pictures.clips import ClipJob, Clips, perform_clips
from rpd_pictures.files import thumbnail
from rpd_pictures.frames import FrameJob, Frames, perform_frames, steps_to_draw
from rpd_pictures.panels import gatherers, panel_facts, panel_view
from rpd_pictures.portraits import (
    PortraitJob,
    Portraits,
    affordable,
    by_episodes,
    perform_portraits,
)
from rpd_pictures.scene import Scene, gathered_by
from rpd_pictures.stored import (
    FOLDER,
    SCHEMA,
    ClipPair,
    PictureIndex,
    Pictures,
    picture_folder,
    read_index,
    read_pictures,
)
from rpd_pictures.timeline import Steps
from rpd_pictures.traces import read_traces
from rpd_pictures.twins import Choice, LossEpisodes, Smallest, telling
from rpd_pictures.viewing import drawing_of, viewing_late

if TYPE_CHECKING:
    from rpd_core.results.records import Decision

_DRAWN = 50
"""Decisions that get a picture, those that are worth most."""
_FILMED = 2
"""Decisions that get a pair of clips: of those that are needed and can be seen, the first."""


@dataclass
class _Made:
    """Files by name, and what went wrong."""

    states: dict[int, bytes] = field(default_factory=dict)
    clips: Clips = field(default_factory=lambda: Clips(()))
    panels: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)
    frames: dict[int, bytes] = field(default_factory=dict)
    episode: int = 0
    problem: str = ""


def take_pictures(
    session: Session,
    run: Run,
    again: bool = False,
    panels: Mapping[str, Gatherer] | None = None,
) -> Pictures:
    """Draw the decisions of the smallest policy, film some, and store that, unless it is there.

    `panels` gather what they want of the environment, too; None: those that are installed.
    """
    name, rows = str(run.name), run.decisions[:_DRAWN]
    made_from = _made_from(session, run, rows)
    held = None if again else _held(run, name)
    if held is None or held.made_from != made_from:
        made = _make(session, run, rows)
        about = panel_facts(run)
        asked = gatherers(session.registry, about) if panels is None else panels
        with viewing_late(session.recipe) as view:
            scene = Scene(run, view, [row.key for row in rows], about)
            made.panels = gathered_by(asked, scene, session.note)
        _store(session, name, made, _missing(made, rows), made_from)
    pictures = read_pictures(run.path, name)
    assert pictures is not None, "it was just written"
    return pictures


def take_after_run(session: Session, run: Run) -> None:
    """Take pictures at the end of a run."""
    take_pictures(session, run)


def take_again(run: Run, **how: Unpack[Playing]) -> Pictures:
    """Take the pictures of a stored run again."""
    with continued(run, **how) as (session, opened):
        return take_pictures(session, opened, again=True)


def _held(run: Run, name: str) -> PictureIndex | None:
    """Return what is there; nothing where it cannot be read, so that it is made again."""
    try:
        index = read_index(run.path, name)
    except RpdError:
        return None
    folder = picture_folder(run.path, name)
    whole = index is not None and all((folder / one).is_file() for one in index.files())
    return index if whole else None


def _made_from(session: Session, run: Run, rows: Sequence[Decision]) -> str:
    keys = [str(row.key) for row in rows]
    return short_digest([session.directory.suite_digest(), run.asked.episodes, keys])


def _make(session: Session, run: Run, rows: Sequence[Decision]) -> _Made:
    """Play what the pictures need, as items of work."""
    traces = read_traces(run)
    made = _Made(episode=0 if traces is None else traces.typical)
    if not rows:
        return made
    policy, played = Smallest.of(run), LossEpisodes.read(run)
    items = [
        *_portrait_items(session, policy, played, rows),
        *_frame_items(session, run, policy),
    ]
    choices = _choices(played, rows)
    if choices:
        job = ClipJob(
            session.recipe, policy, choices, run.directory.names().actions, run.analysis.condition
        )
        items.append(_clip_item(session, job))
    done = 0
    session.progress("pictures", done, len(items))

    def keep(item: WorkItem, answer: Portraits | Clips | Frames) -> None:
        nonlocal done
        if isinstance(answer, Clips):
            made.clips = answer
        elif isinstance(answer, Frames):
            made.frames = answer.frames
        else:
            made.states |= answer.pictures
        made.problem = made.problem or answer.problem
        done += 1
        session.progress("pictures", done, len(items))

    run_items(session.engine, items, keep)
    _draw_others(session, run, rows, made)
    return made


def _choices(played: LossEpisodes, rows: Sequence[Decision]) -> tuple[Choice, ...]:
    """Return what is filmed: decisions that a stored twin shows clearly, or that has none."""
    several = (played.choice(row) for row in rows if row.needed)
    shown = (one for one in several if not one.twins or telling(one.twins) is not None)
    return tuple(islice(shown, _FILMED))


def _draw_others(session: Session, run: Run, rows: Sequence[Decision], made: _Made) -> None:
    """Draw states by their abstraction where the environment gave no picture."""
    states = run.analysis.counted.states
    for row in rows:
        if row.key not in made.states:
            at = int(np.searchsorted(states.key, np.uint64(row.key)))
            drawing = drawing_of(session.recipe, states.value[at])
            if drawing is not None:
                made.states[row.key] = thumbnail([drawing])


def _portrait_items(
    session: Session, policy: Smallest, played: LossEpisodes, rows: Sequence[Decision]
) -> list[WorkItem]:
    recipe, settings = session.recipe, session.setup.config.settings
    first = [visits[0] for row in rows if (visits := played.visits[row.key])]
    return [
        WorkItem(
            f"{settings.seed}/pictures/{number}",
            perform_portraits,
            PortraitJob(recipe, policy, chunk),
            f"pictures of {len(chunk)} states",
            session.files(recipe),
        )
        for number, chunk in enumerate(by_episodes(affordable(first), settings.lanes))
    ]


def _frame_items(session: Session, run: Run, policy: Smallest) -> list[WorkItem]:
    """Return the work of drawing the typical episode, where episodes are traced."""
    traces, kept = read_traces(run), run.kept()
    if traces is None or kept is None:
        return []
    recipe = session.recipe
    steps = Steps.of(panel_view(run, traces, None), traces.typical)
    wanted = steps_to_draw(steps.losses, steps.trace.key)
    keys = tuple(int(steps.trace.key[at]) for at in wanted)
    job = FrameJob(recipe, policy, traces.typical, kept.part * LOOKS, wanted, keys)
    files, seed = session.files(recipe), session.setup.config.settings.seed
    return [WorkItem(f"{seed}/frames", perform_frames, job, "frames", files)]


def _clip_item(session: Session, job: ClipJob) -> WorkItem:
    seed, files = session.setup.config.settings.seed, session.files(job.recipe)
    return WorkItem(f"{seed}/clips", perform_clips, job, "clips", files)


def _missing(made: _Made, rows: Sequence[Decision]) -> str:
    """Return what there is no picture of, and why, in a line."""
    if not rows:
        return "no smallest policy is confirmed, so there is no decision to draw"
    lacking = len(rows) - len(made.states)
    if made.problem:
        instead = "states are shown in words" if lacking else "states are drawn by the abstraction"
        return f"the environment draws no pictures ({made.problem}): {instead}"
    if lacking:
        return (
            f"{lacking} of the first {len(rows)} decisions have no picture: they are met late in "
            "long episodes or not at all, or the environment does not repeat itself"
        )
    return ""


def _store(session: Session, name: str, made: _Made, missing: str, made_from: str) -> None:
    """Write the files, then the index that names them; what an older index named is dropped."""
    directory = session.directory
    root, folder = directory.path, picture_folder(directory.path, name)
    refuse_outside(folder, root)
    (folder / "index.json").unlink(missing_ok=True)
    contents = {f"states/{key}.webp": data for key, data in sorted(made.states.items())}
    clips = []
    for one in made.clips.pairs:
        twin, visit = one.filmed.twin, one.filmed.twin.visit
        policy, default = (f"clips/{visit.key}-{arm}.webp" for arm in ("policy", "default"))
        contents |= {policy: one.policy, default: one.default}
        clips.append(
            ClipPair(
                visit.key,
                visit.episode,
                visit.step,
                policy,
                default,
                *twin.returns,
                one.filmed.tried,
                one.filmed.alike,
                one.filmed.flips,
                one.filmed.least,
            )
        )
    panels: dict[str, dict[str, str]] = {}
    for panel, files in sorted(made.panels.items()):
        panels[panel] = {one: f"panels/{file_stem(panel)}/{one}" for one in sorted(files)}
        contents |= {panels[panel][one]: data for one, data in files.items()}
    frames = {str(step): f"frames/{step}.webp" for step in sorted(made.frames)}
    contents |= {frames[str(step)]: data for step, data in made.frames.items()}
    for file, data in contents.items():
        write_whole(folder / file, data, root)
    kinds = ("states/*", "clips/*", "frames/*", "panels/*/*")
    for old in (file for kind in kinds for file in folder.glob(kind)):
        if str(old.relative_to(folder)) not in contents:
            old.unlink()
    states = {str(key): f"states/{key}.webp" for key in sorted(made.states)}
    index = PictureIndex(
        SCHEMA, states, tuple(clips), panels, missing, made_from, frames, made.episode
    )
    directory.write_json(f"{FOLDER}/{name}/index.json", index)
