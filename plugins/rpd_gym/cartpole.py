"""CartPole: the paper's task, all lanes in one array."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from rpd_core.errors import FitError
from rpd_core.plugin.protocols import Entry, Facts, Lanes, Opening, StepResult, Task
from rpd_gym.cartpole_dynamics import Carts
from rpd_gym.headless import draw_without_screen
from rpd_gym.labels import CART_POLE
from rpd_gym.seeding import FirstUniform
from rpd_gym.step_caps import check_cap

Array = NDArray[Any]


@dataclass(frozen=True)
class CartPole:
    """Balance a pole on a cart; 1 per step, 200 steps at most, as in the paper."""

    max_steps: int = 200
    """Steps after which an episode ends."""

    def __post_init__(self) -> None:
        check_cap("cartpole", self.max_steps)

    def task(self) -> Task:
        """Return the paper's settings."""
        return Task(
            abstraction=("cartpole",),
            default_action="repeat",
            condition=f"return>={self.max_steps}",
            mutation_rate=0.4,
            episodes=5000,
            test_episodes=100,
            max_steps=self.max_steps,
            reference=0.0,
            policy="cartpole:good",
            lanes=2500,
            chunk=2500,
            minimise_steps=3_000_000,  # they cost little here, and fewer often end too early
        )

    def open(self, opening: Opening) -> Lanes:
        """Open the lanes."""
        return CartPoleLanes(opening.lanes)


class CartPoleLanes:
    """All lanes in one array of states; each equals a single CartPole reset with its seed."""

    def __init__(self, lanes: int) -> None:
        self.carts, self.starts = Carts(), FirstUniform(-0.05, 0.05, 4)
        self.state: Array = np.zeros((4, lanes))
        self.observations: Array = np.zeros((lanes, 4), dtype=np.float32)
        self.facts = Facts(
            observation_space=self.carts.observation_space,
            action_space=self.carts.action_space,
            lanes=lanes,
            action_names=CART_POLE.actions,
            entry_names=CART_POLE.entries,
            entries=CART_POLE.shown,
            description="CartPole",
        )
        self._drawn: gymnasium.Env[Any, Any] | None = None

    def reset(self, lanes: NDArray[np.int64], seeds: NDArray[np.int64]) -> None:
        """Draw each start as the single environment does for the same seed."""
        starts = self.starts(seeds)
        self.state[:, lanes] = starts.T
        self.observations = self.observations.copy("K")  # column by column, as steps make them
        self.observations[lanes] = starts

    def observe(self) -> Array:
        """Return position, velocity, angle, angular velocity."""
        return self.observations

    def view(self, name: str) -> Array:
        """Refuse: there are no views."""
        raise FitError(f"CartPole has no view {name!r}")

    def step(self, actions: Array, active: NDArray[np.bool_]) -> StepResult:
        """Push all carts at once; carts in idle lanes stay where they are."""
        if active.all():
            moved = self.carts.push(self.state, actions)
        else:
            lanes, moved = np.flatnonzero(active), self.state.copy()
            moved[:, lanes] = self.carts.push(self.state.take(lanes, axis=1), actions.take(lanes))
        self.state, self.observations = moved, moved.T.astype(np.float32)
        never = np.zeros(len(active), dtype=bool)
        return StepResult(np.ones(len(active)), self.carts.fallen(moved), never)

    def info(self, lane: int) -> Mapping[str, Any]:
        """Return nothing: CartPole has no info."""
        return {}

    def render(self, lane: int) -> Array:
        """Draw one cart with the single environment's own picture."""
        if self._drawn is None:
            self._drawn = _drawing_environment()
        single: Any = self._drawn.unwrapped
        single.state = self.state[:, lane].copy()
        return np.asarray(self._drawn.render())

    def close(self) -> None:
        """Close the window that drawing may have opened."""
        if self._drawn is not None:
            self._drawn.close()


def _drawing_environment() -> gymnasium.Env[Any, Any]:
    """Return a single environment that draws.

    Its paper has three bytes a pixel, red first, as the picture has: that is one block to be
    copied. With four, each pixel is copied by itself, which takes longer than drawing does.
    """
    draw_without_screen()
    drawn = gymnasium.make("CartPole-v1", render_mode="rgb_array")
    drawn.reset(seed=0)
    single: Any = drawn.unwrapped
    with suppress(ImportError):  # gymnasium itself says what to install
        import pygame  # only for drawing

        size = single.screen_width, single.screen_height
        single.screen = pygame.Surface(size, 0, 24, _RED_FIRST)
    return drawn


_BYTES = (0xFF, 0xFF00, 0xFF0000)
_RED_FIRST = (*(_BYTES if sys.byteorder == "little" else _BYTES[::-1]), 0)
"""Which bits of a pixel are red, green, blue and see-through."""
_SCALE = np.array([1.0, 10.0, 25.0, 10.0])  # the angle is divided by 4 before it is rounded
_TENS = np.array([1.0, 10.0, 100.0, 10.0])
_AHEAD = 0.2
"""Seconds after which the side that the pole leans to is the one that it falls to."""


@dataclass(frozen=True)
class CartPoleGrid:
    """|round(position)|, |round(velocity, 1)|, |round(angle / 4, 2)|, |round(spin, 1)|.

    Mirrored states are one, so actions are told relative to the pole: whether the cart is pushed
    under it, to the side that it falls to, or away.
    """

    words_note: ClassVar[str] = (
        "Under: the cart is pushed to the side that the pole falls to; away: to the other."
    )

    def __call__(self, values: Array | dict[str, Array], views: Mapping[str, Array]) -> Array:
        if isinstance(values, dict) or values.shape[1:] != (4,):
            shape = "a dict" if isinstance(values, dict) else f"shape {values.shape[1:]}"
            raise FitError(f"the abstraction 'cartpole' needs vectors of 4, got {shape}")
        return np.asarray(np.abs(np.rint(values * _SCALE)) / _TENS)

    def show(self, value: Array) -> str:
        """Describe where cart and pole are, sides left out."""
        x, speed, quarter_angle, spin = value.tolist()
        degrees = np.degrees(4 * quarter_angle)
        return f"cart {x:g} m, {speed:g} m/s; pole {degrees:.0f}°, {spin:g} rad/s"

    def name_relations(self, count: int) -> tuple[str, ...]:
        """Return what the two pushes are called, seen from the pole."""
        return ("under", "away") if count == 2 else ()

    def relate_actions(self, values: Array | dict[str, Array], actions: Array) -> Array:
        """Return 0 where the cart is pushed to the side that the pole falls to, 1 elsewhere."""
        rows = np.asarray(values)
        to_the_right = rows[:, 2] + _AHEAD * rows[:, 3] > 0
        return np.where(to_the_right == (actions == 1), 0, 1)

    def name_entries(self, before: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return the four entries, which all are distances from the middle or from rest."""
        return (
            Entry("cart off centre", " m"),
            Entry("cart speed", " m/s"),
            Entry("pole tilt", "°", factor=float(np.degrees(4.0)), digits=0),
            Entry("pole spin", " rad/s"),
        )
