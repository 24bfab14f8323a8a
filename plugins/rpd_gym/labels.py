"""What the numbers of Gymnasium's own small environments stand for, and their actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium
from gymnasium import spaces


@dataclass(frozen=True)
class Labels:
    """Names to show to a person; empty where nothing is known."""

    entries: tuple[str, ...] = ()
    """The entries of an observation vector."""
    actions: tuple[str, ...] = ()
    """The discrete actions."""


_LEG = ("hip {} angle", "hip {} speed", "knee {} angle", "knee {} speed", "leg {} contact")
_CAR = ("position", "velocity")
_LANDER = (
    "x", "y", "horizontal velocity", "vertical velocity", "angle", "angular velocity",
    "left leg contact", "right leg contact",
)  # fmt: skip
_WALKER = (
    "hull angle", "hull angular velocity", "horizontal velocity", "vertical velocity",
    *(name.format(leg) for leg in (1, 2) for name in _LEG),
    *(f"lidar {ray}" for ray in range(1, 11)),
)  # fmt: skip

CART_POLE = Labels(
    ("cart position", "cart velocity", "pole angle", "pole angular velocity"), ("left", "right")
)
LABELS = {
    "CartPole": CART_POLE,
    "Acrobot": Labels(
        (
            "cos angle 1", "sin angle 1", "cos angle 2", "sin angle 2",
            "angular velocity 1", "angular velocity 2",
        ),
        ("negative torque", "no torque", "positive torque"),
    ),
    "MountainCar": Labels(_CAR, ("push left", "no push", "push right")),
    "MountainCarContinuous": Labels(_CAR),
    "Pendulum": Labels(("cos angle", "sin angle", "angular velocity")),
    "LunarLander": Labels(_LANDER, ("no engine", "left engine", "main engine", "right engine")),
    "LunarLanderContinuous": Labels(_LANDER),
    "BipedalWalker": Labels(_WALKER),
    "BipedalWalkerHardcore": Labels(_WALKER),
}  # fmt: skip
"""By the name in a Gymnasium id, without its version."""


def labels_of(env: gymnasium.Env[Any, Any]) -> Labels:
    """Return the names that fit an environment's spaces; they are empty for unknown ones."""
    spec = env.unwrapped.spec
    builtin = type(env.unwrapped).__module__.startswith("gymnasium.envs.")
    if spec is None or spec.namespace or not builtin:
        return Labels()
    known = LABELS.get(spec.name, Labels())
    seen, acted = env.observation_space, env.action_space
    fits_entries = isinstance(seen, spaces.Box) and seen.shape == (len(known.entries),)
    fits_actions = isinstance(acted, spaces.Discrete) and acted.n == len(known.actions)
    return Labels(known.entries if fits_entries else (), known.actions if fits_actions else ())
