"""A world that does as it is told, for tests of the loop: positions on a line, faults on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rpd_core.chance import Phase, episode_keys
from rpd_core.errors import LaneError
from rpd_core.play.loop import Plan, Player
from rpd_core.play.recipe import Recipe
from rpd_core.plugin.protocols import (
    Choice,
    DefaultActor,
    Facts,
    Lanes,
    Opening,
    Policy,
    PolicyInput,
    StepResult,
    Task,
)

Array = NDArray[Any]


@dataclass(frozen=True)
class Line:
    """Action 1 goes right, 2 goes left, 0 stays; the reward is the action's number."""

    space: Any = field(default_factory=lambda: spaces.Discrete(3))
    terminate_at: int = 10**9
    """Number of steps after which the environment's rules end an episode."""
    truncate_at: int = 10**9
    """Number of steps after which its time limit does."""
    reward: Callable[[int], float] | None = None
    """Reward of a step by its number; None: the sum of the action."""
    raise_in: str = ""
    """`reset`, `step` or `batch`: where the environment fails, from the third step on."""
    no_op: Any = None
    log: list[tuple[int, Any]] = field(default_factory=list)
    """(seed, action) of every step taken."""

    def task(self) -> Task:
        return Task(("identity",), "repeat", "return>=1", 0.3, 50, 5, 6, reference=0.0, lanes=4)

    def open(self, opening: Opening) -> Lanes:
        return LineLanes(self, opening.lanes)


class LineLanes:
    """Position and number of steps of each lane."""

    def __init__(self, line: Line, lanes: int) -> None:
        self.line = line
        self.cells = np.zeros((lanes, 1))
        self.steps = np.zeros(lanes, dtype=int)
        self.seeds = np.full(lanes, -1)
        self.facts = Facts(
            spaces.Box(-np.inf, np.inf, (1,)),
            line.space,
            lanes,
            no_op=line.no_op,
            description="Line",
        )

    def reset(self, lanes: Array, seeds: Array) -> None:
        if self.line.raise_in == "reset":
            raise LaneError(int(lanes[-1]), RuntimeError("no power"))
        self.cells[lanes], self.steps[lanes], self.seeds[lanes] = 0.0, 0, seeds

    def observe(self) -> Array:
        return self.cells.copy()

    def view(self, name: str) -> Array:
        raise AssertionError("there are no views")

    def step(self, actions: Array, active: NDArray[np.bool_]) -> StepResult:
        if self.line.raise_in == "batch" and self.steps.max() >= 2:
            raise RuntimeError("all broken")
        rewards = np.full(len(active), np.nan)
        over, cut = np.ones(len(active), dtype=bool), np.ones(len(active), dtype=bool)
        for lane in np.flatnonzero(active).tolist():
            if self.line.raise_in == "step" and self.steps[lane] >= 2:
                raise LaneError(lane, RuntimeError("motor\nstuck"))
            self.line.log.append((int(self.seeds[lane]), np.array(actions[lane]).tolist()))
            self.cells[lane] += {1: 1, 2: -1}.get(int(np.ravel(actions[lane])[0]), 0)
            told = self.line.reward
            rewards[lane] = told(int(self.steps[lane])) if told else np.sum(actions[lane])
            self.steps[lane] += 1
            over[lane] = self.steps[lane] >= self.line.terminate_at
            cut[lane] = self.steps[lane] >= self.line.truncate_at
        return StepResult(rewards, over, cut)

    def info(self, lane: int) -> Mapping[str, Any]:
        left_out = {"text": "x", "many": np.ones(3), "ragged": [[1, 2], [3]], "none": None}
        return {"steps": np.int64(self.steps[lane]), "ok": True, **left_out}

    def render(self, lane: int) -> Array:
        return np.zeros((2, 2, 3), dtype=np.uint8)

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class Does:
    """A policy made of a function; also remembers every input it saw."""

    function: Callable[[PolicyInput], Any]
    seen: list[PolicyInput] = field(default_factory=list)

    def load(self, facts: Facts) -> Policy:
        def decide(seen: PolicyInput) -> Choice:
            self.seen.append(seen)
            answer = self.function(seen)
            return answer if isinstance(answer, Choice) else Choice(answer)

        return decide


@dataclass(frozen=True)
class Gives:
    """A default action made of a function."""

    function: Callable[[Any], Any]

    def open(self, facts: Facts) -> DefaultActor:
        return self.function


@dataclass(frozen=True)
class Cell:
    """The position as the abstract state."""

    def __call__(self, values: Array, views: Mapping[str, Array]) -> Array:
        return values


def always(action: int) -> Callable[[Any], Array]:
    """Return a function that acts the same way in every lane."""
    return lambda seen: np.full(len(seen.starts), action)


def by_step(actions: list[int]) -> Callable[[PolicyInput], Array]:
    """Return a policy that reads its actions from a list, by the number of the step."""
    return lambda seen: np.array(actions)[seen.draws.within % len(actions)]


def player(line: Line, policy: Any, default: Any, lanes: int = 1, max_steps: int = 6) -> Player:
    """Open a line with a policy (function or loader) and a default action."""
    policy = policy if hasattr(policy, "load") else Does(policy)
    default = default if hasattr(default, "open") else Gives(default)
    return Player(Recipe(line, policy, Cell(), default, lanes, max_steps))


def plan(episodes: int, first: int = 0, seed: int = 0) -> Plan:
    """Return a plan of suite episodes."""
    index = np.arange(first, first + episodes)
    return Plan(index, episode_keys(seed, Phase.SUITE, index))


def kept(keys: Array, position: Array) -> Array:
    """Keep the policy everywhere."""
    return np.ones(len(keys), dtype=bool)


def mutated(keys: Array, position: Array) -> Array:
    """Act by default everywhere."""
    return np.zeros(len(keys), dtype=bool)


def pattern(fates: str) -> Callable[[Array, Array], Array]:
    """Keep at the steps marked K of a single lane's episode, act by default at those marked D."""
    calls = iter(fates * 100)
    return lambda keys, position: np.full(len(keys), next(calls) == "K")
