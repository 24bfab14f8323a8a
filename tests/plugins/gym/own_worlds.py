"""Small environments with one oddity each, for `python:own_worlds:...` and for registration."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces


class Walk(gymnasium.Env[Any, Any]):
    """Counts steps; `oddity` says what goes wrong, or how observations look."""

    def __init__(self, oddity: str = "", size: int = 3) -> None:
        self.oddity, self.size, self.episodes = oddity, size, 0
        self.observation_space = self._space()
        self.action_space = spaces.Discrete(2, start=1)

    def _space(self) -> spaces.Space[Any]:
        box = spaces.Box(-10, 10, (2,), np.float32)
        if self.oddity == "dict":
            inner = spaces.Dict({"a.b": box, "text": spaces.Text(5)})
            return spaces.Dict({"x": spaces.Discrete(4, start=2), "inner": inner})
        if self.oddity == "tuple":
            return spaces.Tuple((box, spaces.MultiBinary(3)))
        if self.oddity in ("fractions", "overflow"):
            return spaces.Box(0, 200, (2,), np.uint8)
        return box

    def _observation(self) -> Any:
        place = np.array([self.at, self.start], dtype=np.float32)
        if self.oddity == "dict":
            return {"x": 2 + self.at % 4, "inner": {"a.b": place, "text": "hello"}}
        if self.oddity == "tuple":
            return place, np.array([1, 0, self.at % 2], dtype=np.int8)
        if self.oddity == "misfit" and self.at == 2:
            return place[:1]
        if self.oddity == "fractions":
            return place + 0.5
        if self.oddity == "overflow":
            return (200 * place).astype(np.int64)
        if self.oddity == "nan" and self.at == 2:
            place[0] = np.nan
        return place

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.at, self.start = 0, float(self.np_random.integers(5))
        if self.oddity == "forgets":
            self.start += self.episodes
        if self.oddity == "unseeded":
            self.start += np.random.default_rng().uniform()
        self.episodes += 1
        if self.oddity == "new space":
            self.action_space = spaces.Discrete(2, start=1)
        return self._observation() if self.oddity == "old reset" else (self._observation(), {})

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert action in self.action_space
        self.at += 1
        if self.oddity == "old step":
            return self._observation(), 1.0, False, {}  # type: ignore[return-value]
        if self.oddity == "two rewards":
            return self._observation(), np.ones(2), False, False, {}  # type: ignore[return-value]
        if self.oddity == "raises" and self.at == 2:
            raise ZeroDivisionError("the wheel came off")
        reward: Any = float(action)
        if self.oddity == "one reward":
            reward = np.array([reward])
        if self.oddity == "late" and self.at > 40:
            reward += self.episodes
        return self._observation(), reward, self.at >= self.size, False, {"at": self.at}
