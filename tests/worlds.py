"""Small worlds whose truth is computed exactly, for tests on real components.

`Corridor` has fifteen states and two actions. The policy goes (action 1), the default action
drifts (action 0). Some drifts lead back, so that mutated states form loops out of which only the
step cap leads; which states are visited depends on the coins of earlier ones. An episode is fixed
by its start and the coins, so `enumerate_corridor` plays every assignment of coins and gives the
exact table.

`Road` is a line on which the policy does more than it must: it brakes from 2 to 8, and only who
does not brake from 4 to 6 leaves the road.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rpd_core.chance import canonical, state_keys
from rpd_core.plugin.protocols import (
    Choice,
    DefaultActor,
    Facts,
    Lanes,
    Moment,
    Opening,
    Policy,
    PolicyInput,
    StepResult,
    Task,
)

Array = NDArray[Any]

PIT, GOAL = 15, 16
GO = (2, 2, 3, 5, 5, 7, 9, 14, 10, 11, 12, 12, GOAL, GOAL, 10)
"""Where going leads from each state."""
DRIFT = (1, 0, 4, 6, 2, 8, 3, PIT, 5, 9, 13, PIT, 10, 13, 10)
"""Where drifting leads; 0-1, 2-4, 3-6, 5-8, 9 and 13 can become loops."""
STATES = len(GO)
IRRELEVANT = 14
"""Going and drifting lead to the same place here."""
PRIZES = {3: 0.5, 10: 1.0}
"""Reward of going from these states."""
GOAL_REWARD = 2.0
MAX_STEPS = 24
CONDITION = "return>=2.5"
MUTATION_RATE = 0.3


def rewards_of(states: Array, actions: Array, following: Array) -> Array:
    """Return the rewards of a batch of steps."""
    rewards = np.where(following == GOAL, GOAL_REWARD, 0.0)
    for state, prize in PRIZES.items():
        rewards = rewards + np.where((states == state) & (actions == 1), prize, 0.0)
    return rewards


@dataclass(frozen=True)
class Corridor:
    """The recipe; the last bit of an episode's seed chooses between the starts 0 and 1."""

    def task(self) -> Task:
        return Task(
            abstraction=("identity",),
            default_action="constant:0",
            condition=CONDITION,
            mutation_rate=MUTATION_RATE,
            episodes=400,
            test_episodes=20,
            confirm_episodes=60,
            max_steps=MAX_STEPS,
            reference=0.0,
            lanes=64,
            chunk=100,
        )

    def open(self, opening: Opening) -> Lanes:
        return CorridorLanes(opening.lanes)


class CorridorLanes:
    """All lanes as one array of states."""

    def __init__(self, lanes: int) -> None:
        self.states = np.zeros((lanes, 1), dtype=np.int64)
        self.facts = Facts(
            observation_space=spaces.Box(0, GOAL, (1,), np.int64),
            action_space=spaces.Discrete(2),
            lanes=lanes,
            no_op=0,
            action_names=("drift", "go"),
            description="Corridor",
        )

    def reset(self, lanes: Array, seeds: Array) -> None:
        self.states[lanes, 0] = seeds & 1

    def observe(self) -> Array:
        return self.states.copy()

    def view(self, name: str) -> Array:
        raise AssertionError(f"there is no view {name!r}")

    def step(self, actions: Array, active: NDArray[np.bool_]) -> StepResult:
        states = np.minimum(self.states[:, 0], STATES - 1)
        following = np.where(actions == 1, np.array(GO)[states], np.array(DRIFT)[states])
        self.states[active, 0] = following[active]
        over = following >= PIT
        return StepResult(rewards_of(states, actions, following), over, np.zeros_like(over))

    def info(self, lane: int) -> Mapping[str, Any]:
        return {"at_goal": bool(self.states[lane, 0] == GOAL), "name": "corridor"}

    def render(self, lane: int) -> Array:
        return np.zeros((2, 2, 3), dtype=np.uint8)

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class Goes:
    """The policy of the corridor: it always goes."""

    action: int = 1
    """What it does."""

    def load(self, facts: Facts) -> Policy:
        def decide(seen: PolicyInput) -> Choice:
            return Choice(np.full(facts.lanes, self.action))

        return decide


@dataclass(frozen=True)
class Minds:
    """Always goes, and says how much that is worth more than drifting: the number of the state."""

    def load(self, facts: Facts) -> Policy:
        def decide(seen: PolicyInput) -> Choice:
            worth = np.asarray(seen.observations)[:, 0] * [[0.0], [1.0]]
            return Choice(np.ones(facts.lanes, dtype=np.int64), action_values=worth.T)

        return decide


@dataclass(frozen=True)
class Drifts:
    """The default action of the corridor."""

    def open(self, facts: Facts) -> DefaultActor:
        def drift(moment: Moment) -> Array:
            return np.zeros(facts.lanes, dtype=np.int64)

        return drift


