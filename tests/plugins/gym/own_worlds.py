"""Small environments with one oddity each, for `python:own_worlds:...` and for registration."""

from __future__ import annotations

import random
import sys
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces


class Flat(BaseException):
    """No `Exception`, and without words."""

    def __str__(self) -> str:
        raise ValueError("no words")


STRANGE = {"closes": GeneratorExit(), "goes flat": Flat()}


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
        if self.oddity in STRANGE and self.at == 2:
            raise STRANGE[self.oddity]
        reward: Any = float(action)
        if self.oddity == "one reward":
            reward = np.array([reward])
        if self.oddity == "late" and self.at > 40:
            reward += self.episodes
        return self._observation(), reward, self.at >= self.size, False, {"at": self.at}


class Door(Walk):
    """Ends when both actions were tried: one that is repeated never ends it."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.tried = {action} if self.at == 0 else {action, *self.tried}
        observation, reward, _, cut, info = super().step(action)
        return observation, reward, len(self.tried) == 2, cut, info


class Dice(Walk):
    """Walks by the numbers of a die; `die` says which, and `seeded` whether reset seeds it."""

    def __init__(self, die: str = "own", seeded: bool = True) -> None:
        super().__init__(size=30)
        self.die, self.seeded = die, seeded

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        if self.seeded:
            random.seed(seed)
            np.random.seed(seed % 2**32 if seed is not None else None)  # noqa: NPY002
        return super().reset(seed=seed)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, _, over, cut, info = super().step(action)
        return observation, float(self._number()), over, cut, info

    def _number(self) -> float:
        if self.die == "space":
            return float(self.action_space.sample())
        if self.die == "numpy":
            return np.random.rand()  # noqa: NPY002
        if self.die == "python":
            return random.random()
        return self.np_random.random()


class Born(Walk):
    """Is born with a random gift that no seed decides."""

    def __init__(self) -> None:
        super().__init__()
        self.gift = float(np.random.default_rng().random())

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, over, cut, info = super().step(action)
        return observation, reward + self.gift, over, cut, info


class Single(Walk):
    """Can exist only once at a time."""

    alive = 0

    def __init__(self) -> None:
        super().__init__()
        if Single.alive:
            raise OSError("the port is taken")
        Single.alive += 1

    def close(self) -> None:
        Single.alive -= 1


class Unfinished(Walk):
    """Learns its observation space at reset."""

    def __init__(self) -> None:
        super().__init__()
        self.observation_space = None  # type: ignore[assignment]


class Stubborn(Walk):
    """Does not want to be closed."""

    def close(self) -> None:
        raise RuntimeError("not now")


class Quitter(Walk):
    """Ends the program in the middle of an episode."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self.at == 1:
            sys.exit(0)
        return super().step(action)


class Twins(Walk):
    """Two parts of the observation with one name."""

    def __init__(self) -> None:
        super().__init__()
        box = spaces.Box(-10, 10, (1,), np.float32)
        self.observation_space = spaces.Dict({"a.b": box, "a": spaces.Dict({"b": box})})
