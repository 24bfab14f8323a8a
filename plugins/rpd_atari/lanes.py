"""Atari lanes: one console each, pictures of all lanes made at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rpd_atari.console import FIRE, Console, ConsoleSettings, Starts
from rpd_atari.pictures import Pictures
from rpd_core.chance import combine, to_unit, word
from rpd_core.errors import FitError, LaneError, SpecError
from rpd_core.plugin.protocols import Facts, StepResult

if TYPE_CHECKING:
    from rpd_atari.environment import Atari

Array = NDArray[Any]
IntArray = NDArray[np.int64]
RAM_BYTES = 128
_START_DRAW = 0x57A27


def start_noops(seeds: IntArray, noop_max: int) -> IntArray:
    """Draw how many frames each episode does nothing at first: 1 to `noop_max`, from its seed."""
    if noop_max == 0:
        return np.zeros(len(seeds), dtype=np.int64)
    unit = to_unit(combine(seeds.astype(np.uint64), word(_START_DRAW)))
    return 1 + np.floor(unit * noop_max).astype(np.int64)


class AtariLanes:
    """All lanes of one game; an episode is a function of its seed and its actions."""

    def __init__(self, game: str, rom: Path, settings: Atari, lanes: int) -> None:
        self.settings = settings
        self._new_console = partial(
            _console,
            game,
            rom,
            ConsoleSettings(settings.sticky, settings.mode, settings.difficulty),
        )
        self.consoles = {0: self._new_console()}  # others at their first reset: 0.1 s each
        self.starts = Starts(self.consoles[0], settings.noop_max)
        ale = self.consoles[0].ale
        useful = ale.getMinimalActionSet()
        self.has_fire = len(useful) >= 3 and useful[1].name == "FIRE"
        found = ale.getLegalActionSet() if settings.actions == "full" else useful
        names = [action.name for action in found]
        self.presses = [int(action.value) for action in found]
        self.screen: tuple[int, int] = ale.getScreenDims()
        size, stack = settings.size, settings.stack
        colour_first = settings.maximum == "colour"
        self.pictures = Pictures(lanes, self.screen, (stack, size, size), colour_first)
        self.lives = np.zeros(lanes, dtype=np.int64)
        self.facts = Facts(
            observation_space=spaces.Box(0, 255, (stack, size, size), np.uint8),
            action_space=spaces.Discrete(len(names)),
            lanes=lanes,
            views=("screen", "grey", "ram"),
            no_op=names.index("NOOP") if "NOOP" in names else None,
            action_names=tuple(names),
            description=f"atari:{game}",
        )

    def reset(self, lanes: IntArray, seeds: IntArray) -> None:
        """Start episodes: no-ops as many as the seed says, then FIRE where the game has it."""
        fire = [FIRE] * self.settings.frame_skip if self._fires("start", "lives") else []
        noops = start_noops(seeds, self.settings.noop_max)
        for lane, seed, idle in zip(lanes.tolist(), seeds.tolist(), noops.tolist(), strict=True):
            if lane not in self.consoles:
                self.consoles[lane] = self._new_console()
            console = self.consoles[lane]
            self.starts.start(console, idle, fire, seed)
            self.lives[lane] = console.ale.lives()
            self.pictures.take(console.ale, lane, 1)
        self.pictures.frames[0, lanes] = self.pictures.frames[1, lanes]
        self.pictures.stack[lanes] = 0
        self.pictures.develop(lanes)

    def _fires(self, *when: str) -> bool:
        return self.has_fire and self.settings.fire in when

    def observe(self) -> Array:
        """Return the stacks of small grey pictures."""
        return self.pictures.stack

    def view(self, name: str) -> Array:
        """Return the last frames in colour, the joined frames in grey, or the memories."""
        if name == "grey":
            return self.pictures.grey
        if name == "ram":
            return self._gather((RAM_BYTES,), lambda console: console.ale.getRAM())
        if name == "screen":
            return self._gather((*self.screen, 3), lambda console: console.ale.getScreenRGB())
        raise FitError(f"{self.facts.description} has no view {name!r}; it has {self.facts.views}")

    def _gather(self, shape: tuple[int, ...], read: Callable[[Console], Array]) -> Array:
        rows = np.zeros((self.facts.lanes, *shape), dtype=np.uint8)
        for lane, console in self.consoles.items():
            rows[lane] = read(console)
        return rows

    def step(self, actions: Array, active: NDArray[np.bool_]) -> StepResult:
        """Hold each active lane's action for some frames."""
        rewards, over = np.zeros(len(active)), np.zeros(len(active), dtype=bool)
        lanes = np.flatnonzero(active)
        for lane in lanes.tolist():
            try:
                rewards[lane], over[lane] = self._act(lane, self.presses[int(actions[lane])])
            except Exception as error:  # the emulator may raise anything
                raise LaneError(lane, error) from error
        self.pictures.develop(lanes)
        return StepResult(rewards, over, np.zeros(len(active), dtype=bool))

    def _act(self, lane: int, press: int) -> tuple[float, bool]:
        reward = self._hold(lane, press)
        ale = self.consoles[lane].ale
        lives, before = ale.lives(), self.lives[lane]
        self.lives[lane] = lives
        if ale.game_over():
            return reward, True
        if lives < before:
            if self.settings.life_ends:
                return reward, True
            if self._fires("lives"):
                reward += self._hold(lane, FIRE)
        return reward, False

    def _hold(self, lane: int, press: int) -> float:
        """Hold a button; keep the last two frames, as far as the game gets."""
        ale, skip = self.consoles[lane].ale, self.settings.frame_skip
        reward = 0
        for frame in range(skip):
            reward += ale.act(press)
            if ale.game_over():
                break
            if frame == skip - 2:
                self.pictures.take(ale, lane, 0)
        self.pictures.take(ale, lane, 1)
        if skip == 1:
            self.pictures.frames[0, lane] = self.pictures.frames[1, lane]
        return float(reward)

    def info(self, lane: int) -> Mapping[str, Any]:
        """Return the lives that are left."""
        return {"lives": self.consoles[lane].ale.lives()}

    def render(self, lane: int) -> Array:
        """Return the last frame in colour."""
        picture: Array = self.consoles[lane].ale.getScreenRGB()
        return picture

    def close(self) -> None:
        """Switch all consoles off."""
        self.consoles.clear()


def _console(game: str, rom: Path, settings: ConsoleSettings) -> Console:
    try:
        return Console(rom, settings)
    except RuntimeError as error:
        raise SpecError(f"atari:{game} cannot be set up: {error}") from error
