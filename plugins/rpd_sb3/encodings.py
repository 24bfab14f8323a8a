"""MiniGrid's views as people feed them to networks: one-hot cells, and flat with the mission."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rpd_core.errors import FitError, SpecError

Array = NDArray[Any]

CELL = (11, 6, 3)
"""Kinds of object, colours and door states: what the three numbers of a cell may be."""
MISSION = (96, 28)
"""Characters of a mission in MiniGrid's flat encoding, and codes for each."""
_CHARACTERS = "abcdefghijklmnopqrstuvwxyz ,"


def is_view(space: Any) -> bool:
    """Return whether a space is that of MiniGrid's view: cells of three small numbers."""
    return (
        isinstance(space, spaces.Box)
        and len(space.shape) == 3
        and space.shape[2] == len(CELL)
        and space.dtype == np.uint8
    )


def one_hot_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a view whose cells are one-hot."""
    return (*shape[:2], sum(CELL))


def one_hot(views: Array) -> Array:
    """Return each number of each cell as a row of zeros with a single one."""
    starts = np.cumsum((0, *CELL[:-1]))
    encoded = np.zeros((*views.shape[:-1], sum(CELL)), dtype=np.uint8)
    places = views.astype(np.int64) + starts
    np.put_along_axis(encoded, places, 1, axis=-1)
    return encoded


def flat_size(shape: tuple[int, ...]) -> int:
    """Return the length of a view followed by its mission."""
    return math.prod(shape) + math.prod(MISSION)


@dataclass(frozen=True)
class WithMission:
    """Flattens a view and appends the mission, one row of codes per character."""

    mission: str

    def __post_init__(self) -> None:
        if len(self.mission) > MISSION[0]:
            raise SpecError(f"mission={self.mission!r} has more than {MISSION[0]} characters")

    def __call__(self, views: Array) -> Array:
        text = np.broadcast_to(self.codes(), (len(views), math.prod(MISSION)))
        return np.concatenate([views.reshape(len(views), -1), text], axis=1)

    def codes(self) -> Array:
        """Return the mission as zeros and ones."""
        table = np.zeros(MISSION, dtype=np.uint8)
        for place, character in enumerate(self.mission.lower()):
            code = _CHARACTERS.find(character)
            if code < 0:
                raise SpecError(f"mission={self.mission!r} has {character!r}; letters are coded")
            table[place, code] = 1
        return table.reshape(-1)


MISSION_VIEW = "mission"
"""The view with the present mission of every lane, one byte per character, zeros after its end."""


def beside(views: Array, text: Array) -> Array:
    """Put the bytes of every lane's mission behind its flattened view."""
    if text.ndim != 2 or text.dtype != np.uint8:
        raise FitError(
            f"the view {MISSION_VIEW!r} must hold one byte per character, it holds {text.dtype} of "
            f"shape {text.shape}: set mission='...'"
        )
    return np.concatenate([views.reshape(len(views), -1), text], axis=1)


@dataclass(frozen=True)
class WithMissionOfLane:
    """Encodes, behind each flattened view, the mission whose bytes stand there."""

    size: int
    """Numbers of a view."""

    def __call__(self, rows: Array) -> Array:
        text = rows[:, self.size :].astype(np.int64)
        codes = _CODES[text]
        wrong = codes == _UNKNOWN
        wrong[:, MISSION[0] :] |= codes[:, MISSION[0] :] != _END
        if wrong.any():
            bad = text[wrong.any(axis=1)][0]
            mission = bytes(bad[bad > 0].tolist()).decode("latin-1")
            raise FitError(
                f"the mission {mission!r} cannot be encoded: MiniGrid's flat observations take "
                f"{MISSION[0]} letters, blanks and commas"
            )
        table = np.zeros((len(rows), *MISSION), dtype=np.uint8)
        lane, place = np.nonzero(codes[:, : MISSION[0]] != _END)
        table[lane, place, codes[lane, place]] = 1
        return np.concatenate([rows[:, : self.size], table.reshape(len(rows), -1)], axis=1)


_END, _UNKNOWN = -1, -2


def _code_table() -> Array:
    """Return the code of every byte in a mission."""
    table = np.full(256, _UNKNOWN)
    table[0] = _END
    for code, character in enumerate(_CHARACTERS):
        table[[ord(character), ord(character.upper())]] = code
    return table


_CODES = _code_table()


def constant_mission(space: Any) -> str | None:
    """Return the mission of an environment that has only one, if its space tells."""
    mission = space.spaces.get("mission") if isinstance(space, spaces.Dict) else None
    function = getattr(mission, "mission_func", None)
    if function is None or getattr(mission, "ordered_placeholders", None):
        return None
    return str(function())
