"""Work for a worker: what is played, who acts, and what is said when an episode fails."""

from __future__ import annotations

import re
from typing import Any

import gymnasium
import numpy as np
import pytest

from rpd_core.chance import Phase, episode_keys
from rpd_core.config.resolve import resolve
from rpd_core.config.settings import Request
from rpd_core.errors import EpisodeError
from rpd_core.play.chunks import (
    Evaluation,
    EvaluationChunk,
    SuiteChunk,
    perform_evaluations,
    perform_suite,
)
from rpd_core.play.deciders import Coin
from rpd_core.play.loop import Plan
from rpd_core.play.recipe import recipe_of
from rpd_core.play.replay import play_again
from rpd_core.plugin.registry import Registry


class Fragile(gymnasium.Env[Any, Any]):
    """Breaks when the sum of actions, weighted by step, reaches what the seed drew."""

    observation_space = gymnasium.spaces.Discrete(50)
    action_space = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.at, self.strain, self.limit = 0, 0, int(self.np_random.integers(60, 90))
        return self.at, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.at += 1
        self.strain += int(action) * self.at
        if self.strain >= self.limit:
            raise RuntimeError("it broke")
        return self.at, 1.0, self.at == 12, False, {}


def alternate(observations: Any) -> Any:
    return np.asarray(observations) % 3


def make() -> Any:
    return gymnasium.wrappers.TimeLimit(Fragile(), 20)


def test_a_failed_episode_breaks_again_when_it_is_played_alone(registry: Registry) -> None:
    request = Request(make, alternate, episodes=200, condition="length>=9", lanes=7)
    recipe = recipe_of(resolve(request, registry))
    with pytest.raises(EpisodeError) as caught:
        perform_suite(SuiteChunk(recipe, 0, 0.2, 0, 199))
    message, index = str(caught.value), caught.value.position
    assert index is not None
    assert f"of episode {index} (environment seed " in message
    assert message.endswith("), a mutant")
    again = Plan(np.array([index]), episode_keys(0, Phase.SUITE, np.array([index])))
    with pytest.raises(EpisodeError) as repeated:
        play_again(recipe, again, Coin(again, 0.2))
    assert f"{repeated.value}, a mutant" == message


def test_a_failed_evaluation_says_who_acted(registry: Registry) -> None:
    recipe = recipe_of(resolve(Request(make, alternate, episodes=200, lanes=7), registry))
    keys = np.arange(5, dtype=np.uint64)
    asked = Evaluation(recipe, 0, Phase.TEST, 0, (keys,), ((0, 5),), True, 30)
    with pytest.raises(EpisodeError, match=r"\), the policy as it is$"):
        perform_evaluations([EvaluationChunk(asked, 0, 29)])


def test_a_failure_among_shared_lanes_says_who_acted_in_that_job(registry: Registry) -> None:
    recipe = recipe_of(resolve(Request(make, alternate, episodes=200, lanes=7), registry))
    keys = np.arange(5, dtype=np.uint64)
    still = Evaluation(recipe, 0, Phase.TEST, 0, (keys,), ((0, 0),), False, 30)
    as_it_is = Evaluation(recipe, 0, Phase.TEST, 0, (keys,), ((0, 0), (0, 5)), True, 30)
    with pytest.raises(EpisodeError) as caught:
        perform_evaluations([EvaluationChunk(still, 0, 9), EvaluationChunk(as_it_is, 30, 59)])
    assert re.search(r"of episode [345]\d \(.*\), the policy as it is$", str(caught.value))


def test_an_evaluation_says_who_acts() -> None:
    keys = np.arange(5, dtype=np.uint64)

    def actor(kept: int, unranked_kept: bool) -> str:
        points = ((0, 1), (0, kept))
        asked = Evaluation(None, 0, Phase.TEST, 0, (keys,), points, unranked_kept, 10)  # type: ignore[arg-type]
        return asked.actor(13)

    assert actor(2, False) == "the policy in 2 of 5 states"
    assert actor(0, False) == "the default action everywhere"
    assert actor(5, True) == "the policy as it is"
    reference = Evaluation(None, 0, Phase.REFERENCE, 0, (keys,), ((0, 5),), True, 10)  # type: ignore[arg-type]
    assert reference.actor(3).startswith("random play, which gives the reference")
