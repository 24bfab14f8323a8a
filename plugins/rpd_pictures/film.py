"""Episodes and decisions of a run as films, drawn on request; nothing is written to the run."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image

from rpd_core.config.resolve import Setup
from rpd_core.errors import ConfigError, RpdError, counted
from rpd_core.play.deciders import EachItsOwn
from rpd_core.play.loop import Plan
from rpd_core.play.recipe import recipe_of
from rpd_core.play.replay import Viewer, Watched, viewing, watch_episodes
from rpd_core.results.decisions import find_state
from rpd_core.results.records import Decision
from rpd_core.results.replay import find_episode, stored_setup
from rpd_core.results.run import Run
from rpd_core.store.files import file_stem, write_whole
from rpd_pictures import files
from rpd_pictures.actors import acting, beside, find_outcome
from rpd_pictures.cards import Card, StepCards, Who, draw_card
from rpd_pictures.clips import END, PAUSE, ClipJob, choose_twins, ending, film_twins
from rpd_pictures.subjects import target_file
from rpd_pictures.trace import draw_trace
from rpd_pictures.twins import LossEpisodes, Smallest


@dataclass(frozen=True)
class Wanted:
    """What is to be drawn."""

    episode: str | None = None
    """Name of an episode, for example `suite:17`; with `find`, its index may be left out."""
    decision: str | None = None
    """A decision of the smallest policy by rank, key or words: an episode with it and without."""
    keep: float | None = None
    """Share of the states in which the policy is to decide; None: as the episode was played."""
    find: Literal["failing", "passing"] | None = None
    """Look for the first episode that fails, or passes, from the one named on."""
    against: str = "original"
    """Who acts beside it: `original`, `pruned`, `default` or `none`."""
    trace: bool = False
    """Whether the agent's path is drawn as one picture."""
    frames: int = 200
    """Steps that are drawn at most."""


@dataclass(frozen=True)
class Shown:
    """One side of a film."""

    title: str
    """Who acts."""
    total_return: float
    """Return of the whole episode."""
    length: int
    """Its steps."""


@dataclass(frozen=True)
class Film:
    """What was drawn."""

    path: Path
    """The file."""
    episode: str
    """The episode that it shows."""
    shown: tuple[Shown, ...]
    """From left to right."""
    notes: tuple[str, ...] = ()
    """What the user should know."""


def draw_film(run: Run, wanted: Wanted, out: Path | None = None, trust: bool = False) -> Film:
    """Draw an episode or a decision; the policy and the environment must be there."""
    _check(wanted)
    path = _target(wanted, out)
    film = _decision_film if wanted.decision is not None else _episode_film
    setup = _setup(run, trust)
    with viewing(recipe_of(setup)) as viewer:
        made = film(run, setup, viewer, wanted)
    _write(path, made.pages, made.durations)
    notes = made.notes
    if viewer.problem:
        notes = (*notes, f"the environment draws no pictures ({viewer.problem})")
    return Film(path, made.episode, made.shown, notes)


@dataclass(frozen=True)
class _Frames:
    episode: str
    pages: list[Image.Image]
    durations: list[int]
    shown: tuple[Shown, ...]
    notes: tuple[str, ...] = ()


def _check(wanted: Wanted) -> None:
    if wanted.episode is None and wanted.decision is None:
        other = "" if wanted.trace else " or a --decision"
        raise ConfigError(f"nothing to draw: name an --episode{other}")
    if wanted.frames < 1:
        raise ConfigError(f"frames must be at least 1, got {wanted.frames}")
    if wanted.find not in (None, "failing", "passing"):
        raise ConfigError(f"--find takes failing or passing, not {wanted.find!r}")
    given = {"keep": wanted.keep, "find": wanted.find, "episode": wanted.episode}
    unfit = [name for name, value in given.items() if value is not None]
    if wanted.decision is not None and unfit:
        raise ConfigError(f"--{unfit[0]} does not go with a --decision")


def _target(wanted: Wanted, out: Path | None) -> Path:
    """Return the file to write, whose name is made from what is drawn where none is given."""
    named = wanted.episode if wanted.decision is None else f"decision-{wanted.decision}"
    kind = "-trace" if wanted.trace else ""
    name = "trace" if wanted.trace else "film"
    path = target_file(name, out, f"{file_stem(str(named))}{kind}")
    if path.suffix.lower() == ".mp4":
        files.film_maker()
    return path


def _setup(run: Run, trust: bool) -> Setup:
    try:
        return run.setup or stored_setup(run, trust)
    except RpdError as error:
        raise ConfigError(
            f"drawing plays the episode again, which needs the policy and the environment: {error}"
        ) from error


# ------------------------------------------------------------------------- episodes


