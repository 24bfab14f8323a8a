"""Episodes and decisions of a run as films, drawn on request; nothing is written to the run."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from rpd_core.config.resolve import Setup
from rpd_core.errors import ConfigError, RpdError
from rpd_core.play.loop import Plan
from rpd_core.play.recipe import Recipe, recipe_of
from rpd_core.results.records import Decision
from rpd_core.results.replay import find_episode, stored_setup
from rpd_core.results.run import Run
from rpd_core.results.words import few
from rpd_core.store.files import file_stem, write_whole
from rpd_pictures import files
from rpd_pictures.actors import acting, beside, find_outcome
from rpd_pictures.cards import Card, StepCards, Who, draw_card
from rpd_pictures.claim import film_claim
from rpd_pictures.clips import END, PAUSE, ClipJob, choose_twins, ending, film_twins
from rpd_pictures.pages import Pages, Shown, Wanted
from rpd_pictures.path import draw_path
from rpd_pictures.states import find_state
from rpd_pictures.subjects import target_file
from rpd_pictures.trace_film import traced_film
from rpd_pictures.twins import LossEpisodes, Smallest
from rpd_pictures.viewing import EachItsOwn, Viewer, Watched, viewing, watch_episodes


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
    setup = _setup(run, trust)
    recipe = recipe_of(setup)
    with viewing(recipe) as viewer:
        if wanted.what == "trace":
            made = traced_film(run, recipe, viewer, wanted)
        elif wanted.decision is not None:
            made = _decision_film(run, recipe, viewer, wanted)
        else:
            made = _episode_film(run, recipe, viewer, wanted)
    _write(path, made.pages, made.durations)
    notes = made.notes
    if viewer.problem:
        notes = (*notes, f"the environment draws no pictures ({viewer.problem})")
    return Film(path, made.episode, made.shown, notes)


def _check(wanted: Wanted) -> None:
    if wanted.episode is None and wanted.decision is None and wanted.what != "trace":
        other = "" if wanted.what == "path" else " or a --decision"
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
    episode = wanted.episode or "smallest"
    named = episode if wanted.decision is None else f"decision-{wanted.decision}"
    kind = "" if wanted.what == "film" else f"-{wanted.what}"
    path = target_file(wanted.what, out, f"{file_stem(named)}{kind}")
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


def _episode_film(run: Run, recipe: Recipe, viewer: Viewer, wanted: Wanted) -> Pages:
    name = str(wanted.episode)
    if wanted.find is not None:
        episode = find_outcome(run, recipe, name, wanted.find, wanted.keep)
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
    if wanted.what == "path":
        page = _paths(seen, shown)
        return Pages(episode.name, [page], [END], shown)
    sides = []
    for one, steps, last in zip(shown, seen.steps, seen.last_frames, strict=True):
        over = one.length <= wanted.frames
        about = f"return {few(one.total_return)} after {one.length} steps"
        names = run.directory.names().actions
        show = StepCards(recipe, names, title=one.title, beside=len(shown))
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
) -> Pages:
    """Put sides beside each other, the shorter one waiting at its end."""
    pages = [
        files.side_by_side([side[min(place, len(side) - 1)] for side in sides])
        for place in range(max(map(len, sides)))
    ]
    usual = 1000 // files.FRAMES_PER_SECOND
    return Pages(episode, pages, [usual] * (len(pages) - 1) + [END], shown, notes)


def _shown(titles: Sequence[str], seen: Watched) -> tuple[Shown, ...]:
    rows = zip(titles, seen.episodes.total_return, seen.episodes.length, strict=True)
    return tuple(Shown(title, float(total), int(length)) for title, total, length in rows)


def _paths(seen: Watched, shown: Sequence[Shown]) -> Image.Image:
    cards = []
    for steps, last, one in zip(seen.steps, seen.last_places, shown, strict=True):
        place = last or steps[-1].place
        decided = sum(step.policy_decided for step in steps)
        shares = f"red: policy, {decided} steps; blue: default, {len(steps) - decided}"
        lines = (f"return {few(one.total_return)}", shares)
        card = Card("over", f"{one.length} steps", len(steps), lines, one.title)
        cards.append(draw_card(draw_path(steps, place), card))
    return files.side_by_side(cards)


# ------------------------------------------------------------------------ decisions


def _decision_film(run: Run, recipe: Recipe, viewer: Viewer, wanted: Wanted) -> Pages:
    """Draw an episode of the smallest policy beside its twin without a decision."""
    policy, decision = Smallest.of(run), _named_decision(run, str(wanted.decision))
    choice = LossEpisodes.read(run).choice(decision)
    actions, condition = run.directory.names().actions, run.analysis.condition
    job = ClipJob(recipe, policy, (choice,), actions, condition)
    chosen = choose_twins(job, viewer)
    if not chosen:
        raise ConfigError(
            f"no episode that was tried clearly returns less without {decision.state!r}: there is "
            "nothing to see"
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
        show = StepCards(job.recipe, job.actions, title=one.title, beside=2, marked=twin.visit.step)
        sides.append(show.cards(seen.steps[side], seen.last_frames[side], who, about))
    note = film_claim(chosen[0], run.analysis.condition_text)
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
        makers = {".mp4": files.film_mp4, ".gif": files.film_gif, ".webp": files.film_webp}
        content = makers[suffix](files.same_size(pages), durations)
    write_whole(path, content)
