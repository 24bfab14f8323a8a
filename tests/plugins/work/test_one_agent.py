"""The how-to for multi-agent environments: its class plays one agent, the others keep theirs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

import rpd

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "use-rpd-at-work.md"


def shown(name: str = "OneAgent") -> Any:
    """Return a class that the page shows."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    for block in blocks:
        if "class One" in block:
            exec(block, names)
    return names[name]


class Lift:
    """A parallel environment as PettingZoo writes them: two must push the same way at place 3."""

    possible_agents = agents = ["left", "right"]  # noqa: RUF012

    def observation_space(self, agent: str) -> Any:
        return spaces.Discrete(8)

    def action_space(self, agent: str) -> Any:
        return spaces.Discrete(2)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.at = int(np.random.default_rng(seed).integers(2))
        return dict.fromkeys(self.agents, self.at), {name: {} for name in self.agents}

    def step(self, actions: Any) -> Any:
        good = self.at != 3 or actions["left"] == actions["right"]
        self.at += 1
        parts = self.at, float(good), not good, self.at >= 6
        told = [dict.fromkeys(self.agents, part) for part in parts]
        return *told, {name: {} for name in self.agents}


def test_one_agent_is_analysed_while_the_other_keeps_its_policy(tmp_path: Path) -> None:
    kind = shown()

    def make() -> Any:
        return kind(Lift(), "left", {"right": lambda seen: int(seen == 3)})

    def act(seen: Any) -> Any:
        return (seen == 3).astype(np.int64)

    run = rpd.run(
        make, act, out=tmp_path / "run", episodes=200, default_action="constant:0",
        confirm_episodes=50, progress=False, finish=(), note=lambda text: None,
    )  # fmt: skip
    assert [one.state for one in run.decisions] == ["3"]
    assert run.policy().met  # type: ignore[union-attr]


@pytest.mark.extras
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_environment_of_pettingzoo_itself_plays() -> None:
    classic = pytest.importorskip("pettingzoo.classic")
    env = shown()(classic.rps_v2.parallel_env(), "player_0", {"player_1": lambda seen: 2})
    env.reset(seed=0)
    rewards = [env.step(action)[1] for action in (0, 1, 2)]
    assert rewards == [1, -1, 0]  # rock, paper and scissors against scissors


class Turns:
    """A turn-based environment as PettingZoo writes them: add 1 or 2 each, whoever says 7 wins."""

    names = "first", "second"

    def observation_space(self, agent: str) -> Any:
        return spaces.Discrete(10)

    def action_space(self, agent: str) -> Any:
        return spaces.Discrete(2)

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.sum = int(np.random.default_rng(seed).integers(2))
        self.agent_selection, self.won = self.names[0], ""

    def step(self, action: int | None) -> None:
        if action is not None:
            self.sum += 1 + action
            self.won = self.agent_selection if self.sum >= 7 else ""
        self.agent_selection = self.names[self.agent_selection == self.names[0]]

    def last(self) -> Any:
        mine = self.won == self.agent_selection
        return self.sum, (1.0 if mine else -1.0) if self.won else 0.0, bool(self.won), False, {}


def wins(seen: Any) -> Any:
    """Say 1, 4 or 7 where that can be done."""
    return np.asarray(seen) % 3 == 2


def test_one_agent_of_a_turn_based_environment_is_analysed(tmp_path: Path) -> None:
    kind = shown("OneTurn")

    def make() -> Any:
        return kind(Turns(), "first", {"second": lambda seen: int(seen % 3 == 0)})

    run = rpd.run(
        make, lambda seen: wins(seen).astype(np.int64), out=tmp_path / "run", episodes=200,
        default_action="constant:0", confirm_episodes=50, progress=False, finish=(),
        note=lambda text: None,
    )  # fmt: skip
    assert run.policy().met  # type: ignore[union-attr]


@pytest.mark.extras
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_turn_based_environment_of_pettingzoo_itself_plays() -> None:
    classic = pytest.importorskip("pettingzoo.classic")
    env = shown("OneTurn")(classic.connect_four_v3.env(), "player_0", {"player_1": lambda seen: 0})
    env.reset(seed=0)
    told = [env.step(3)[1:3] for _ in range(4)]
    assert told == [(0, False)] * 3 + [(1, True)]
    lost = shown("OneTurn")(classic.connect_four_v3.env(), "player_0", {"player_1": lambda seen: 0})
    lost.reset(seed=0)
    assert [lost.step(action)[1:3] for action in (1, 2, 4, 5)][-1] == (-1, True)