def _episode_film(run: Run, setup: Setup, viewer: Viewer, wanted: Wanted) -> _Frames:
    name = str(wanted.episode)
    if wanted.find is not None:
        episode = find_outcome(run, recipe_of(setup), name, wanted.find, wanted.keep)
    else:
        episode = find_episode(run, name)
    other = beside(run, wanted.against)
    actors = [*([other] if other else []), acting(run, episode, wanted.keep, wanted.against)]
    single = Plan(np.zeros(1, dtype=np.int64), episode.identity)
    plan = Plan(np.zeros(len(actors), dtype=np.int64), np.repeat(episode.identity, len(actors)))
    keep = EachItsOwn([actor.keep(single) for actor in actors])
    seen = watch_episodes(
        viewer.player, plan, keep, lambda position, number: number < wanted.frames, viewer.draws
    )
    shown = _shown([actor.title for actor in actors], seen)
    if wanted.trace:
        page = _traces(seen, shown)
        return _Frames(episode.name, [page], [END], shown)
    sides = []
    for one, steps, last in zip(shown, seen.steps, seen.last_frames, strict=True):
        over = one.length <= wanted.frames
        about = f"return {one.total_return:g} after {one.length} steps"
        show = StepCards(recipe_of(setup), run.directory.names().actions, title=one.title)
        who: Who = "over" if over else "cut"
        sides.append(show.cards(steps, last if over else steps[-1].frame, who, about))
    longest = max(one.length for one in shown)
    notes = (f"the first {wanted.frames} of {longest} steps are drawn; --frames draws more",)
    return _frames(episode.name, sides, shown, notes if longest > wanted.frames else ())


def _frames(
    episode: str,
    sides: Sequence[list[Image.Image]],
    shown: tuple[Shown, ...],
    notes: tuple[str, ...],
) -> _Frames:
    """Put sides beside each other, the shorter one waiting at its end."""
    pages = [
        files.side_by_side([side[min(place, len(side) - 1)] for side in sides])
        for place in range(max(map(len, sides)))
    ]
    usual = 1000 // files.FRAMES_PER_SECOND
    return _Frames(episode, pages, [usual] * (len(pages) - 1) + [END], shown, notes)


def _shown(titles: Sequence[str], seen: Watched) -> tuple[Shown, ...]:
    rows = zip(titles, seen.episodes.total_return, seen.episodes.length, strict=True)
    return tuple(Shown(title, float(total), int(length)) for title, total, length in rows)


def _traces(seen: Watched, shown: Sequence[Shown]) -> Image.Image:
    cards = []
    for steps, last, one in zip(seen.steps, seen.last_places, shown, strict=True):
        place = last or steps[-1].place
        decided = sum(step.policy_decided for step in steps)
        shares = f"red: policy, {decided} steps; blue: default, {len(steps) - decided}"
        lines = (f"return {one.total_return:g}", shares)
        card = Card("over", f"{one.length} steps", len(steps), lines, one.title)
        cards.append(draw_card(draw_trace(steps, place), card))
    return files.side_by_side(cards)


# ------------------------------------------------------------------------ decisions


def _decision_film(run: Run, setup: Setup, viewer: Viewer, wanted: Wanted) -> _Frames:
    """Draw an episode of the smallest policy beside its twin without a decision."""
    policy, decision = Smallest.of(run), _named_decision(run, str(wanted.decision))
    choice = LossEpisodes.read(run).choice(decision)
    job = ClipJob(recipe_of(setup), policy, (choice,), run.directory.names().actions)
    chosen = choose_twins(job, viewer)
    if not chosen:
        raise ConfigError(
            f"no episode that was tried returns less without {decision.state!r}: there is nothing "
            "to see"
        )
    twin = chosen[0].twin
    seen = film_twins(job, viewer, [twin])
    shown = tuple(
        Shown(title, twin.returns[arm], twin.lengths[arm])
        for arm, title in enumerate(("smallest policy", "without this decision"))
    )
    sides = []
    for side, one in enumerate(shown):
        who, about = ending(twin, side, int(seen.episodes.length[side]))
        show = StepCards(job.recipe, job.actions, title=one.title)
        sides.append(show.cards(seen.steps[side], seen.last_frames[side], who, about))
    note = (
        f"of {counted(chosen[0].tried, 'episode')} that reach it, {chosen[0].losing} return less "
        "without it; this is one in the middle of them"
    )
    made = _frames(f"losses:{twin.visit.episode}", sides, shown, (note,))
    visited = [step.number for step in seen.steps[0]].index(twin.visit.step)
    made.durations[visited] = PAUSE
    return made


def _named_decision(run: Run, name: str) -> Decision:
    """Return the decision of the smallest policy that is meant; refuse another state."""
    keys = run.analysis.counted.states.key
    row = find_state(keys, run.decision_keys.tolist(), run.analysis.stored, name)
    for one in run.decisions:
        if one.key == int(keys[row]):
            return one
    raise ConfigError(
        f"{name!r} is no decision of the smallest policy, which acts by default there: draw an "
        "--episode that visits it"
    )


def _write(path: Path, pages: Sequence[Image.Image], durations: Sequence[int]) -> None:
    suffix = path.suffix.lower()
    if suffix == ".png":
        sink = io.BytesIO()
        pages[0].save(sink, "PNG")
        content = sink.getvalue()
    elif len(pages) == 1:
        content = files.webp(pages[0])
    else:
        film = files.film_mp4 if suffix == ".mp4" else files.film_webp
        content = film(files.same_size(pages), durations)
    write_whole(path, content)
