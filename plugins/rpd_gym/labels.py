"""What the numbers of Gymnasium's own small environments stand for, and their actions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import gymnasium
from gymnasium import spaces

from rpd_core.plugin.protocols import Entry

_DEGREES = 180 / math.pi


@dataclass(frozen=True)
class _Labels:
    """Names to show to a person; empty where nothing is known."""

    entries: tuple[str, ...] = ()
    """The entries of an observation vector."""
    actions: tuple[str, ...] = ()
    """The discrete actions."""
    shown: tuple[Entry, ...] = ()
    """How some of the entries are shown; angles whose cosine and sine are among them."""


_LEG = ("hip {} angle", "hip {} speed", "knee {} angle", "knee {} speed", "leg {} contact")
_CAR = ("position", "velocity")
_LANDER = (
    "x", "y", "horizontal velocity", "vertical velocity", "angle", "angular velocity",
    "left leg contact", "right leg contact",
)  # fmt: skip
_LEGS = tuple(
    Entry(f"{side} leg contact", words=(f"{side} leg in the air", f"{side} leg on the ground"))
    for side in ("left", "right")
)
_TILT = Entry("angle", "°", _DEGREES)
_WALKER = (
    "hull angle", "hull angular velocity", "horizontal velocity", "vertical velocity",
    *(name.format(leg) for leg in (1, 2) for name in _LEG),
    *(f"lidar {ray}" for ray in range(1, 11)),
)  # fmt: skip

CART_POLE = _Labels(
    ("cart position", "cart velocity", "pole angle", "pole angular velocity"), ("left", "right"),
    (
        Entry("cart position", " m"), Entry("cart velocity", " m/s"),
        Entry("pole angle", "°", _DEGREES), Entry("pole angular velocity", " rad/s"),
    ),
)  # fmt: skip
LABELS = {
    "CartPole": CART_POLE,
    "Acrobot": _Labels(
        (
            "cos angle 1", "sin angle 1", "cos angle 2", "sin angle 2",
            "angular velocity 1", "angular velocity 2",
        ),
        ("negative torque", "no torque", "positive torque"),
        (
            Entry("angle 1", "°", _DEGREES, angle_of=("cos angle 1", "sin angle 1")),
            Entry("angle 2", "°", _DEGREES, angle_of=("cos angle 2", "sin angle 2")),
            Entry("angular velocity 1", " rad/s"), Entry("angular velocity 2", " rad/s"),
        ),
    ),
    "MountainCar": _Labels(_CAR, ("push left", "no push", "push right")),
    "MountainCarContinuous": _Labels(_CAR),
    "Pendulum": _Labels(
        ("cos angle", "sin angle", "angular velocity"),
        (),
        (
            Entry("angle", "°", _DEGREES, angle_of=("cos angle", "sin angle")),
            Entry("angular velocity", " rad/s"),
        ),
    ),
    "LunarLander": _Labels(
        _LANDER, ("no engine", "left engine", "main engine", "right engine"), (_TILT, *_LEGS)
    ),
    "LunarLanderContinuous": _Labels(_LANDER, (), (_TILT, *_LEGS)),
    "BipedalWalker": _Labels(_WALKER),
    "BipedalWalkerHardcore": _Labels(_WALKER),
    "CarRacing": _Labels((), ("nothing", "steer right", "steer left", "gas", "brake")),
    "FrozenLake": _Labels((), ("left", "down", "right", "up")),
    "FrozenLake8x8": _Labels((), ("left", "down", "right", "up")),
    "CliffWalking": _Labels((), ("up", "right", "down", "left")),
    "CliffWalkingSlippery": _Labels((), ("up", "right", "down", "left")),
    "Taxi": _Labels((), ("south", "north", "east", "west", "pick up", "drop off")),
    "Blackjack": _Labels(("own sum", "dealer's card", "usable ace"), ("stick", "hit")),
}  # fmt: skip
"""By the name in a Gymnasium id, without its version."""
_DECLARED = {"entries": "entry_names", "actions": "action_names"}
"""Where other environments may say the same: keys of their `metadata`."""


def labels_of(env: gymnasium.Env[Any, Any]) -> _Labels:
    """Return the names that fit an environment's spaces; they are empty for unknown ones."""
    spec = env.unwrapped.spec
    builtin = type(env.unwrapped).__module__.startswith("gymnasium.envs.")
    known = _declared(env)
    if spec is not None and not spec.namespace and builtin:
        known = LABELS.get(spec.name, known)
    seen, acted = env.observation_space, env.action_space
    count = len(known.entries)
    fits_entries = isinstance(seen, spaces.Box) and seen.shape == (count,)
    fits_entries |= isinstance(seen, spaces.Tuple) and len(seen.spaces) == count
    fits_actions = isinstance(acted, spaces.Discrete) and acted.n == len(known.actions)
    entries, shown = (known.entries, known.shown) if fits_entries else ((), ())
    return _Labels(entries, known.actions if fits_actions else (), shown)


def _declared(env: gymnasium.Env[Any, Any]) -> _Labels:
    """Return the names that an environment's own metadata hold."""
    declared: Any = env.metadata
    metadata = declared if isinstance(declared, dict) else {}
    found = {name: metadata.get(key, ()) for name, key in _DECLARED.items()}
    good = {
        name: tuple(names)
        for name, names in found.items()
        if isinstance(names, list | tuple) and all(isinstance(one, str) for one in names)
    }
    return _Labels(**good)
