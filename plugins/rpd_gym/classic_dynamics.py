"""Gymnasium's classic control for many lanes at once, operation for operation as it computes them.

Results equal the single environments' bit for bit, which decides what is written here: sums keep
the order of their terms, numbers keep their precision, and squares that Gymnasium takes by `**` of
a scalar, which is the `pow` of the C library and now and then one bit off, are taken by the same
function. Rows of a state are quantities, columns are lanes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from gymnasium.envs.classic_control import (
    AcrobotEnv,
    CartPoleEnv,
    Continuous_MountainCarEnv,
    MountainCarEnv,
    PendulumEnv,
)
from gymnasium.envs.classic_control.pendulum import DEFAULT_X, DEFAULT_Y
from numpy.typing import NDArray

from rpd_gym.cartpole_dynamics import Carts

Array = NDArray[Any]


@dataclass(frozen=True)
class Moved:
    """What a step leads to."""

    state: Array
    observations: Array
    """One row per lane."""
    rewards: Array
    terminated: NDArray[np.bool_]


class Dynamics(Protocol):
    """The rules of one environment."""

    single: ClassVar[type[Any]]
    """Gymnasium's class."""
    low: ClassVar[float | Array]
    high: ClassVar[float | Array]
    """Between which the numbers of a start are drawn."""
    drawn: ClassVar[int]
    """How many are drawn."""

    def begin(self, drawn: Array) -> tuple[Array, Array]:
        """Return states and observations of lanes that start with these draws, a row each."""

    def move(self, state: Array, actions: Array, fresh: NDArray[np.bool_]) -> Moved:
        """Take a step; `fresh` lanes take their first."""

    def pose(self, single: Any, state: Array, action: Array | None) -> None:
        """Put a single environment into a state, which the action (none: a reset) led to."""


def _as_rows(*quantities: Array) -> Array:
    """Return observations: a row per lane, in single precision."""
    rows = np.empty((len(quantities[0]), len(quantities)), dtype=np.float32)
    for column, quantity in enumerate(quantities):
        rows[:, column] = quantity
    return rows


def power_of_scalars(values: Array) -> Array:
    """Return squares in double precision as `**` computes them of scalars."""
    return np.asarray(np.float_power(values, 2.0))


class Acrobot:
    """Two links, of which the inner one hangs from a joint and the other is driven."""

    single: ClassVar[type[Any]] = AcrobotEnv
    low: ClassVar[float | Array] = -0.1
    high: ClassVar[float | Array] = 0.1
    drawn: ClassVar[int] = 4

    def __init__(self) -> None:
        env = AcrobotEnv
        m1, m2, l1 = env.LINK_MASS_1, env.LINK_MASS_2, env.LINK_LENGTH_1
        lc1, lc2, inertia, gravity = env.LINK_COM_POS_1, env.LINK_COM_POS_2, env.LINK_MOI, 9.8
        self.torques = np.array(env.AVAIL_TORQUE)
        self.inertia, self.outer_mass = inertia, m2
        self.first, self.lengths, self.twice = m1 * lc1**2, l1**2 + lc2**2, 2 * l1 * lc2
        self.outer, self.product = lc2**2, l1 * lc2
        self.outer_pull, self.pull = m2 * lc2 * gravity, (m1 * lc1 + m2 * l1) * gravity
        self.coupling, self.coriolis = m2 * l1 * lc2, 2 * m2 * l1 * lc2
        self.least = m2 * lc2**2 + inertia
        self.seconds = env.dt
        self.bounds = np.array([[env.MAX_VEL_1], [env.MAX_VEL_2]])

    def begin(self, drawn: Array) -> tuple[Array, Array]:
        """Start in single precision, which the first observation is computed in."""
        angle, elbow, spin, elbow_spin = start = drawn.T.astype(np.float32)
        seen = _as_rows(
            np.cos(angle), np.sin(angle), np.cos(elbow), np.sin(elbow), spin, elbow_spin
        )
        return start, seen

    def move(self, state: Array, actions: Array, fresh: NDArray[np.bool_]) -> Moved:
        """Integrate by Runge and Kutta's method of fourth order."""
        torque, step = self.torques.take(actions), self.seconds
        half = step / 2.0
        k1 = self._change(state, torque)
        k2 = self._change(state + half * k1, torque)
        k3 = self._change(state + half * k2, torque)
        k4 = self._change(state + step * k3, torque)
        moved = state + step / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)
        _wrap(moved[:2])
        np.minimum(np.maximum(moved[2:], -self.bounds), self.bounds, out=moved[2:])
        cos, sin = np.cos(moved[:2]), np.sin(moved[:2])
        up = -cos[0] - np.cos(moved[1] + moved[0]) > 1.0
        seen = _as_rows(cos[0], sin[0], cos[1], sin[1], moved[2], moved[3])
        return Moved(moved, seen, np.where(up, 0.0, -1.0), up)

    def _change(self, state: Array, torque: Array) -> Array:
        angle, elbow, spin, elbow_spin = state
        cos, sin = np.cos(elbow), np.sin(elbow)
        squares = power_of_scalars(state[2:])
        d1 = self.first + self.outer_mass * (self.lengths + self.twice * cos)
        d1 = d1 + self.inertia + self.inertia
        d2 = self.outer_mass * (self.outer + self.product * cos) + self.inertia
        phi2 = self.outer_pull * np.cos(angle + elbow - np.pi / 2.0)
        phi1 = -self.coupling * squares[1] * sin - self.coriolis * elbow_spin * spin * sin
        phi1 = phi1 + self.pull * np.cos(angle - np.pi / 2) + phi2
        ratio = d2 / d1
        drive = torque + ratio * phi1 - self.coupling * squares[0] * sin - phi2
        change = np.empty_like(state)
        change[0], change[1] = spin, elbow_spin
        change[3] = drive / (self.least - power_of_scalars(d2) / d1)
        change[2] = -(d2 * change[3] + phi1) / d1
        return change

    def pose(self, single: Any, state: Array, action: Array | None) -> None:
        """Set both angles and spins."""
        single.state = state


