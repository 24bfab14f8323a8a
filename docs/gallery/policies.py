"""Policies of a few lines for the gallery: what each does is known before rpd is asked."""

from __future__ import annotations

from typing import Any

import numpy as np


def swing(observations: Any) -> Any:
    """MountainCar: push the way the car already moves."""
    return np.where(observations[:, 1] >= 0, 2, 0)


def pump(observations: Any) -> Any:
    """Acrobot: push against the upper link's motion, which makes it swing higher."""
    return np.where(observations[:, 4] >= 0, 0, 2)


def land(observations: Any) -> Any:
    """LunarLander: steer towards the pad, brake when falling fast, stop on the ground."""
    x, y, vx, vy, angle, spin, left, right = observations.T
    wanted = np.clip(0.5 * x + vx, -0.4, 0.4)
    turn = (wanted - angle) * 0.5 - spin
    lift = (np.abs(x) * 0.55 - y) * 0.5 - vy * 0.5
    down = (left + right) > 0
    turn, lift = np.where(down, 0.0, turn), np.where(down, -vy * 0.5, lift)
    main = (lift > np.abs(turn)) & (lift > 0.05)
    return np.select([main, turn < -0.05, turn > 0.05], [2, 3, 1], 0)


def flap(observations: Any) -> Any:
    """FlappyBird: flap when the bird comes near the lower edge of the next gap."""
    behind = observations[:, 0] < 0.05
    edge = np.where(behind, observations[:, 5], observations[:, 2])
    return (observations[:, 9] + 0.08 > edge).astype(np.int64)