@dataclass(frozen=True)
class Itself:
    """The observation as the abstract state."""

    def __call__(self, values: Array, views: Mapping[str, Array]) -> Array:
        return values


def corridor_keys() -> Array:
    """Return the key of each of the fifteen states."""
    return state_keys(canonical(np.arange(STATES, dtype=np.int64)[:, None]))


@dataclass(frozen=True)
class ExactTable:
    """Per state and episode: probabilities of being visited, by fate and outcome."""

    mutated_failed: Array
    mutated_passed: Array
    kept_failed: Array
    kept_passed: Array

    @property
    def effect(self) -> Array:
        """Risk when mutated minus risk when kept, given the state is visited."""
        mutated = self.mutated_failed / (self.mutated_failed + self.mutated_passed)
        return mutated - self.kept_failed / (self.kept_failed + self.kept_passed)


def play_fates(mutated: Array, starts: Array) -> tuple[Array, Array]:
    """Play one episode per row of fates; return the returns and which states were visited."""
    count = len(starts)
    rows, here = np.arange(count), starts.copy()
    returns, visited = np.zeros(count), np.zeros((count, STATES), dtype=bool)
    for _ in range(MAX_STEPS):
        running = here < PIT
        states = np.minimum(here, STATES - 1)
        visited[rows[running], states[running]] = True
        drifts = mutated[rows, states]
        following = np.where(drifts, np.array(DRIFT)[states], np.array(GO)[states])
        rewards = rewards_of(states, ~drifts, following)
        returns += np.where(running, rewards, 0.0)
        here = np.where(running, following, here)
    return returns, visited


def enumerate_corridor(rate: float = MUTATION_RATE, bound: float = 2.5) -> ExactTable:
    """Play all assignments of coins from both starts and weigh them by their probability."""
    codes = np.arange(2 ** (STATES + 1))
    mutated = (codes[:, None] >> np.arange(STATES)) & 1 == 1
    returns, visited = play_fates(mutated, codes >> STATES)
    chance = 0.5 * np.where(mutated, rate, 1 - rate).prod(axis=1)
    failed = returns < bound

    def weigh(fate: Array, outcome: Array) -> Array:
        return ((fate & visited & outcome[:, None]) * chance[:, None]).sum(axis=0)

    return ExactTable(
        weigh(mutated, failed),
        weigh(mutated, ~failed),
        weigh(~mutated, failed),
        weigh(~mutated, ~failed),
    )


@dataclass(frozen=True)
class Road:
    """From 0 to 10 in steps of 0.25, from a start that the seed draws; 1 for arriving.

    The second entry of an observation is noise of the seed and the step.
    """

    def task(self) -> Task:
        return Task(
            ("rules",), "constant:0", "return>=1", 0.3, 400, 20, 60, reference=0.0, lanes=64
        )

    def open(self, opening: Opening) -> Lanes:
        return RoadLanes(opening.lanes)


class RoadLanes:
    """All lanes as one array of places."""

    def __init__(self, lanes: int) -> None:
        self.rows = np.zeros((lanes, 2))
        self.facts = Facts(
            observation_space=spaces.Box(0, 11, (2,), np.float64),
            action_space=spaces.Discrete(2),
            lanes=lanes,
            action_names=("roll", "brake"),
            entry_names=("place", "noise"),
            description="Road",
        )

    def reset(self, lanes: Array, seeds: Array) -> None:
        self.rows[lanes, 0] = 0.25 * ((seeds % 1000) / 1000)
        self.rows[lanes, 1] = (seeds // 1000 % 1000) / 1000

    def observe(self) -> Array:
        return self.rows.copy()

    def view(self, name: str) -> Array:
        raise AssertionError(f"there is no view {name!r}")

    def step(self, actions: Array, active: NDArray[np.bool_]) -> StepResult:
        place = self.rows[:, 0]
        fallen = (place >= 4) & (place < 6) & (actions == 0)
        self.rows[active] += (0.25, 0)
        self.rows[active, 1] = (self.rows[active, 1] * 7.3) % 1
        arrived = self.rows[:, 0] >= 10
        return StepResult((arrived & ~fallen) * 1.0, fallen | arrived, np.zeros_like(arrived))

    def info(self, lane: int) -> Mapping[str, Any]:
        return {}

    def render(self, lane: int) -> Array:
        return np.zeros((2, 2, 3), dtype=np.uint8)

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class Brakes:
    """The policy of the road."""

    def load(self, facts: Facts) -> Policy:
        def decide(seen: PolicyInput) -> Choice:
            place = np.asarray(seen.observations)[:, 0]
            return Choice(((place >= 2) & (place < 8)).astype(np.int64))

        return decide
