"""Dict and Tuple actions as rows of numbers, through real lanes."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import rpd
from rpd_core.errors import FitError
from rpd_core.plugin.protocols import Opening
from rpd_gym.actions import flat_actions

WHOLE = spaces.Dict(
    {
        "arm": spaces.Discrete(3, start=2),
        "both": spaces.Tuple((spaces.MultiBinary(2), spaces.MultiDiscrete([4, 5]))),
    }
)
MIXED = spaces.Tuple(
    (spaces.Discrete(4), spaces.Box(-2, 2, (2,), np.float32), spaces.Box(0, 9, (1,), np.int16))
)


def test_whole_parts_become_whole_numbers() -> None:
    flat, to_action = flat_actions(WHOLE)
    assert flat == spaces.MultiDiscrete([3, 2, 2, 4, 5], start=[2, 0, 0, 0, 0])
    action = to_action(np.array([4, 1, 0, 3, 2]))
    assert action in WHOLE
    assert action["arm"] == 4
    assert [part.tolist() for part in action["both"]] == [[1, 0], [3, 2]]


def test_mixed_parts_become_floats_and_whole_ones_are_rounded() -> None:
    flat, to_action = flat_actions(MIXED)
    assert (flat.low.tolist(), flat.high.tolist()) == ([0, -2, -2, 0], [3, 2, 2, 9])  # type: ignore[attr-defined]
    action = to_action(np.array([2.6, -1.5, 0.25, 8.7], np.float32))
    assert action in MIXED
    assert (action[0], action[1].tolist(), action[2].tolist()) == (3, [-1.5, 0.25], [9])


def test_a_part_that_is_no_number_is_refused() -> None:
    space = spaces.Dict({"say": spaces.Text(5)})
    with pytest.raises(FitError, match=r"a part of Text.* are not supported"):
        flat_actions(space)


class TwoHands(gymnasium.Env[Any, Any]):
    """Walks on while the left hand pushes and the right hand waves; falls otherwise."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(0, 20, (1,), np.float32)
        self.action_space = spaces.Dict(
            {"left": spaces.Discrete(2), "right": spaces.Box(-1, 1, (1,), np.float32)}
        )

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.at = int(self.np_random.integers(3))
        return np.array([self.at], np.float32), {}

    def step(self, action: Any) -> Any:
        assert action in self.action_space
        good = (action["left"] == self.at % 2) and (action["right"][0] > 0) == (self.at % 3 == 0)
        self.at += 1
        over = not good or self.at >= 12
        return np.array([self.at], np.float32), float(good), over, False, {}


def play_both(seen: Any) -> Any:
    at = seen[:, 0]
    return np.stack([at % 2, np.where(at % 3 == 0, 0.5, -0.5)], axis=1).astype(np.float32)


def test_a_run_with_dict_actions_finds_where_the_policy_decides(tmp_path: Any) -> None:
    lanes = rpd.as_environment(TwoHands()).open(Opening(2))
    lanes.close()
    assert lanes.facts.action_space == spaces.Box(
        np.array([0, -1], np.float32), np.array([1, 1], np.float32)
    )
    run = rpd.run(
        TwoHands, play_both, out=tmp_path / "run", episodes=300, abstraction="identity",
        default_action="zero", confirm_episodes=100, progress=False, finish=(), seed=1,
        note=lambda text: None,
    )  # fmt: skip
    assert run.summary.original.return_mean == 11.08  # of 12 less 0, 1 or 2
    chosen = run.policy()
    assert chosen is not None
    assert chosen.met
