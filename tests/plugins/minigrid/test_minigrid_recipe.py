"""The recipe: ids, settings, the abstraction in words, the policy that ships."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from minigrid_module import as_tensors, load_network

from rpd_core.chance import Phase, episode_keys
from rpd_core.config.resolve import resolve
from rpd_core.config.settings import Request
from rpd_core.errors import FitError, SpecError
from rpd_core.play.entry_names import names_of
from rpd_core.play.loop import Plan, Player
from rpd_core.play.recipe import recipe_of
from rpd_core.plugin.protocols import Facts, Opening
from rpd_core.plugin.registry import installed
from rpd_minigrid.abstraction import MiniGridView
from rpd_minigrid.drawing import COLOUR_VALUES
from rpd_minigrid.environment import MiniGrid
from rpd_minigrid.ids import full_id, known_ids
from rpd_minigrid.network import NetworkPolicy, load_weights
from rpd_minigrid.policy import MiniGridPolicy
from rpd_minigrid.words import COLOURS, KINDS

NEWER = "MiniGrid-MultiRoom-N4-S5-v1" in known_ids()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("MiniGrid-Empty-16x16-v0", "MiniGrid-Empty-16x16-v0"),
        ("Empty-16x16", "MiniGrid-Empty-16x16-v0"),
        ("empty-16x16-v0", "MiniGrid-Empty-16x16-v0"),
        ("MultiRoom-N4-S5", f"MiniGrid-MultiRoom-N4-S5-v{int(NEWER)}"),
        ("MultiRoom-N4-S5-v0", "MiniGrid-MultiRoom-N4-S5-v0"),
        ("KeyCorridorS3R1", "MiniGrid-KeyCorridorS3R1-v0"),
        ("BabyAI-KeyCorridorS3R1", "BabyAI-KeyCorridorS3R1-v0"),
        ("GoToRedBall", "BabyAI-GoToRedBall-v0"),
    ],
)
def test_full_and_short_ids_are_found(typed: str, meant: str) -> None:
    assert full_id(typed) == meant


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("MiniGrid-Empty-16x17-v0", "MiniGrid-Empty-16x16-v0"),
        ("SimpelCrossingS9N1", "SimpleCrossingS9N1"),
        ("DoorKy-8x8", "DoorKey-8x8"),
    ],
)
def test_an_unknown_id_offers_the_nearest(typed: str, offered: str) -> None:
    with pytest.raises(SpecError, match=rf"no MiniGrid task '{typed}'.*Did you mean '.*{offered}"):
        MiniGrid(typed).task()


def test_tasks_of_other_packages_are_sent_to_gym() -> None:
    with pytest.raises(SpecError, match="'CartPole-v1' is not a MiniGrid task: use gym:CartPole"):
        MiniGrid("CartPole-v1").task()


@pytest.mark.parametrize("view", [1, 4, -3, 101, 10**30 + 1])
def test_an_impossible_view_is_refused(view: int) -> None:
    with pytest.raises(SpecError, match=f"view must be an odd number in 3..99, got {view}$"):
        MiniGrid(view=view)


def test_the_settings_are_those_of_the_paper() -> None:
    task = MiniGrid().task()
    assert (task.episodes, task.mutation_rate, task.test_episodes) == (5000, 0.2, 100)
    assert (task.condition, task.default_action, task.reference) == ("return>=0.8", "repeat", 0.0)
    assert (task.abstraction, task.max_steps) == (("minigrid",), 324)
    assert task.policy == "minigrid:simple-crossing"


def test_other_tasks_have_no_policy_and_their_own_limit() -> None:
    task = MiniGrid("Empty-16x16").task()
    assert (task.policy, task.max_steps, task.reference) == (None, 1024, 0.0)


@pytest.mark.skipif(not NEWER, reason="this version of minigrid has one version of each task")
def test_an_old_version_is_played_with_a_note() -> None:
    notes = MiniGrid("MultiRoom-N4-S5-v0").task().notes
    assert notes == (
        "MiniGrid-MultiRoom-N4-S5-v0 has a newer version, MiniGrid-MultiRoom-N4-S5-v1",
    )
    assert MiniGrid("MultiRoom-N4-S5").task().notes == ()


def test_the_limit_of_a_babyai_task_is_never_below_that_of_an_episode() -> None:
    bound = MiniGrid("BabyAI-BossLevel-v0").task().max_steps
    lanes: Any = MiniGrid("BabyAI-BossLevel-v0").open(Opening(8))
    lanes.reset(np.arange(8), np.arange(8))
    assert 0 < lanes.limits.max() <= bound


def test_babyai_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    lanes = MiniGrid("BabyAI-UnblockPickup-v0").open(Opening(1))
    for seed in range(12):
        lanes.reset(np.array([0]), np.array([seed]))
    assert capsys.readouterr().out == ""


def test_the_recipe_survives_the_trip_to_a_worker() -> None:
    assert pickle.loads(pickle.dumps(MiniGrid("Empty-5x5", view=5))) == MiniGrid("Empty-5x5", 5)


def test_the_abstraction_is_image_and_direction() -> None:
    image = np.arange(2 * 147, dtype=np.uint8).reshape(2, 7, 7, 3)
    batch = {"image": image, "direction": np.array([1, 3], dtype=np.uint8)}
    rows = MiniGridView()(batch, {})
    assert rows.shape == (2, 148)
    assert rows.dtype == np.uint8
    assert rows[1].tolist() == [*range(147, 256), *range(38), 3]


def test_the_abstraction_refuses_other_observations() -> None:
    with pytest.raises(FitError, match=r"needs a dict of image and direction, got shape \(4,\)"):
        MiniGridView()(np.zeros((2, 4)), {})
    with pytest.raises(FitError, match=r"got \{'ram': "):
        MiniGridView()({"ram": np.zeros((2, 128))}, {})


def test_our_words_for_cells_are_those_of_the_package() -> None:
    from minigrid.core.constants import IDX_TO_COLOR, IDX_TO_OBJECT

    assert dict(enumerate(COLOURS)) == IDX_TO_COLOR
    assert dict(enumerate(KINDS)) == IDX_TO_OBJECT


def test_a_state_is_shown_in_words_and_as_a_drawing() -> None:
    image = np.zeros((7, 7, 3), dtype=np.uint8)
    image[:, 5:] = [1, 0, 0]
    image[:, 4] = [2, 5, 0]
    image[3, 4] = [4, 4, 2]
    image[5, 5] = [8, 1, 0]
    image[3, 6] = [5, 0, 0]
    value = np.append(image.reshape(-1), np.uint8(3))
    assert MiniGridView().show(value) == (
        "facing up; locked yellow door 2 ahead; carrying a red key; goal 1 ahead, 2 right  "
        "[###D###/.....G./...^...]"
    )


def test_readers_are_told_what_the_signs_in_a_drawing_mean() -> None:
    facts = Facts(spaces.Dict({}), spaces.Discrete(3), 1)
    note = names_of(facts, (MiniGridView(),)).note
    assert note.startswith("In brackets the view, farthest row first: # wall, . free, ? out of")


def test_a_state_is_drawn_in_coloured_squares() -> None:
    image = np.zeros((7, 7, 3), dtype=np.uint8)
    image[:, 5:] = [1, 0, 0]
    image[:, 4] = [2, 5, 0]
    image[2, 4], image[3, 4], image[4, 4] = [4, 4, 0], [4, 4, 1], [4, 4, 2]
    image[5, 5], image[6, 5] = [8, 1, 0], [9, 0, 0]
    image[0, 5], image[1, 5], image[2, 5] = [5, 2, 0], [6, 2, 0], [7, 2, 0]
    image[3, 6] = [5, 3, 0]
    picture = MiniGridView().draw(np.append(image.reshape(-1), np.uint8(3)))
    assert (picture.shape, picture.dtype) == ((56, 56, 3), np.uint8)
    blue, yellow = [0, 0, 255], [255, 255, 0]
    pixels = {
        (0, 0): [50, 50, 50],  # out of sight
        (39, 0): [150, 150, 150],  # wall
        (32, 16): yellow, (36, 20): [0, 0, 0],  # an open door
        (32, 24): yellow, (36, 28): [127, 127, 0],  # a closed one
        (32, 32): yellow, (36, 36): yellow,  # a locked one
        (42, 4): [0, 0, 0], (43, 4): blue,  # key
        (41, 12): [0, 0, 0], (42, 12): blue,  # ball
        (41, 20): blue, (42, 20): [0, 0, 0],  # box
        (40, 40): [0, 200, 0], (47, 55): [255, 128, 0],  # goal, lava
        (49, 27): [255, 0, 0], (49, 26): [0, 0, 0], (54, 24): [255, 0, 0],  # the agent
        (52, 27): [112, 39, 195],  # what it carries
    }  # fmt: skip
    assert {place: picture[place].tolist() for place in pixels} == pixels


def test_a_thing_of_an_unknown_kind_is_drawn_in_its_colour() -> None:
    value = np.zeros(3 * 9 + 1, dtype=np.uint8)
    value[:3] = 77, 4, 0
    picture = MiniGridView().draw(value)
    assert picture.shape == (24, 24, 3)
    assert picture[7, 7].tolist() == [255, 255, 0]


def test_our_colours_are_those_of_the_package() -> None:
    from minigrid.core.constants import COLORS

    assert [COLORS[name].tolist() for name in COLOURS] == [list(v) for v in COLOUR_VALUES]


def test_the_shipped_policy_takes_subclasses_of_spaces_and_refuses_bits() -> None:
    class Seven(spaces.Discrete):
        pass

    facts = MiniGrid().open(Opening(1)).facts
    MiniGridPolicy().load(dataclasses.replace(facts, action_space=Seven(7)))
    for wrong in (spaces.MultiBinary(7), spaces.Discrete(7, start=1)):
        with pytest.raises(FitError, match="and 7 actions"):
            MiniGridPolicy().load(dataclasses.replace(facts, action_space=wrong))


def earned(deterministic: bool) -> float:
    """Return the mean return of the shipped policy over 200 episodes."""
    setup = resolve(
        Request("minigrid", MiniGridPolicy(deterministic=deterministic), lanes=200), installed()
    )
    index = np.arange(200)
    plan = Plan(index, episode_keys(11, Phase.PROBE, index))
    played = Player(recipe_of(setup)).play(plan, lambda keys, position: np.ones(len(keys), bool))
    return float(played.total_return.mean())


@pytest.mark.parametrize("deterministic", [False, True])
def test_the_shipped_policy_crosses(deterministic: bool) -> None:
    assert earned(deterministic) >= 0.9


def test_the_shipped_policy_refuses_other_tasks() -> None:
    facts = MiniGrid("Dynamic-Obstacles-5x5").open(Opening(1)).facts
    with pytest.raises(FitError, match=r"7 actions, MiniGrid-Dynamic-.* has .* and Discrete\(3\)"):
        MiniGridPolicy().load(facts)


def test_the_network_in_numpy_prefers_what_it_prefers_in_torch() -> None:
    chance = np.random.default_rng(0)
    seen = {
        "image": chance.integers(0, 11, (300, 7, 7, 3), dtype=np.uint8),
        "direction": chance.integers(0, 4, 300, dtype=np.uint8),
    }
    ours = NetworkPolicy(load_weights("simple-crossing"), deterministic=True).preferences(seen)
    with torch.inference_mode():
        theirs = load_network()(*as_tensors(seen)).numpy()
    assert np.abs(ours.T - theirs).max() < 1e-4


@pytest.mark.parametrize("task", ["cartpole", "minigrid"])
def test_a_policy_that_ships_with_rpd_is_played_without_torch(task: str) -> None:
    program = f"""
import sys
from rpd_core.config.resolve import resolve
from rpd_core.config.settings import Request
from rpd_core.play.chunks import SuiteChunk, perform_suite
from rpd_core.play.recipe import recipe_of
from rpd_core.plugin.registry import installed

recipe = recipe_of(resolve(Request(env={task!r}), installed()))
assert len(perform_suite(SuiteChunk(recipe, 0, 0.4, 0, 9)).suite.episodes) == 10
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
