"""An episode played again, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rpd_core.play.loop import Keep, Plan, Player, Step
from rpd_core.play.recipe import Recipe

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, BoolArray, Episodes, FloatArray


@dataclass(frozen=True)
class ReplayedStep:
    """What happened at one step."""

    number: int
    """From 0."""
    key: int
    """Key of the abstract state."""
    value: Array
    """The abstract state."""
    policy_decided: bool
    """Whether the policy decided, or the default action."""
    policy_action: Any
    """What the policy chose."""
    default_action: Any
    """What the default action would do, or did."""
    reward: float
    frame: Array | None = None
    """The picture before the step, (height, width, 3) uint8, where asked for."""

    @property
    def action(self) -> Any:
        """What was done."""
        return self.policy_action if self.policy_decided else self.default_action


@dataclass(frozen=True)
class PlayedAgain:
    """An episode that was played again."""

    steps: Sequence[ReplayedStep]
    episodes: Episodes
    """Its row, as a suite has it."""
    last_frame: Array | None = None
    """The picture after the last step, where asked for."""


def play_again(recipe: Recipe, plan: Plan, keep: Keep, frames: bool = False) -> PlayedAgain:
    """Play the one episode of a plan and return all its steps.

    As many lanes are opened as for the suite, because the last bits of a policy's answers may
    depend on that number; only the first is played.
    """
    player = Player(replace(recipe, render=frames))
    try:
        watcher = _Watcher(player, frames)
        episodes = player.play(plan, keep, watcher.record, watcher.watch)
    finally:
        player.close()
    return PlayedAgain(watcher.steps, episodes, watcher.last_frame)


class _Watcher:
    """Collects the steps of the first lane."""

    def __init__(self, player: Player, frames: bool) -> None:
        self.player, self.frames = player, frames
        self.steps: list[ReplayedStep] = []
        self.last_frame: Array | None = None

    def _frame(self) -> Array | None:
        return np.array(self.player.lanes.render(0)) if self.frames else None

    def record(self, step: Step) -> None:
        """Keep what is known before the step."""
        self.steps.append(
            ReplayedStep(
                int(step.number[0]),
                int(step.keys[0]),
                np.array(step.values[0]),
                bool(step.kept[0]),
                np.asarray(step.choice.actions)[0].tolist(),
                np.asarray(step.default)[0].tolist(),
                0.0,
                self._frame(),
            )
        )

    def watch(self, rewards: FloatArray, over: BoolArray) -> None:
        """Add what the step gave."""
        self.steps[-1] = replace(self.steps[-1], reward=float(rewards[0]))
        if over[0]:
            self.last_frame = self._frame()
