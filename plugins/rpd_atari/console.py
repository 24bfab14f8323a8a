"""One Atari console: the emulator with a game in it, and exact ways to start an episode."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ale_py import ALEInterface, LoggerMode

NOOP, FIRE = 0, 1
REPLAYED = 2
"""Frames played again, at least, after a state was restored: it comes without its picture."""
SETTLED = 1
"""No-ops before the first state that is worth cloning.

A state cloned at once after power-on lacks more than its picture in some games (Q*bert, Tetris).
"""


@dataclass(frozen=True)
class ConsoleSettings:
    """How a console is set up."""

    sticky: float = 0.0
    mode: int | None = None
    difficulty: int | None = None


def _emulator_seed(seed: int) -> int:
    """Return the seed that Gymnasium's environment hands the emulator for a seed of its own."""
    return int(np.random.SeedSequence(seed).generate_state(2)[1].astype(np.int32))


def _check_offered(what: str, chosen: int, offered: list[int]) -> None:
    if chosen not in offered:
        raise RuntimeError(f"{what} {chosen} is not one of {', '.join(map(str, offered))}")


class Console:
    """An emulator with a game loaded."""

    def __init__(self, rom: Path, settings: ConsoleSettings) -> None:
        self.rom, self.settings = rom, settings
        ALEInterface.setLoggerMode(LoggerMode.Error)
        self.ale = ALEInterface()
        self.ale.setFloat("repeat_action_probability", settings.sticky)
        self.load(0)

    def load(self, seed: int) -> None:
        """Load the game afresh; nothing but sticky actions depends on the seed."""
        self.ale.setInt("random_seed", _emulator_seed(seed))
        self.ale.loadROM(self.rom)
        if self.settings.mode is not None:
            _check_offered("mode", self.settings.mode, self.ale.getAvailableModes())
            self.ale.setMode(self.settings.mode)
        if self.settings.difficulty is not None:
            _check_offered(
                "difficulty", self.settings.difficulty, self.ale.getAvailableDifficulties()
            )
            self.ale.setDifficulty(self.settings.difficulty)
        self.ale.reset_game()
        self.fresh = True

    def settle(self) -> None:
        """Play a little after power-on: some games (Q*bert) restore a state wrongly before."""
        if self.fresh:
            self.press([NOOP] * REPLAYED)
            self.fresh = False

    def press(self, frames: list[int]) -> None:
        """Do one action per frame."""
        for action in frames:
            self.ale.act(action)


class Starts:
    """Brings consoles to the start of an episode: power on, some no-ops, some fixed presses.

    With sticky actions the game is loaded with the episode's seed. Without, the states along the
    no-ops are cloned once from a console that nobody has played with yet, and restored from then
    on in any console with the same game. A reset of the emulator would not do: after some play
    the game may start differently (Assault).
    """

    def __init__(self, fresh: Console, noop_max: int) -> None:
        self._states: list[Any] = []
        """The state after 0, 1, 2, ... no-ops; empty if they cannot be restored exactly."""
        if fresh.settings.sticky == 0:
            self._clone(fresh, noop_max)

    def _clone(self, fresh: Console, noop_max: int) -> None:
        """Clone the states along the no-ops, unless the game does not go on from them alike.

        Tried after other play each time: in 3-D Tic-Tac-Toe that matters now and then.
        """
        states, memories = [], []
        for _ in range(noop_max + 1 + REPLAYED):
            states.append(fresh.ale.cloneState())
            memories.append(fresh.ale.getRAM())
            fresh.ale.act(NOOP)
        others = [int(action.value) for action in fresh.ale.getMinimalActionSet()]
        for noops in range(SETTLED, noop_max + 1):
            fresh.press([others[(noops + frame) % len(others)] for frame in range(5)])
            fresh.ale.restoreState(states[noops])
            fresh.press([NOOP] * REPLAYED)
            if (fresh.ale.getRAM() != memories[noops + REPLAYED]).any():
                return
        self._states = states

    def start(self, console: Console, noops: int, presses: list[int], seed: int) -> None:
        """Start an episode: do nothing for some frames, then press buttons, one per frame."""
        known = min(noops, noops + len(presses) - REPLAYED)
        if not self._states or known < SETTLED:
            console.load(seed)
            console.press([NOOP] * noops + presses)
        else:
            console.settle()
            console.ale.restoreState(self._states[known])
            console.press([NOOP] * (noops - known) + presses)
