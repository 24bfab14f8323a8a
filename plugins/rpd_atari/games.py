"""Which game a text means: `Pong`, `space_invaders`, `PongNoFrameskip-v4`, `ALE/Pong-v5`."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from ale_py import ALEInterface, LoggerMode, roms

from rpd_core.errors import SpecError, nearest

_OLD_ID = re.compile(
    r"(?:ALE/)?(?P<game>\w+?)(?:-ram)?(?P<kind>NoFrameskip|Deterministic)?(?:-v(?P<version>\d+))?"
)


def _camel_case(rom: str) -> str:
    """Return the name of a game as Gymnasium writes it: `space_invaders` is `SpaceInvaders`."""
    return "".join(part.title() for part in rom.split("_"))


@lru_cache(maxsize=1)
def games() -> dict[str, str]:
    """Return the name of every game that comes with ale-py and the name of its ROM."""
    return {_camel_case(rom): rom for rom in roms.get_all_rom_ids()}


def find_game(text: str) -> str:
    """Return the name of the game that a text means, in whatever spelling, or offer the nearest."""
    match = _OLD_ID.fullmatch(text.strip())
    lowered = re.sub(r"[\W_]", "", match["game"] if match else text).lower()
    known = {name.lower(): name for name in games()}
    if lowered in known:
        return known[lowered]
    hint = nearest(lowered, games()) or f" There are {len(games())}, for example Pong."
    raise SpecError(f"no Atari game is called {text!r}.{hint}")


def id_note(text: str, game: str) -> str:
    """Describe how an id of Gymnasium's was read; nothing if the game was named plainly."""
    if "-v" not in text:
        return ""
    meant = "" if "NoFrameskip" in text else "; frame skip and sticky actions are parameters here"
    return f"{text} is played as atari:{game}{meant}"


def rom_path(game: str) -> Path:
    """Return the file of a game, or refuse one that a single player cannot play."""
    path = Path(str(roms.get_rom_path(games()[game])))
    ALEInterface.setLoggerMode(LoggerMode.Error)
    if not ALEInterface.isSupportedROM(path):
        # loading it all the same would end the process
        raise SpecError(f"ale-py cannot play {game!r} alone: it is for several players")
    return path
