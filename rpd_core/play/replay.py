"""Episodes played again, step by step, with frames where the environment draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from rpd_core.errors import one_line
from rpd_core.play.loop import Keep, Plan, Player, Step
from rpd_core.play.recipe import Recipe
from rpd_core.plugin.protocols import Array, BoolArray, Episodes, FloatArray
from rpd_core.plugin.protocols.optional import DrawsValues, PlacesAgent


@dataclass(frozen=True)
class ReplayedStep:
    """What happened at one step."""

    number: int
    """From 0."""
    key: int
    """Key of the abstract state."""
    value: Array
    """The abstract state."""
    policy_decided: bool
    """Whether the policy decided, or the default action."""
    policy_action: object
    """What the policy chose."""
    default_action: object
    """What the default action would do, or did."""
    reward: float
    frame: Array | None = None
    """The picture before the step, (height, width, 3) uint8, where asked for."""
    return_before: float = 0.0
    """Sum of the rewards before the step."""
    place: tuple[float, float] | None = None
    """Where in the picture the agent is, where a picture is asked for and the lanes know it."""

    @property
    def action(self) -> object:
        """What was done."""
        return self.policy_action if self.policy_decided else self.default_action


@dataclass(frozen=True)
class PlayedAgain:
    """An episode that was played again."""

    steps: Sequence[ReplayedStep]
    episodes: Episodes
    """Its row, as a suite has it."""
    last_frame: Array | None = None
    """The picture after the last step, where asked for."""


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


def _every_step(position: int, number: int) -> bool:
    """Look at everything."""
    return True


def play_again(recipe: Recipe, plan: Plan, keep: Keep, frames: bool = False) -> PlayedAgain:
    """Play the one episode of a plan and return all its steps.

    As many lanes are opened as for the suite, because the last bits of a policy's answers may
    depend on that number; only the first is played.
    """
    player = Player(replace(recipe, render=frames))
    try:
        seen = watch_episodes(player, plan, keep, _every_step, frames)
    finally:
        player.close()
    return PlayedAgain(seen.steps[0], seen.episodes, seen.last_frames[0])


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
                self.steps[position].append(self._before(step, row, lane))

    def _before(self, step: Step, row: int, lane: int) -> ReplayedStep:
        return ReplayedStep(
            int(step.number[row]),
            int(step.keys[row]),
            np.array(step.values[row]),
            bool(step.kept[row]),
            np.asarray(step.choice.actions)[lane].tolist(),
            np.asarray(step.default)[lane].tolist(),
            0.0,
            self._frame(lane),
            float(step.return_before[row]),
            self._place(lane),
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
