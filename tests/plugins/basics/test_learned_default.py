"""A default action that learns: stored with the run, taken up again, and exported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rpd
from rpd_core.results.replay import stored_setup

TEXT = """
import gymnasium
import numpy as np
from gymnasium import spaces


class Ledge(gymnasium.Env):
    \"\"\"Ten steps; stays on the ledge where the push is near 0.5, at place 5 near -0.5.\"\"\"

    observation_space = spaces.Box(0, 20, (1,), np.float32)
    action_space = spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = int(self.np_random.integers(3))
        return np.array([self.at], np.float32), {}

    def step(self, action):
        wanted = -0.5 if self.at == 5 else 0.5
        good = abs(float(action[0]) - wanted) < 0.3
        self.at += 1
        return np.array([self.at], np.float32), float(good), not good, self.at >= 10, {}


def act(seen):
    return np.where(seen == 5, -0.5, 0.5).astype(np.float32)
"""


def test_the_mean_action_is_learned_once_and_travels(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "ledge_world.py").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    env, policy = "python:ledge_world:Ledge", "python:ledge_world:act"
    how: Any = {"progress": False, "finish": (), "note": lambda text: None}
    run = rpd.run(
        env, policy, out="run", episodes=200, abstraction="identity", default_action="mean",
        confirm_episodes=60, **how,
    )  # fmt: skip
    assert run.setup is not None
    learned = run.setup.default_action.action  # type: ignore[attr-defined]
    assert 0.36 < learned[0] < 0.40  # 0.5 but for one step of eight to ten
    assert run.directory.read_json("prepared.json")["fitted"] == [None, {"action": [*learned]}]  # type: ignore[index]
    chosen = run.policy()
    assert chosen is not None
    assert (chosen.met, chosen.kept) == (True, 1)  # only at place 5 must the policy decide
    assert [one.state for one in run.decisions] == ["5"]

    restored = stored_setup(rpd.open_run("run"), trust=True)
    assert restored.default_action.action == learned  # type: ignore[attr-defined]
    assert run.replay("suite:3").total_return == run.suite.episodes.total_return[3]
    like = rpd.run(env, policy, like="run", out="again", **how)
    assert like.setup is not None
    assert like.setup.default_action.action == learned  # type: ignore[attr-defined]
