"""Policies of a few lines for the gallery: what each does is known before rpd is asked."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

Pose = tuple[int, int, int, int]
"""A cell, and the direction to the right and down."""


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


def unlock(observations: Any) -> Any:
    """MiniGrid DoorKey: fetch the key, unlock the door, go to the goal; turn to look for them."""
    return np.array([_next_move(image.tobytes()) for image in observations["image"]])


LEFT, RIGHT, FORWARD, PICK_UP, TOGGLE = 0, 1, 2, 3, 5
EMPTY, DOOR, KEY, GOAL = 1, 4, 5, 8
HERE = (3, 6)
"""The cell of the agent in its view; it faces the row above."""


@lru_cache(maxsize=100_000)
def _next_move(image: bytes) -> int:
    """Return the first action of a shortest way to the goal, or to what must be used before."""
    kind, _, state = np.frombuffer(image, np.uint8).reshape(7, 7, 3).transpose(2, 0, 1)
    sought, use = (DOOR, TOGGLE) if kind[HERE] == KEY else (KEY, PICK_UP)
    free = np.isin(kind, (EMPTY, GOAL)) | ((kind == DOOR) & (state == 0))
    free[HERE] = True
    ways: list[tuple[Pose, int | None]] = [((*HERE, 0, -1), None)]
    known = {ways[0][0]}
    for pose, first in ways:
        for action, (x, y, right, down) in _moves(*pose):
            if not (0 <= x < 7 and 0 <= y < 7) or (x, y, right, down) in known:
                continue
            begin = action if first is None else first
            if kind[x, y] == GOAL:
                return begin
            if kind[x, y] == sought and not free[x, y]:
                return use if first is None else first
            if free[x, y]:
                known.add((x, y, right, down))
                ways.append(((x, y, right, down), begin))
    return RIGHT


def _moves(x: int, y: int, right: int, down: int) -> tuple[tuple[int, Pose], ...]:
    """Return where each move leads from a cell and a direction."""
    ahead = (x + right, y + down, right, down)
    return (FORWARD, ahead), (LEFT, (x, y, down, -right)), (RIGHT, (x, y, -down, right))
