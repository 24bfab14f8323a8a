"""Lanes show and do what the package's single environments show and do, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from minigrid_plain import curious_action, make_plain, playable_ids, random_action, reset_plain

from rpd_core.plugin.protocols import Opening
from rpd_minigrid.environment import MiniGrid
from rpd_minigrid.lanes import MiniGridLanes

LANES = 3
STEPS = 60

Chooser = Callable[[Any, np.random.Generator], int]


class Twin:
    """Lanes and single environments that play the same episodes."""

    def __init__(self, recipe: MiniGrid, name: str, **options: Any) -> None:
        lanes = recipe.open(Opening(LANES))
        assert isinstance(lanes, MiniGridLanes)
        self.lanes, self.name, self.options = lanes, name, options
        self.single = [make_plain(name, **options) for _ in range(LANES)]
        self.expected: list[Any] = [None] * LANES
        self.seed = 0
        for lane in range(LANES):
            self.start(lane)

    def start(self, lane: int) -> None:
        """Begin the next episode in a lane, and in a single environment that ran none before."""
        self.seed += 1
        self.single[lane] = make_plain(self.name, **self.options)
        self.expected[lane] = reset_plain(self.single[lane], self.seed)
        self.lanes.reset(np.array([lane]), np.array([self.seed]))

    def compare(self) -> None:
        batch, cells = self.lanes.observe(), self.lanes.view("cell")
        for lane, expected in enumerate(self.expected):
            np.testing.assert_array_equal(batch["image"][lane], expected["image"])
            assert batch["direction"][lane] == expected["direction"]
            assert tuple(cells[lane, :2]) == tuple(self.single[lane].unwrapped.agent_pos)

    def play(self, choose: Chooser, steps: int) -> None:
        chance = np.random.default_rng(7)
        for _ in range(steps):
            active = chance.random(LANES) < 0.9
            actions = np.array([choose(env, chance) for env in self.single])
            result = self.lanes.step(actions, active)
            ended = []
            for lane in np.flatnonzero(active).tolist():
                self.expected[lane], *rest = self.single[lane].step(int(actions[lane]))
                assert result.rewards[lane] == rest[0]
                assert (result.terminated[lane], result.truncated[lane]) == tuple(rest[1:3])
                if rest[1] or rest[2]:
                    ended.append(lane)
            self.compare()
            for lane in ended:
                self.start(lane)
            self.compare()


@pytest.mark.parametrize("name", playable_ids())
def test_a_registered_task_looks_and_plays_as_in_the_package(name: str) -> None:
    twin = Twin(MiniGrid(name), name)
    assert twin.lanes.quick_views
    twin.compare()
    twin.play(curious_action, STEPS)
    twin.play(random_action, STEPS // 3)


@pytest.mark.parametrize("size", [3, 5, 9, 11])
@pytest.mark.parametrize(
    "name", ["MiniGrid-DoorKey-8x8-v0", "MiniGrid-FourRooms-v0", "MiniGrid-Fetch-8x8-N3-v0"]
)
def test_other_view_sizes_are_equal_too(name: str, size: int) -> None:
    twin = Twin(MiniGrid(name, view=size), name, agent_view_size=size)
    assert twin.lanes.observe()["image"].shape == (LANES, size, size, 3)
    twin.compare()
    twin.play(curious_action, 100)


@pytest.mark.parametrize(("size", "quick"), [(31, True), (33, False), (65, False)])
def test_a_view_too_large_for_the_quick_way_is_the_package_s_own(size: int, quick: bool) -> None:
    name = "MiniGrid-Empty-5x5-v0"
    twin = Twin(MiniGrid(name, view=size), name, agent_view_size=size)
    assert twin.lanes.quick_views is quick
    twin.compare()
    twin.play(curious_action, 3)
