"""An episode played again, step by step, with frames where the environment draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rpd_core.play.loop import Keep, Plan, Player, Step
from rpd_core.play.recipe import Recipe
from rpd_core.plugin.protocols import Episodes
from rpd_core.plugin.protocols.arrays import Array, BoolArray, FloatArray


@dataclass(frozen=True)
class ReplayedStep:
    """What happened at one step."""

    number: int
    """From 0."""
    key: int
    value: Array
    """The abstract state."""
    policy_decided: bool
    """Whether the policy decided, or the default action."""
    policy_action: object
    """What the policy chose."""
    default_action: object
    """What the default action would do, or did."""
    reward: float
    frame: Array | None = None
    """The picture before the step, (height, width, 3) uint8, where asked for."""
    return_before: float = 0.0
    """Sum of the rewards before the step."""
    place: tuple[float, float] | None = None
    """Where in the picture the agent is, where a picture is asked for and the lanes know it."""

    @property
    def action(self) -> object:
        """What was done."""
        return self.policy_action if self.policy_decided else self.default_action


def replayed_step(
    step: Step, row: int, frame: Array | None, place: tuple[float, float] | None = None
) -> ReplayedStep:
    """Return what is known of one row before its step is taken; its reward is not."""
    lane = int(step.lanes[row])
    return ReplayedStep(
        int(step.number[row]),
        int(step.keys[row]),
        np.array(step.values[row]),
        bool(step.kept[row]),
        np.asarray(step.choice.actions)[lane].tolist(),
        np.asarray(step.default)[lane].tolist(),
        0.0,
        frame,
        float(step.return_before[row]),
        place,
    )


@dataclass(frozen=True)
class PlayedAgain:
    """An episode that was played again."""

    steps: Sequence[ReplayedStep]
    episodes: Episodes
    """Its row, as a suite has it."""
    last_frame: Array | None = None
    """The picture after the last step, where asked for."""


def play_again(recipe: Recipe, plan: Plan, keep: Keep, frames: bool = False) -> PlayedAgain:
    """Play the one episode of a plan and return all its steps."""
    # As many lanes are opened as for the suite, because the last bits of a policy's answers may
    # depend on that number; only the first is played.
    player = Player(replace(recipe, render=frames))
    steps: list[ReplayedStep] = []

    def frame() -> Array | None:
        return np.array(player.lanes.render(0)) if frames else None

    def record(step: Step) -> None:
        steps.append(replayed_step(step, 0, frame()))

    def watch(rewards: FloatArray, over: BoolArray) -> None:
        steps[-1] = replace(steps[-1], reward=float(rewards[0]))

    try:
        return PlayedAgain(steps, player.play(plan, keep, record, watch), frame())
    finally:
        player.close()
