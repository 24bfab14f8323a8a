"""An inventory: order 0 to 4 cases a day, random demand, a peak on Fridays, delivery in two days.

A noisy task whose policy everybody understands: order up to a level that depends on the weekday.

    rpd run --env python:inventory:Inventory,max_steps=60 --policy python:inventory:base_stock
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

DAYS = 60
DEMAND = (1.0, 1.0, 1.5, 2.0, 5.0, 0.5, 0.5)
"""Mean demand of each weekday, Monday first."""
PRICE, HOLDING, ORDERING, MISSED = 3.0, 0.15, 1.0, 2.0
ROOM = 20
LEVELS = np.array([5, 8, 9, 8, 3, 2, 3])
"""What the rule keeps in stock and on the way, by weekday."""


class Inventory(gymnasium.Env[dict[str, Any], int]):
    """Sixty days of a shop: stock, orders on the way, weekday."""

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.action_space = spaces.Discrete(5)
        self.observation_space = spaces.Dict(
            {
                "stock": spaces.Box(0, ROOM, (1,), np.int64),
                "coming": spaces.Box(0, 8, (1,), np.int64),
                "weekday": spaces.Box(0, 6, (1,), np.int64),
            }
        )

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        super().reset(seed=seed)
        self.day, self.stock, self.coming = 0, 4, [0, 0]
        return self._observed(), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, Any]:
        self.stock = min(self.stock + self.coming.pop(0), ROOM)
        self.coming.append(int(action))
        wanted = int(self.np_random.poisson(DEMAND[self.day % 7]))
        sold = min(wanted, self.stock)
        self.stock -= sold
        self.day += 1
        earned = PRICE * sold - HOLDING * self.stock - ORDERING * int(action)
        return self._observed(), earned - MISSED * (wanted - sold), self.day >= DAYS, False, {}

    def _observed(self) -> dict[str, Any]:
        values = {"stock": self.stock, "coming": sum(self.coming), "weekday": self.day % 7}
        return {name: np.array([value], dtype=np.int64) for name, value in values.items()}


def base_stock(observations: dict[str, Any]) -> Any:
    """Order what is missing from the level of the day, four cases at most."""
    held = observations["stock"][:, 0] + observations["coming"][:, 0]
    return np.clip(LEVELS[observations["weekday"][:, 0]] - held, 0, 4)
