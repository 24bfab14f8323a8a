"""Atari games with the paper's protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rpd_core.errors import SpecError
from rpd_core.plugin.protocols import Lanes, Opening, Task

WIDTH = 160
"""Pixels across a screen; no game has more."""
BOUNDS = {
    "max_steps": (1, 1_000_000_000),
    "frame_skip": (1, 1000),
    "size": (1, WIDTH),
    "stack": (1, 64),
    "noop_max": (0, 10_000),
}
"""Smallest and largest value of the parameters that are whole numbers."""
STATES = ("preference:otherwise=atari",)
"""Those of the paper where the policy does not tell what it prefers."""
SHARES = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Coarser than the standard sweep: an Atari episode costs a second or so."""


@dataclass(frozen=True)
class Atari:
    """An Atari game, for example `atari:Pong`; old ids such as `PongNoFrameskip-v4` work, too.

    Observations are stacks of small grey screens (stack, size, size), the oldest first, black
    before the episode began. Views: `screen`, the last frame in colour; `grey`, the frame at full
    size that was last shrunk; `ram`, the console's memory.
    """

    game: str
    """Name of the game, in any spelling."""
    max_steps: int = 600
    """Steps of the agent after which an episode ends."""
    frame_skip: int = 4
    """Frames for which an action is held down."""
    sticky: float = 0.0
    """Chance that the console repeats the last action; above 0 every reset takes 0.1 s."""
    noop_max: int = 30
    """Most frames of doing nothing at the start; an episode draws from 1 to this."""
    fire: Literal["start", "lives", "never"] = "start"
    """Press FIRE at the start, or after every lost life, too, in games that have such a button."""
    actions: Literal["minimal", "full"] = "minimal"
    """The actions that do something in the game, or all 18."""
    life_ends: bool = False
    """Whether an episode ends with the first life."""
    maximum: Literal["grey", "colour"] = "grey"
    """How the last two frames are joined: grey first (Gymnasium) or colour first (SB3)."""
    size: int = 84
    """Height and width of an observation, at most 160."""
    stack: int = 4
    """Screens in an observation."""
    mode: int | None = None
    """Mode of the game; none: its first."""
    difficulty: int | None = None
    """Difficulty of the game; none: its first."""

    def __post_init__(self) -> None:
        for name, (least, most) in BOUNDS.items():
            number = getattr(self, name)
            if not least <= number <= most:
                raise SpecError(f"atari: {name} must lie in {least}..{most}, got {number}")
        if not 0 <= self.sticky < 1:
            raise SpecError(f"atari: sticky is a chance in [0, 1), got {self.sticky:g}")

    def task(self) -> Task:
        """Return the paper's settings, but for the states, of which preferences need fewer."""
        from rpd_atari.games import find_game, id_note, rom_path  # the emulator is large

        game = find_game(self.game)
        rom_path(game)
        note = id_note(self.game, game)
        return Task(
            abstraction=STATES,
            default_action="repeat",
            condition="auto",
            mutation_rate=0.2,
            episodes=1000,
            test_episodes=50,
            max_steps=self.max_steps,
            lanes=25,
            chunk=50,
            shares=SHARES,
            notes=(note,) if note else (),
        )

    def open(self, opening: Opening) -> Lanes:
        """Switch on one console per lane."""
        from rpd_atari.games import find_game, rom_path  # the emulator is large
        from rpd_atari.lanes import AtariLanes

        game = find_game(self.game)
        return AtariLanes(game, rom_path(game), self, opening.lanes)
