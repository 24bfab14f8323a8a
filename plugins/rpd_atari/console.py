"""One Atari console: the emulator with a game in it, and exact ways to start an episode."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ale_py import ALEInterface, LoggerMode

NOOP, FIRE = 0, 1
REPLAYED = 4
"""Frames played again after a state was restored.

A restored state lacks the picture, and a state cloned at once after a reset lacks more than that
in some games (Q*bert, Tetris). Both are right again from the second frame on.
"""


@dataclass(frozen=True)
class Switches:
    """How a console is set up."""

    sticky: float = 0.0
    mode: int | None = None
    difficulty: int | None = None


class Console:
    """An emulator with a game loaded."""

    def __init__(self, rom: Path, switches: Switches) -> None:
        self.rom, self.switches = rom, switches
        ALEInterface.setLoggerMode(LoggerMode.Error)
        self.ale = ALEInterface()
        self.ale.setFloat("repeat_action_probability", switches.sticky)
        self.load(0)

    def load(self, seed: int) -> None:
        """Put the game in anew; nothing but sticky actions depends on the seed."""
        self.ale.setInt("random_seed", seed)
        self.ale.loadROM(self.rom)
        if self.switches.mode is not None:
            self.ale.setMode(self.switches.mode)
        if self.switches.difficulty is not None:
            self.ale.setDifficulty(self.switches.difficulty)
        self.ale.reset_game()

    def press(self, frames: list[int]) -> None:
        """Do one action per frame."""
        for action in frames:
            self.ale.act(action)


class Starts:
    """Brings consoles to the start of an episode: a reset, then some fixed presses.

    With sticky actions the game is loaded again with the episode's seed. Without, the state
    shortly before the end of the presses is cloned once and restored from then on, in any console
    with the same game.
    """

    def __init__(self, sticky: bool) -> None:
        self.sticky = sticky
        self._states: dict[tuple[int, ...], Any] = {}

    def bring(self, console: Console, presses: list[int], seed: int) -> None:
        """Start an episode."""
        head, tail = presses[:-REPLAYED], presses[-REPLAYED:]
        if self.sticky:
            console.load(seed)
            console.press(presses)
        elif len(head) < REPLAYED:
            console.ale.reset_game()
            console.press(presses)
        else:
            self._bring_to(console, head)
            console.press(tail)

    def _bring_to(self, console: Console, head: list[int]) -> None:
        state = self._states.get(tuple(head))
        if state is not None:
            console.ale.restoreState(state)
            return
        console.ale.reset_game()
        console.press(head)
        self._states[tuple(head)] = console.ale.cloneState()
