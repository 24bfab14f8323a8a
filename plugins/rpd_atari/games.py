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


def camel_case(rom: str) -> str:
    """Give the name of a game as Gymnasium writes it: `space_invaders` is `SpaceInvaders`."""
    return "".join(part.title() for part in rom.split("_"))


@lru_cache(maxsize=1)
def games() -> dict[str, str]:
    """Give the name of every game that ale-py brings along and the name of its ROM."""
    return {camel_case(rom): rom for rom in roms.get_all_rom_ids()}


def find_game(text: str) -> str:
    """Give the name of the game that a text means, in whatever spelling, or offer the nearest."""
    match = _OLD_ID.fullmatch(text.strip())
    wanted = re.sub(r"[\W_]", "", match["game"] if match else text).lower()
    known = {name.lower(): name for name in games()}
    if wanted in known:
        return known[wanted]
    hint = nearest(wanted, games()) or f" There are {len(games())}, for example Pong."
    raise SpecError(f"no Atari game is called {text!r}.{hint}")


def id_note(text: str, game: str) -> str:
    """Say what an id of Gymnasium's was taken for; nothing if the game was named plainly."""
    if "-v" not in text:
        return ""
    meant = "" if "NoFrameskip" in text else "; frame skip and sticky actions are parameters here"
    return f"{text} is played as atari:{game}{meant}"


def rom_path(game: str) -> Path:
    """Give the file of a game, or say that one player cannot play it."""
    path = Path(str(roms.get_rom_path(games()[game])))
    ALEInterface.setLoggerMode(LoggerMode.Error)
    if not ALEInterface.isSupportedROM(path):
        # loading it all the same would end the process
        raise SpecError(f"ale-py cannot play {game!r} alone: it is for several players")
    return path
