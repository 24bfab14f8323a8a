"""Episodes watched while they are played again: chosen steps of many, with pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from rpd_core.errors import one_line
from rpd_core.play.loop import Keep, Plan, Player, Step
from rpd_core.play.recipe import Recipe
from rpd_core.play.replay import ReplayedStep, replayed_step
from rpd_core.plugin.protocols import Episodes
from rpd_core.plugin.protocols.arrays import Array, BoolArray, FloatArray, IntArray, KeyArray
from rpd_core.plugin.protocols.optional import DrawsValues, PlacesAgent


@dataclass(frozen=True)
class Watched:
    """Episodes that were played again, in the order of their plan."""

    steps: tuple[tuple[ReplayedStep, ...], ...]
    """Those that were looked at, per episode."""
    episodes: Episodes
    last_frames: tuple[Array | None, ...]
    """The picture after the last step of each, where the step behind it was looked at."""
    last_places: tuple[tuple[float, float] | None, ...]
    """Where in that picture the agent is."""


LookAt = Callable[[int, int], bool]
"""(position in the plan, number of a step) -> is the step looked at?"""


def watch_episodes(
    player: Player, plan: Plan, keep: Keep, look_at: LookAt, frames: bool
) -> Watched:
    """Play the episodes of a plan side by side and return the steps that are looked at."""
    watcher = _Watcher(player, len(plan), look_at, frames)
    episodes = player.play(plan, keep, watcher.record, watcher.watch)
    count = range(len(plan))
    return Watched(
        tuple(tuple(steps) for steps in watcher.steps),
        episodes,
        tuple(watcher.last_frames.get(at) for at in count),
        tuple(watcher.last_places.get(at) for at in count),
    )


class _Watcher:
    """Collects steps of all lanes, by the position of their episode in the plan."""

    def __init__(self, player: Player, count: int, look_at: LookAt, frames: bool) -> None:
        self.player, self.look_at, self.frames = player, look_at, frames
        self._places = player.lanes if frames and isinstance(player.lanes, PlacesAgent) else None
        self.steps: list[list[ReplayedStep]] = [[] for _ in range(count)]
        self.last_frames: dict[int, Array | None] = {}
        self.last_places: dict[int, tuple[float, float] | None] = {}
        self._under_way: dict[int, int] = {}
        """Lanes whose present step is looked at, and the position of their episode."""

    def _frame(self, lane: int) -> Array | None:
        return np.array(self.player.lanes.render(lane)) if self.frames else None

    def _place(self, lane: int) -> tuple[float, float] | None:
        return None if self._places is None else self._places.place(lane)

    def record(self, step: Step) -> None:
        """Keep what is known before the step."""
        self._under_way = {}
        for row, lane in enumerate(step.lanes.tolist()):
            position, number = int(step.position[row]), int(step.number[row])
            if self.look_at(position, number):
                self._under_way[lane] = position
                self.steps[position].append(
                    replayed_step(step, row, self._frame(lane), self._place(lane))
                )

    def watch(self, rewards: FloatArray, over: BoolArray) -> None:
        """Add what the step gave."""
        for lane, position in self._under_way.items():
            steps = self.steps[position]
            steps[-1] = replace(steps[-1], reward=float(rewards[lane]))
            if over[lane]:
                self.last_frames[position] = self._frame(lane)
                self.last_places[position] = self._place(lane)


_MOST_PIXELS = 4096
"""Longest side of a picture that is taken."""


@dataclass(frozen=True)
class Viewer:
    """An opened recipe, and whether its environment draws."""

    player: Player
    draws: bool
    """Whether frames can be had."""
    problem: str
    """Why not; empty if they can."""


@contextmanager
def viewing(recipe: Recipe) -> Iterator[Viewer]:
    """Open a recipe for looking; an environment that cannot draw is opened all the same."""
    player, problem = _drawing_player(recipe)
    if player is None:
        player = Player(recipe)
    try:
        yield Viewer(player, not problem, problem)
    finally:
        player.close()


@contextmanager
def viewing_late(recipe: Recipe) -> Iterator[Callable[[], Viewer]]:
    """Return what opens a recipe for looking when it is first called: opening may take seconds."""
    with ExitStack() as opened:
        yield cache(lambda: opened.enter_context(viewing(recipe)))


def _drawing_player(recipe: Recipe) -> tuple[Player | None, str]:
    """Return a recipe opened for drawing, and what is wrong with its pictures."""
    try:
        player = Player(replace(recipe, render=True))
    except (Exception, SystemExit) as error:  # an environment may raise anything
        return None, one_line(error)
    try:
        player.lanes.reset(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))
        return player, picture_fault(player.lanes.render(0))
    except (Exception, SystemExit) as error:
        player.close()
        return None, one_line(error)


def picture_fault(picture: object) -> str:
    """Return what is wrong with a picture; empty if nothing is."""
    fits = isinstance(picture, np.ndarray) and picture.dtype == np.uint8
    if not fits or picture.ndim != 3 or picture.shape[2] != 3:  # type: ignore[attr-defined]
        return "what it draws is not a picture of (height, width, 3) bytes"
    if not 0 < min(picture.shape[:2]) <= max(picture.shape[:2]) <= _MOST_PIXELS:  # type: ignore[attr-defined]
        return f"what it draws has a side of 0 or of more than {_MOST_PIXELS} pixels"
    return ""


def drawing_of(recipe: Recipe, value: Array) -> Array | None:
    """Return what the abstraction draws of a value; None where it draws nothing, or wrongly."""
    last = recipe.links[-1]
    if not isinstance(last, DrawsValues):
        return None
    try:
        drawn = np.asarray(last.draw(value))
    except Exception:  # a stranger's abstraction may raise anything; its words are still there
        return None
    return None if picture_fault(drawn) else drawn


class OneArm:
    """Another decider, but for one state in each episode, where it is given who decides."""

    def __init__(self, keep: Keep, keys: KeyArray, kept: BoolArray) -> None:
        self.keep, self.keys, self.kept = keep, keys, kept

    def __call__(self, keys: KeyArray, position: IntArray) -> BoolArray:
        mine = keys == self.keys[position]
        return np.where(mine, self.kept[position], self.keep(keys, position))


class EachItsOwn:
    """A decider per episode of a plan, each made for a plan of that episode alone."""

    def __init__(self, keeps: Sequence[Keep]) -> None:
        self.keeps = tuple(keeps)

    def __call__(self, keys: KeyArray, position: IntArray) -> BoolArray:
        kept = np.zeros(len(keys), dtype=bool)
        first = np.zeros_like(position)
        for place, keep in enumerate(self.keeps):
            mine = position == place
            kept[mine] = keep(keys, first)[mine]
        return kept
