"""Recipes that a process keeps open; policies that answer the same differently are refused."""

from __future__ import annotations

import atexit
import os
import pickle
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass

import cloudpickle
import numpy as np

from rpd_core.chance import Draws
from rpd_core.errors import FitError
from rpd_core.play.actions import first_action, in_every_lane
from rpd_core.play.loop import Player
from rpd_core.play.profile import instrument, timing
from rpd_core.play.recipe import Recipe
from rpd_core.play.threads import one_numeric_thread
from rpd_core.plugin.origins import Origin, origin_of
from rpd_core.plugin.protocols import PolicyInput

_PLAYERS = 2
"""Opened recipes that a worker keeps: the policy's and random play's."""


@dataclass(frozen=True)
class _OpenPlayer:
    """An opened recipe, and which distributions it is made of."""

    player: Player
    origin: Origin


_open: OrderedDict[bytes, _OpenPlayer] = OrderedDict()
"""What this process has opened; items of work run one at a time."""


def player_for(recipe: Recipe) -> _OpenPlayer:
    """Return the opened recipe, kept open between chunks of the same process."""
    name = _name_of(recipe)
    players = _open
    if timing():
        name = b"timed " + name
    if name not in players:
        while len(players) >= _PLAYERS:
            players.popitem(last=False)[1].player.close()
        player = Player(recipe)
        try:
            _refuse_moody_policy(player)
        except BaseException:
            player.close()
            raise
        if timing():
            instrument(player)
        players[name] = _OpenPlayer(player, origin_of(recipe.components()))
    players.move_to_end(name)
    return players[name]


def _name_of(recipe: Recipe) -> bytes:
    """Return bytes that are the same for the same recipe, sent once more by the parent process."""
    for dumps in (pickle.dumps, cloudpickle.dumps):  # the second for functions without a module
        with suppress(Exception):  # whatever a stranger's object raises
            name: bytes = dumps(recipe)
            return name
    return repr(id(recipe)).encode()  # it never leaves this process


@atexit.register
def close_players() -> None:
    """Close what this process has opened."""
    while _open:
        _open.popitem()[1].player.close()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_open.clear)  # they are its parent's


def _refuse_moody_policy(player: Player) -> None:
    """Refuse a policy whose answer changes when it is asked the same again.

    It is asked about the lanes as they are before the first episode.
    """
    seen = _question(player)
    with one_numeric_thread():
        first = np.array(player.ask_policy(seen).actions)
        second = np.asarray(player.ask_policy(seen).actions)
    unknown = first.dtype.kind == "f"  # NaN is refused for what it is, at the first step
    if not np.array_equal(first, second, equal_nan=unknown):
        raise FitError(
            "the policy gave other actions when it was asked the same twice: it must depend on its "
            "input, its memory and its draws alone, or no episode could be repeated"
        )


def _question(player: Player) -> PolicyInput:
    facts = player.facts
    lanes = facts.lanes
    return PolicyInput(
        observations=player.lanes.observe(),
        views={name: player.lanes.view(name) for name in player.views},
        starts=np.ones(lanes, dtype=bool),
        memory=None,
        draws=Draws(np.arange(lanes, dtype=np.uint64), np.zeros(lanes, dtype=np.int64)),
        previous=in_every_lane(first_action(facts), facts),
        rewards=np.zeros(lanes),
    )
