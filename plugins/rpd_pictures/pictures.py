"""Pictures of an analysis, made while policy and environment are at hand, and stored with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rpd_core.api import continued
from rpd_core.config.identity import short_digest
from rpd_core.errors import RpdError
from rpd_core.execute.items import run_items
from rpd_core.play.replay import drawing_of, viewing_late
from rpd_core.plugin.protocols import Gatherer, WorkItem
from rpd_core.results.pictures import (
    FOLDER,
    SCHEMA,
    ClipPair,
    PictureIndex,
    Pictures,
    picture_folder,
    read_index,
    read_pictures,
)
from rpd_core.results.run import Run
from rpd_core.store.files import file_stem, refuse_outside, write_whole
from rpd_core.store.session import Session
from rpd_pictures.clips import ClipJob, Clips, perform_clips
from rpd_pictures.files import thumbnail
from rpd_pictures.panels import gatherers, panel_facts
from rpd_pictures.portraits import (
    PortraitJob,
    Portraits,
    Visit,
    affordable,
    by_episodes,
    perform_portraits,
)
from rpd_pictures.scene import Scene, gathered_by

if TYPE_CHECKING:
    from rpd_core.analysis.decisions import Decisions
    from rpd_core.plugin.protocols import IntArray, KeyArray

_DRAWN = 300
"""Decisions of the list that get a picture."""
_FILMED = 5
"""Decisions of the list that get a pair of clips."""
_TRIED = 8
"""Episodes that are tried for a pair of clips at most."""
_CLIP_STEPS = 20_000
"""Steps that are played to choose among them, by their lengths as stored."""


@dataclass
class _Made:
    """Files by name, and what went wrong."""

    states: dict[int, bytes] = field(default_factory=dict)
    clips: Clips = field(default_factory=lambda: Clips(()))
    panels: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)
    problem: str = ""


def take_pictures(
    session: Session,
    run: Run,
    again: bool = False,
    panels: Mapping[str, Gatherer] | None = None,
) -> Pictures:
    """Draw and film the first decisions of a list and store that, unless it is there already.

    `panels` gather what they want of the environment, too; None: those that are installed.
    """
    name, found = str(run.name), run.decided()
    rows = found.listed()[:_DRAWN]
    made_from = _made_from(session, found, rows)
    held = None if again else _held(run, name)
    if held is None or held.made_from != made_from:
        made = _make(session, run, found, rows)
        states = found.counted.states
        about = panel_facts(run, False, states.value.shape[1:])
        asked = gatherers(session.registry, about) if panels is None else panels
        with viewing_late(session.recipe) as view:
            scene = Scene(run, view, states.key[rows].tolist(), about)
            made.panels = gathered_by(asked, scene, session.note)
        _store(session, name, made, _missing(session, made, found, rows), made_from)
    pictures = read_pictures(run.path, name)
    assert pictures is not None, "it was just written"
    return pictures


def take_after_run(session: Session, run: Run) -> None:
    """Take pictures at the end of a run."""
    take_pictures(session, run)


def take_again(run: Run, **how: Any) -> Pictures:
    """Take the pictures of a stored run again; `how` is as for `continued`."""
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


def _made_from(session: Session, found: Decisions, rows: IntArray) -> str:
    keys = [str(key) for key in found.counted.states.key[rows].tolist()]
    return short_digest([session.directory.suite_digest(), found.counted.episodes, keys])


def _make(session: Session, run: Run, found: Decisions, rows: IntArray) -> _Made:
    """Play what the pictures need, as items of work."""
    made, states = _Made(), found.counted.states
    first = [
        Visit(int(states.key[row]), int(states.first_episode[row]), int(states.first_step[row]))
        for row in rows.tolist()
    ]
    items = _portrait_items(session, affordable(first))
    visits = visits_of(run, states.key[rows[:_FILMED]])
    if any(visits):
        items.append(_clip_item(session, visits, run.directory.names().actions))
    done = 0
    session.progress("pictures", done, len(items))

    def keep(item: WorkItem, answer: Portraits | Clips) -> None:
        nonlocal done
        if isinstance(answer, Clips):
            made.clips = answer
        else:
            made.states |= answer.pictures
        made.problem = made.problem or answer.problem
        done += 1
        session.progress("pictures", done, len(items))

    run_items(session.engine, items, keep)
    for row in rows.tolist():
        key = int(states.key[row])
        if key not in made.states:
            drawing = drawing_of(session.recipe, states.value[row])
            if drawing is not None:
                made.states[key] = thumbnail([drawing])
    return made


def _portrait_items(session: Session, visits: list[Visit]) -> list[WorkItem]:
    recipe, settings = session.recipe, session.setup.config.settings
    return [
        WorkItem(
            f"{settings.seed}/pictures/{number}",
            perform_portraits,
            PortraitJob(recipe, settings.seed, settings.mutation_rate, chunk),
            f"pictures of {len(chunk)} states",
            session.files(recipe),
        )
        for number, chunk in enumerate(by_episodes(visits, settings.lanes))
    ]


def _clip_item(
    session: Session, visits: tuple[tuple[Visit, ...], ...], actions: tuple[str, ...]
) -> WorkItem:
    recipe, settings = session.recipe, session.setup.config.settings
    job = ClipJob(recipe, settings.seed, settings.mutation_rate, visits, actions)
    files = session.files(recipe)
    return WorkItem(f"{settings.seed}/clips", perform_clips, job, "clips", files)


def visits_of(run: Run, keys: KeyArray, only: int | None = None) -> tuple[tuple[Visit, ...], ...]:
    """Return episodes that visit each state, those that get there soonest first.

    Those in which the default action is not what the policy chooses come before others. `only`
    names the one episode that will do.
    """
    episodes, stored = run.analysis.episodes, run.analysis.stored
    lengths = dict(zip(episodes.index.tolist(), episodes.length.tolist(), strict=True))
    found: dict[int, list[tuple[bool, int, int]]] = {key: [] for key in keys.tolist()}
    for parts, first, last in stored.pieces:
        table = parts.read(first, last, ("visits",))["visits"]
        for row in table.filter(np.isin(table["key"].to_numpy(), keys)).to_pylist():
            if only not in (None, row["episode"]):
                continue
            found[row["key"]].append((not row["differed_first"], row["first_step"], row["episode"]))
    room, chosen = _CLIP_STEPS // max(len(found), 1), []
    for key, rows in found.items():
        mine: list[Visit] = []
        spent = 0
        for _, step, episode in sorted(rows)[:_TRIED]:
            spent += 2 * lengths[episode]
            if not mine or spent <= room:
                mine.append(Visit(key, episode, step))
        chosen.append(tuple(mine))
    return tuple(chosen)


def _missing(session: Session, made: _Made, found: Decisions, rows: IntArray) -> str:
    """Return what there is no picture of, and why, in a line."""
    if not len(rows):
        return "the list holds no decision, so there is nothing to draw"
    lacking = len(rows) - len(made.states)
    if made.problem:
        instead = "states are shown in words" if lacking else "states are drawn by the abstraction"
        return f"the environment draws no pictures ({made.problem}): {instead}"
    if lacking:
        return (
            f"{lacking} of the first {len(rows)} decisions have no picture: they were first seen "
            "late in long episodes, or the environment does not repeat itself"
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
        visit = one.pair.visit
        names = {arm: f"clips/{visit.key}-{arm}.webp" for arm in ("policy", "default")}
        contents |= {names["policy"]: one.policy, names["default"]: one.default}
        clips.append(
            ClipPair(
                visit.key,
                visit.episode,
                visit.step,
                names["policy"],
                names["default"],
                *one.pair.returns,
                one.pair.tried,
                one.pair.differing,
            )
        )
    panels: dict[str, dict[str, str]] = {}
    for panel, files in sorted(made.panels.items()):
        panels[panel] = {one: f"panels/{file_stem(panel)}/{one}" for one in sorted(files)}
        contents |= {panels[panel][one]: data for one, data in files.items()}
    for file, data in contents.items():
        write_whole(folder / file, data, root)
    for old in (*folder.glob("states/*"), *folder.glob("clips/*"), *folder.glob("panels/*/*")):
        if str(old.relative_to(folder)) not in contents:
            old.unlink()
    states = {str(key): f"states/{key}.webp" for key in sorted(made.states)}
    index = PictureIndex(SCHEMA, states, tuple(clips), panels, missing, made_from)
    directory.write_json(f"{FOLDER}/{name}/index.json", index)