def _wrap(angles: Array) -> None:
    """Bring angles between minus half a turn and half a turn, a turn at a time."""
    turn = np.pi - -np.pi
    while (beyond := angles > np.pi).any():
        angles[beyond] -= turn
    while (beyond := angles < -np.pi).any():
        angles[beyond] += turn


class MountainCar:
    """A car between two hills that pushes left, right or not at all."""

    single: ClassVar[type[Any]] = MountainCarEnv
    low: ClassVar[float | Array] = -0.6
    high: ClassVar[float | Array] = -0.4
    drawn: ClassVar[int] = 1

    def __init__(self) -> None:
        self.rules = MountainCarEnv()

    def begin(self, drawn: Array) -> tuple[Array, Array]:
        """Start at rest."""
        return np.stack([drawn[:, 0], np.zeros(len(drawn))]), _at_rest(drawn)

    def move(self, state: Array, actions: Array, fresh: NDArray[np.bool_]) -> Moved:
        """Push, roll, and stop at the left end."""
        rules = self.rules
        push = (actions - 1) * rules.force
        speed = state[1] + (push + np.cos(3 * state[0]) * -rules.gravity)
        np.clip(speed, -rules.max_speed, rules.max_speed, out=speed)
        place = np.clip(state[0] + speed, rules.min_position, rules.max_position)
        speed[(place == rules.min_position) & (speed < 0)] = 0.0
        there = (place >= rules.goal_position) & (speed >= rules.goal_velocity)
        moved = np.stack([place, speed])
        return Moved(moved, _as_rows(place, speed), np.full(len(there), -1.0), there)

    def pose(self, single: Any, state: Array, action: Array | None) -> None:
        """Set position and velocity."""
        single.state = state


