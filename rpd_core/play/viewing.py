"""A recipe opened to be looked at: frames where the environment draws, else what is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.errors import one_line
from rpd_core.play.loop import Player
from rpd_core.play.recipe import Recipe
from rpd_core.plugin.protocols.optional import DrawsValues

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array

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
