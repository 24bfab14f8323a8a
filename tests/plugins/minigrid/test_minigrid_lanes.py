"""What lanes promise beyond equality: views, pictures, faults, tasks that are not the package's."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import register
from minigrid.core.grid import Grid
from minigrid.core.world_object import Ball, Goal, Wall
from minigrid.envs import EmptyEnv
from minigrid.minigrid_env import MiniGridEnv
from minigrid_plain import make_plain, reset_plain

from rpd_core.errors import ComponentError, FitError, LaneError
from rpd_core.plugin.protocols import Opening
from rpd_minigrid.environment import MiniGrid
from rpd_minigrid.lanes import MISSION, MiniGridLanes

LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE = range(6)


def opened(name: str, lanes: int = 2, render: bool = False) -> MiniGridLanes:
    made = MiniGrid(name).open(Opening(lanes, render=render))
    assert isinstance(made, MiniGridLanes)
    return made


def started(name: str, lanes: int = 2, render: bool = False) -> MiniGridLanes:
    made = opened(name, lanes, render)
    made.reset(np.arange(lanes), np.arange(lanes) + 5)
    return made


def act(lanes: MiniGridLanes, *actions: int) -> Any:
    """Take one action after the other in lane 0 and leave the others alone."""
    active = np.zeros(len(lanes.envs), dtype=bool)
    active[0] = True
    for action in actions:
        result = lanes.step(np.full(len(active), action), active)
    return result


def test_lanes_that_were_never_reset_show_zeros() -> None:
    batch = opened("Empty-5x5").observe()
    assert not batch["image"].any()
    assert batch["direction"].tolist() == [0, 0]


def test_rows_belong_to_the_declared_space() -> None:
    lanes = started("DoorKey-8x8")
    batch = lanes.observe()
    for lane in range(2):
        row = {name: part[lane] for name, part in batch.items()}
        assert lanes.facts.observation_space.contains(row)
    assert batch["image"].dtype == batch["direction"].dtype == np.uint8


def test_the_view_cell_gives_place_and_direction() -> None:
    lanes = started("Empty-5x5")
    act(lanes, FORWARD, RIGHT, FORWARD)
    assert lanes.view("cell").tolist() == [[2, 2, 1], [1, 1, 0]]


def test_walking_into_the_goal_earns_what_the_package_pays() -> None:
    lanes = started("Empty-5x5")
    result = act(lanes, FORWARD, FORWARD, RIGHT, FORWARD, FORWARD)
    assert result.terminated.tolist() == [True, False]
    assert result.rewards.tolist() == [1 - 0.9 * (5 / 100), 0.0]


def test_the_environments_own_limit_truncates() -> None:
    lanes = started("Empty-5x5")
    assert not act(lanes, *[LEFT] * 99).truncated.any()
    assert act(lanes, LEFT).truncated.tolist() == [True, False]


def test_a_carried_object_is_seen_moved_and_put_down() -> None:
    lanes = started("Empty-8x8")
    lanes.bases[0].put_obj(Ball("red"), 2, 1)
    lanes.things[0] = None
    lanes._capture(0, lanes.bases[0])
    assert lanes.observe()["image"][0, 3, 5].tolist() == [6, 0, 0]
    act(lanes, PICKUP)
    assert lanes.observe()["image"][0, 3, 5:].tolist() == [[1, 0, 0], [6, 0, 0]]
    act(lanes, FORWARD, DROP)
    assert lanes.observe()["image"][0, 3, 5:].tolist() == [[6, 0, 0], [1, 0, 0]]
    assert lanes.bases[0].grid.get(3, 1).type == "ball"


def test_the_mission_is_a_view_of_characters() -> None:
    lanes = started("Fetch-5x5-N2")
    codes = lanes.view("mission")
    assert codes.shape == (2, MISSION)
    assert codes.dtype == np.uint8
    for lane in range(2):
        assert bytes(codes[lane]).rstrip(b"\0").decode() == lanes.bases[lane].mission


def test_an_unknown_view_is_refused_with_those_on_offer() -> None:
    with pytest.raises(FitError, match="has no view 'ram'; it has cell, mission"):
        opened("Empty-5x5").view("ram")


def test_a_picture_equals_that_of_the_single_environment() -> None:
    lanes = started("DoorKey-6x6", render=True)
    single = make_plain("MiniGrid-DoorKey-6x6-v0", render_mode="rgb_array")
    reset_plain(single, 5)
    for action in (FORWARD, RIGHT, FORWARD, LEFT):
        act(lanes, action)
        single.step(action)
    picture = lanes.render(0)
    assert picture.dtype == np.uint8
    np.testing.assert_array_equal(picture, single.render())


def test_what_ran_in_a_lane_before_does_not_matter() -> None:
    lanes = started("DoorKey-6x6")
    act(lanes, FORWARD, TOGGLE, RIGHT, FORWARD)
    lanes.reset(np.array([0]), np.array([6]))
    batch = lanes.observe()
    np.testing.assert_array_equal(batch["image"][0], batch["image"][1])


def test_a_fault_names_its_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    lanes = started("Fetch-5x5-N2", lanes=3)

    def fail(action: int) -> None:
        raise RuntimeError("the floor gave way")

    monkeypatch.setattr(lanes.envs[1], "step", fail)
    with pytest.raises(LaneError, match="the floor gave way") as caught:
        lanes.step(np.zeros(3, dtype=np.int64), np.ones(3, dtype=bool))
    assert caught.value.lane == 1


class Teleport(Goal):
    """An object whose behaviour the lanes cannot know."""

    def can_overlap(self) -> bool:
        return False

    def toggle(self, env: Any, pos: Any) -> bool:
        env.agent_pos = (2, 3)
        return True


class OddObjects(EmptyEnv):
    def _gen_grid(self, width: int, height: int) -> None:
        super()._gen_grid(width, height)
        self.put_obj(Teleport(), 2, 1)


class Inverted(EmptyEnv):
    """A task with a view of its own."""

    def gen_obs(self) -> dict[str, Any]:
        seen: dict[str, Any] = super().gen_obs()
        return {**seen, "image": 9 - seen["image"]}


class Spectacles(gymnasium.ObservationWrapper[Any, Any, Any]):
    def observation(self, observation: Any) -> Any:
        return {**observation, "image": np.flip(observation["image"], axis=0)}


class Unpacking(EmptyEnv):
    """A task that makes a new observation of the package's."""

    def step(self, action: Any) -> Any:
        seen, *rest = super().step(action)
        return {**seen, "image": 9 - seen["image"]}, *rest