class MountainCarContinuous:
    """The same hills, any push; from the first step on in single precision."""

    single: ClassVar[type[Any]] = Continuous_MountainCarEnv
    low: ClassVar[float | Array] = -0.6
    high: ClassVar[float | Array] = -0.4
    drawn: ClassVar[int] = 1

    def __init__(self) -> None:
        self.rules = Continuous_MountainCarEnv()

    def begin(self, drawn: Array) -> tuple[Array, Array]:
        """Start at rest, in double precision."""
        return np.stack([drawn[:, 0], np.zeros(len(drawn))]), _at_rest(drawn)

    def move(self, state: Array, actions: Array, fresh: NDArray[np.bool_]) -> Moved:
        """Push, roll, and stop at the left end."""
        seen = self._roll(state.astype(np.float32), actions[:, 0])
        if fresh.any():
            seen[fresh] = self._roll(state[:, fresh], actions[fresh, 0])
        rules = self.rules
        there = (seen[:, 0] >= rules.goal_position) & (seen[:, 1] >= rules.goal_velocity)
        effort = np.square(actions[:, 0].astype(np.float64)) * 0.1  # exact: no `pow` is needed
        moved = seen.T.astype(np.float64, order="C")
        return Moved(moved, seen, np.where(there, 100.0, 0.0) - effort, there)

    def _roll(self, state: Array, push: Array) -> Array:
        """Return positions and speeds one step later, computed in the precision of the state."""
        rules = self.rules
        slope = 0.0025 * np.cos((3 * state[0]).astype(np.float64))
        speed = state[1] + (push * rules.power - slope.astype(np.float32))
        np.clip(speed, -rules.max_speed, rules.max_speed, out=speed)
        place = np.clip(state[0] + speed, rules.min_position, rules.max_position)
        least = place.dtype.type(rules.min_position)
        speed[(place == least) & (speed < 0)] = 0.0
        return _as_rows(place, speed)

    def pose(self, single: Any, state: Array, action: Array | None) -> None:
        """Set position and velocity."""
        single.state = state


def _at_rest(drawn: Array) -> Array:
    return _as_rows(drawn[:, 0], np.zeros(len(drawn)))


class Pendulum:
    """A rod to be swung up and held there; its angle is not wrapped."""

    single: ClassVar[type[Any]] = PendulumEnv
    high: ClassVar[float | Array] = np.array([DEFAULT_X, DEFAULT_Y])
    low: ClassVar[float | Array] = -high
    drawn: ClassVar[int] = 2

    def __init__(self) -> None:
        self.rules = rules = PendulumEnv()
        self.weight = 3 * rules.g / (2 * rules.l)
        self.gain = 3.0 / (rules.m * rules.l**2)

    def begin(self, drawn: Array) -> tuple[Array, Array]:
        """Start anywhere, turning."""
        start = np.ascontiguousarray(drawn.T)
        return start, _as_rows(np.cos(start[0]), np.sin(start[0]), start[1])

    def move(self, state: Array, actions: Array, fresh: NDArray[np.bool_]) -> Moved:
        """Turn; what it costs is told by the state before."""
        rules, (angle, spin) = self.rules, state
        torque = np.clip(actions[:, 0], -rules.max_torque, rules.max_torque)
        upright = (angle + np.pi) % (2 * np.pi) - np.pi
        effort = np.array([one**2 for one in torque], dtype=np.float32)  # `powf` has no array form
        cost = power_of_scalars(upright) + 0.1 * power_of_scalars(spin) + 0.001 * effort
        moved = np.empty_like(state)
        moved[1] = spin + (self.weight * np.sin(angle) + self.gain * torque) * rules.dt
        np.clip(moved[1], -rules.max_speed, rules.max_speed, out=moved[1])
        moved[0] = angle + moved[1] * rules.dt
        seen = _as_rows(np.cos(moved[0]), np.sin(moved[0]), moved[1])
        return Moved(moved, seen, -cost, np.zeros(len(cost), dtype=bool))

    def pose(self, single: Any, state: Array, action: Array | None) -> None:
        """Set angle and spin, and the torque, which is drawn."""
        limit = self.rules.max_torque
        single.state = state
        single.last_u = None if action is None else np.clip(action, -limit, limit)[0]


class CartPole:
    """The pole on a cart, as the task `cartpole` moves it."""

    single: ClassVar[type[Any]] = CartPoleEnv
    low: ClassVar[float | Array] = -0.05
    high: ClassVar[float | Array] = 0.05
    drawn: ClassVar[int] = 4

    def __init__(self) -> None:
        self.carts = Carts()

    def begin(self, drawn: Array) -> tuple[Array, Array]:
        """Start near the middle, nearly upright."""
        return drawn.T, drawn.astype(np.float32)

    def move(self, state: Array, actions: Array, fresh: NDArray[np.bool_]) -> Moved:
        """Push every cart."""
        moved = self.carts.push(state, actions)
        seen, fallen = _as_rows(*moved), self.carts.fallen(moved)
        return Moved(moved, seen, np.ones(len(fallen)), fallen)

    def pose(self, single: Any, state: Array, action: Array | None) -> None:
        """Set positions and speeds."""
        single.state = state
