"""A short check that a policy answers the same to the same question."""

from __future__ import annotations

import numpy as np

from rpd_core.chance import Draws
from rpd_core.errors import FitError
from rpd_core.play.actions import first_action, in_every_lane
from rpd_core.play.loop import Player
from rpd_core.play.threads import one_numeric_thread
from rpd_core.plugin.protocols import PolicyInput


def refuse_moody_policy(player: Player) -> None:
    """Refuse a policy whose answer changes when it is asked the same again.

    It is asked about the lanes as they are before the first episode.
    """
    seen = _question(player)
    with one_numeric_thread():
        first = np.array(player.ask_policy(seen).actions)
        second = np.asarray(player.ask_policy(seen).actions)
    if not np.array_equal(first, second):
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
