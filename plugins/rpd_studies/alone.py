"""Single states mutated alone: each episode beside its twin, which differs in one state only.

An episode is fixed by its identity and by who decides where. One that never reaches a state is
therefore the same whether that state is mutated or not: only unmutated episodes that visit it get a
twin, and all others are their own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.chance import Phase
from rpd_core.play.chunks import Evaluation
from rpd_core.plugin.protocols import Episodes
from rpd_core.pruning.evaluation import Evaluations, ask

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import IntArray, KeyArray

_UNMUTATED = "validate-unmutated"


@dataclass(frozen=True)
class Alone:
    """Unmutated episodes, and the twins of those that visit each state."""

    unmutated: Episodes
    visiting: Mapping[int, IntArray]
    """By key: the unmutated episodes that visit the state."""
    twins: Mapping[int, Episodes]
    """By key: the same episodes with only this state mutated; not there where none visits it."""


def play_alone(evaluations: Evaluations, keys: KeyArray, episodes: int) -> Alone:
    """Play unmutated episodes, and those that visit a state again with it mutated."""
    nothing = np.zeros(0, dtype=np.uint64)
    whole = ask(evaluations.session, [nothing], [(0, 0)], True, Phase.VALIDATE)
    whole = dataclasses.replace(whole, test_episodes=episodes, visits=True)
    unmutated = evaluations.play("unmutated", {_UNMUTATED: whole})[_UNMUTATED]
    visiting = _visiting(evaluations, keys, episodes)
    asked = {
        key: twins_of(whole, key, tuple(rows.tolist()))
        for key, rows in visiting.items()
        if len(rows)
    }
    names = {key: f"validate-{key:016x}" for key in asked}
    played = evaluations.play("one by one", {names[key]: one for key, one in asked.items()})
    return Alone(unmutated, visiting, {key: played[names[key]] for key in asked})


def twins_of(whole: Evaluation, key: int, chosen: tuple[int, ...]) -> Evaluation:
    """Describe some episodes of the policy with one state mutated."""
    state = np.array([key], dtype=np.uint64)  # ranked, and not kept; all other states are kept
    return dataclasses.replace(
        whole, rankings=(state,), chosen=chosen, test_episodes=len(chosen), visits=False
    )


def _visiting(evaluations: Evaluations, keys: KeyArray, episodes: int) -> dict[int, IntArray]:
    """Return which unmutated episodes visit each state."""
    visits = evaluations.visits(_UNMUTATED, 0, episodes - 1)
    return {key: visits.episode[visits.key == np.uint64(key)] for key in keys.tolist()}
