"""An episode that cannot be finished can be played again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import rpd_core as rpd
from rpd_core.errors import EpisodeError
from rpd_core.play.chance import Phase
from rpd_core.play.jobs import Evaluation


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


def test_a_failed_episode_breaks_again_in_the_plain_environment(tmp_path: Path) -> None:
    with pytest.raises(EpisodeError) as caught:
        rpd.run(make, alternate, out=tmp_path, episodes=200, condition="length>=9", lanes=7)
    message = str(caught.value)
    kept = tmp_path / "failed-episode.json"
    assert message.endswith(f"; its actions are in {kept}")
    failed = json.loads(kept.read_text())
    assert message.startswith(failed["error"])
    assert f"of episode {failed['index']} (environment seed {failed['seed']})" in message
    plain = Fragile()
    plain.reset(seed=failed["seed"])
    for action in failed["actions"][:-1]:
        plain.step(action)
    with pytest.raises(RuntimeError, match="it broke"):
        plain.step(failed["actions"][-1])


def test_an_evaluation_says_who_acts() -> None:
    keys = np.arange(5, dtype=np.uint64)

    def actor(kept: int, unranked_kept: bool) -> str:
        points = ((0, 1), (0, kept))
        asked = Evaluation(None, 0, Phase.TEST, 0, (keys,), points, unranked_kept, 10)  # type: ignore[arg-type]
        return asked.actor(13)

    assert actor(2, False) == "the policy in 2 of 5 states"
    assert actor(0, False) == "the default action everywhere"
    assert actor(5, True) == "the policy as it is"
