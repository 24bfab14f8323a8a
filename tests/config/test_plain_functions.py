"""A function of one's own stands in for a component, in every place."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import worlds
from gymnasium import spaces

from rpd_core.chance import Draws
from rpd_core.config.resolve import Setup, resolve
from rpd_core.config.settings import Request
from rpd_core.plugin.chain import opened
from rpd_core.plugin.protocols import (
    Episodes,
    Evidence,
    Facts,
    Moment,
    Opening,
    PolicyInput,
    Spectrum,
)
from rpd_core.plugin.registry import Registry

FACTS = Facts(spaces.Box(-9, 9, (1,)), spaces.Discrete(3), 2)
DRAWS = Draws(np.arange(2, dtype=np.uint64), np.zeros(2, dtype=np.int64))
SEEN = np.array([[3.0], [-4.0]])
STARTS = np.array([True, True])


class Clock(gymnasium.Env[Any, Any]):
    """Counts to five."""

    observation_space = spaces.Box(0, 5, (1,))
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.now = 0
        return np.array([0.0], dtype=np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.now += 1
        return np.array([self.now], dtype=np.float32), 1.0, self.now == 5, False, {}


def make_clock() -> gymnasium.Env[Any, Any]:
    return gymnasium.wrappers.TimeLimit(Clock(), 9)


def goes(observations: Any) -> Any:
    return np.ones(len(observations), dtype=int)


def sign(observations: Any) -> Any:
    return np.sign(observations)


def waits(moment: Moment) -> Any:
    return np.zeros(len(moment.starts), dtype=int)


def failures(evidence: Evidence) -> Any:
    return evidence.spectrum.mutated_failed


def long_enough(episodes: Episodes) -> Any:
    return (episodes.length >= 3).astype(float)


def resolved(registry: Registry, **given: Any) -> Setup:
    return resolve(Request(**{"env": worlds.Corridor(), "policy": goes, **given}), registry)


def test_a_factory_of_environments_is_an_environment(registry: Registry) -> None:
    setup = resolved(registry, env=make_clock)
    lanes = setup.environment.open(Opening(2))
    lanes.reset(np.arange(2), np.arange(2))
    assert lanes.observe().tolist() == [[0.0], [0.0]]
    lanes.close()
    assert setup.config.env == f"python:{__name__}:make_clock"


def test_a_function_of_observations_is_a_policy(registry: Registry) -> None:
    setup = resolved(registry)
    seen = PolicyInput(SEEN, {}, STARTS, None, DRAWS, np.zeros(2), np.zeros(2))
    assert setup.policy.load(FACTS)(seen).actions.tolist() == [1, 1]
    assert setup.config.policy == f"python:{__name__}:goes"


def test_a_function_of_observations_is_an_abstraction(registry: Registry) -> None:
    setup = resolved(registry, abstraction=(sign,))
    assert opened(setup.abstraction, FACTS)(SEEN, {}).tolist() == [[1.0], [-1.0]]
    assert setup.config.settings.abstraction == (f"python:{__name__}:sign",)


def test_a_function_of_a_moment_is_a_default_action(registry: Registry) -> None:
    setup = resolved(registry, default_action=waits)
    moment = Moment(SEEN, {}, np.ones(2), np.zeros(2), STARTS, DRAWS, DRAWS)
    assert np.asarray(setup.default_action.open(FACTS)(moment)).tolist() == [0, 0]
    assert setup.config.settings.default_action == f"python:{__name__}:waits"


def test_a_function_of_evidence_is_a_measure(registry: Registry) -> None:
    setup = resolved(registry, measures=(failures,))
    cells = [np.array([float(n), n + 1.0]) for n in range(4)]
    evidence = Evidence(Spectrum(*cells), np.arange(2, dtype=np.uint64))
    name = f"python:{__name__}:failures"
    assert list(setup.measures)[-1] == name
    assert np.asarray(setup.measures[name](evidence)).tolist() == [0.0, 1.0]


def test_a_function_of_episodes_is_a_condition(registry: Registry) -> None:
    setup = resolved(registry, condition=long_enough)
    index = np.arange(3)
    episodes = Episodes(index, index, np.zeros(3), np.array([1, 3, 5]), index * 0, index * 0, index)
    assert setup.condition(episodes).tolist() == [0.0, 1.0, 1.0]
    assert setup.config.settings.condition == f"python:{__name__}:long_enough"


def test_a_run_of_plain_functions_is_live_and_names_them(registry: Registry) -> None:
    setup = resolved(registry, env=make_clock)
    assert setup.config.live
    components = setup.config.components
    assert f"{__name__}.make_clock" in components["env"]["parameters"].values()
    assert components["policy"]["parameters"] == {"function": f"{__name__}.goes"}
