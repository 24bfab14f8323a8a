"""CartPole's physics for many carts at once, operation for operation as in Gymnasium."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from numpy.typing import NDArray

Array = NDArray[Any]


class Carts:
    """Moves carts with the constants of Gymnasium's CartPole.

    Gymnasium's own vectorised environment takes half as long again: it checks actions, keeps count
    of steps and restarts carts by itself, which is not wanted here.
    """

    def __init__(self) -> None:
        single = CartPoleEnv()
        self.action_space, self.observation_space = single.action_space, single.observation_space
        self.gravity, self.force, self.seconds = single.gravity, single.force_mag, single.tau
        self.half_length, self.pole_mass = single.length, single.masspole
        self.mass, self.pole_mass_length = single.total_mass, single.polemass_length
        self.far, self.tilted = single.x_threshold, single.theta_threshold_radians

    def push(self, state: Array, actions: Array) -> Array:
        """Return positions, speeds, angles and spins one step later; rows are quantities."""
        _, speed, angle, spin = state
        force = np.where(actions == 1, self.force, -self.force)
        cos, sin = np.cos(angle), np.sin(angle)
        pull = (force + self.pole_mass_length * np.square(spin) * sin) / self.mass
        inertia = self.half_length * (4.0 / 3.0 - self.pole_mass * np.square(cos) / self.mass)
        spin_gain = (self.gravity * sin - cos * pull) / inertia
        speed_gain = pull - self.pole_mass_length * spin_gain * cos / self.mass
        moved = np.empty_like(state)
        moved[0], moved[1], moved[2], moved[3] = speed, speed_gain, spin, spin_gain
        moved *= self.seconds
        moved += state
        return moved

    def fallen(self, state: Array) -> NDArray[np.bool_]:
        """Return which carts are off the track or have let the pole fall."""
        return np.asarray((np.abs(state[0]) > self.far) | (np.abs(state[2]) > self.tilted))
