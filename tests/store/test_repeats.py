"""Episodes that come out otherwise when they are played again are said, however late or rarely."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from stores import build, corridor, session_at

import rpd


class Drifts(gymnasium.Env[Any, Any]):
    """Two hundred steps; the last reward grows with every episode that the process has played."""

    observation_space = spaces.Discrete(3)
    action_space = spaces.Discrete(2)
    episodes = 0
    drift = 1.0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.time = 0
        Drifts.episodes += 1
        return 0, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.time += 1
        over = self.time == 200
        reward = float(action) + over * self.drift * Drifts.episodes
        return self.time % 3, reward, over, False, {}


class Repeats(Drifts):
    drift = 0.0


def notes_of(world: type[Drifts], folder: Path) -> list[str]:
    notes: list[str] = []
    rpd.build_suite(
        world, lambda seen: np.ones(len(seen), dtype=int), abstraction="identity",
        default_action="constant:0", mutation_rate=0.3, episodes=200, unmutated_episodes=10,
        out=folder / "run", progress=False, note=notes.append,
    )  # fmt: skip
    return [note for note in notes if "came out otherwise" in note]


@pytest.mark.filterwarnings("ignore")
def test_an_environment_that_differs_only_at_the_end_of_an_episode_is_said(tmp_path: Path) -> None:
    (told,) = notes_of(Drifts, tmp_path)
    assert told.startswith("2 of 2 episodes came out otherwise when played again (episode 0: ")


@pytest.mark.filterwarnings("ignore")
def test_of_one_that_repeats_itself_nothing_is_said(tmp_path: Path) -> None:
    assert notes_of(Repeats, tmp_path) == []


def test_a_finished_suite_is_not_played_again(tmp_path: Path) -> None:
    notes: list[str] = []
    session = session_at(tmp_path, corridor(), note=notes.append)
    build(session)
    session.engine = None  # type: ignore[assignment]
    build(session)
    assert notes == []