class North(EmptyEnv):
    """A task that changes a part of the observation without a look at the rest."""

    def step(self, action: Any) -> Any:
        seen, *rest = super().step(action)
        seen["direction"] = (seen.get("direction", 0) + 1) % 4
        return seen, *rest


class Blinking(EmptyEnv):
    """A task whose objects change their looks."""

    def _gen_grid(self, width: int, height: int) -> None:
        super()._gen_grid(width, height)
        self.ball = Ball("red")
        self.put_obj(self.ball, 2, 2)

    def step(self, action: Any) -> Any:
        self.ball.color = "green" if self.ball.color == "red" else "red"
        return super().step(action)


def put_wall(env: MiniGridEnv) -> None:
    for y in range(1, 4):
        env.grid.set(2, y, Wall())


class Sometimes(EmptyEnv):
    """A task whose walls can be seen through in some episodes."""

    def _gen_grid(self, width: int, height: int) -> None:
        super()._gen_grid(width, height)
        put_wall(self)
        self.see_through_walls = bool(self.np_random.integers(2))


class Glass(Grid):
    """A map whose walls are of glass."""

    def slice(self, *where: int) -> Any:
        part = super().slice(*where)
        part.__class__ = Glass
        return part

    def rotate_left(self) -> Any:
        turned = super().rotate_left()
        turned.__class__ = Glass
        return turned

    def process_vis(self, agent_pos: Any) -> Any:
        return np.ones((self.width, self.height), dtype=bool)


class OwnMap(EmptyEnv):
    """A task with another kind of map."""

    def _gen_grid(self, width: int, height: int) -> None:
        super()._gen_grid(width, height)
        put_wall(self)
        self.see_through_walls = False
        self.grid.__class__ = Glass


class Plain(EmptyEnv):
    """A task of another author that the lanes can follow."""

    def _gen_grid(self, width: int, height: int) -> None:
        super()._gen_grid(width, height)
        self.put_obj(Ball("blue"), 2, 2)

    def _reward(self) -> float:
        return 5.0 + self.step_count


STRANGE: dict[str, Any] = {
    "OddObjects": OddObjects,
    "Inverted": Inverted,
    "Limited": EmptyEnv,
    "Wrapped": lambda **options: Spectacles(EmptyEnv(**options)),
    "Unpacking": Unpacking,
    "North": North,
    "Blinking": Blinking,
    "Sometimes": Sometimes,
    "OwnMap": OwnMap,
    "Plain": Plain,
}


@pytest.fixture
def strange_tasks() -> Any:
    for name, task in STRANGE.items():
        register(f"MiniGrid-{name}-v0", task, max_episode_steps=7 if name == "Limited" else None)
    yield
    for name in STRANGE:
        del gymnasium.registry[f"MiniGrid-{name}-v0"]


@pytest.mark.usefixtures("strange_tasks")
@pytest.mark.parametrize("name", STRANGE)
def test_tasks_that_are_not_the_packages_own_are_still_exact(name: str) -> None:
    lanes, single = started(name), make_plain(f"MiniGrid-{name}-v0", disable_env_checker=True)
    for seed in range(5):
        lanes.reset(np.array([0]), np.array([seed]))
        expected, chance = reset_plain(single, seed), np.random.default_rng(seed)
        for _ in range(7):
            np.testing.assert_array_equal(lanes.observe()["image"][0], expected["image"])
            assert lanes.observe()["direction"][0] == expected["direction"]
            assert tuple(lanes.view("cell")[0, :2]) == tuple(single.unwrapped.agent_pos)
            action = int(chance.choice([RIGHT, FORWARD, TOGGLE]))
            result = act(lanes, action)
            expected, reward, over, cut, _ = single.step(action)
            found = result.rewards[0], result.terminated[0], result.truncated[0]
            assert found == (reward, over, cut)
        assert cut == (name == "Limited")


@pytest.mark.usefixtures("strange_tasks")
def test_a_task_of_another_author_that_only_makes_maps_is_as_fast_as_the_packages() -> None:
    assert started("Plain").quick_moves
    assert not started("Blinking").quick_views


class NeedsMore(EmptyEnv):
    def _gen_grid(self, width: int, height: int) -> None:
        raise gymnasium.error.DependencyNotInstalled('run `pip install "minigrid[wfc]"`')


def test_a_task_that_lacks_a_package_says_what_to_install() -> None:
    register("MiniGrid-NeedsMore-v0", NeedsMore)
    try:
        with pytest.raises(ComponentError, match=r'NeedsMore-v0 lacks .*install "minigrid\[wfc\]"'):
            started("NeedsMore")
    finally:
        del gymnasium.registry["MiniGrid-NeedsMore-v0"]
