"""Atari lanes against plain Gymnasium environments and wrappers."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import AtariPreprocessing
from stores import session_at

from rpd_atari.environment import Atari
from rpd_atari.grid import AtariGrid
from rpd_atari.lanes import start_noops
from rpd_core import pipeline
from rpd_core.config.settings import Request
from rpd_core.errors import SpecError
from rpd_core.plugin.protocols import Opening

cv2 = pytest.importorskip("cv2")

ALL_ACTIVE = np.ones(2, dtype=bool)


def plain_episode(game: str, seed: int, actions: list[int], noop_max: int = 30):
    """Play one episode with Gymnasium's environment and its own preprocessing."""
    env = gymnasium.make(f"ALE/{game}-v5", frameskip=1, repeat_action_probability=0.0)
    env.reset(seed=5)
    ale, meanings = env.unwrapped.ale, env.unwrapped.get_action_meanings()
    for _ in range(int(start_noops(np.array([seed]), noop_max)[0])):
        ale.act(0)  # not env.step(0): in some games the first action is another one
    if len(meanings) >= 3 and meanings[1] == "FIRE":
        for _ in range(4):
            ale.act(1)
    first = cv2.resize(ale.getScreenGrayscale(), (84, 84), interpolation=cv2.INTER_AREA)
    yield first, 0.0, False, ale.getScreenRGB(), ale.getRAM()
    shrunk = AtariPreprocessing(env, noop_max=0, frame_skip=4)
    for action in actions:
        picture, reward, over, _, _ = shrunk.step(action)
        yield picture, reward, over, ale.getScreenRGB(), ale.getRAM()
        if over:
            return


def assert_equal_episodes(game: str, steps: int) -> None:
    """Play one episode in a used lane beside another episode, and compare it with plain play."""
    lanes = Atari(game).open(Opening(2))
    count = int(lanes.facts.action_space.n)
    generator = np.random.default_rng(3)
    lanes.reset(np.arange(2), np.array([71, 9]))
    first = [
        lanes.step(np.full(2, at % count), ALL_ACTIVE) and lanes.view("ram")[1] for at in range(9)
    ]
    lanes.reset(np.array([1]), np.array([9]))
    for at, ram in enumerate(first):
        lanes.step(np.full(2, at % count), ALL_ACTIVE)
        np.testing.assert_array_equal(lanes.view("ram")[1], ram)
    for _ in range(25):
        lanes.step(generator.integers(count, size=2), ALL_ACTIVE)
    lanes.reset(np.array([0, 1]), np.array([6, 9]))
    lanes.reset(np.array([1]), np.array([8]))
    lanes.reset(np.array([1]), np.array([9]))
    actions = generator.integers(count, size=steps).tolist()
    stack = np.zeros((4, 84, 84), dtype=np.uint8)
    result = None
    for at, expected in enumerate(plain_episode(game, 9, actions)):
        picture, reward, over, screen, ram = expected
        if at:
            both = np.array([generator.integers(count), actions[at - 1]])
            result = lanes.step(both, ALL_ACTIVE)
            assert result.rewards[1] == reward
            assert bool(result.terminated[1]) == over
        if over:
            break
        stack = np.concatenate([stack[1:], picture[None]])
        np.testing.assert_array_equal(lanes.observe()[1], stack)
        np.testing.assert_array_equal(lanes.view("screen")[1], screen)
        np.testing.assert_array_equal(lanes.view("ram")[1], ram)
    lanes.close()


@pytest.mark.parametrize("game", ["Pong", "Breakout", "Qbert", "Assault"])
def test_a_restored_lane_plays_what_plain_gymnasium_plays(game: str) -> None:
    assert_equal_episodes(game, steps=60)


@pytest.mark.slow
def test_every_game_plays_what_plain_gymnasium_plays() -> None:
    gymnasium.register_envs(pytest.importorskip("ale_py"))
    ids = [name for name in gymnasium.registry if name.startswith("ALE/")]
    assert len(ids) >= 104
    for name in ids:
        assert_equal_episodes(name.removeprefix("ALE/").removesuffix("-v5"), steps=40)


def play(lanes, lane: int, seed: int, actions: list[int]) -> list[np.ndarray]:
    active = np.arange(lanes.facts.lanes) == lane
    lanes.reset(np.array([lane]), np.array([seed]))
    seen = [lanes.observe()[lane].copy()]
    for action in actions:
        lanes.step(np.full(lanes.facts.lanes, action), active)
        seen.append(lanes.observe()[lane].copy())
    return seen


def test_sticky_actions_repeat_an_episode_for_its_seed_and_not_for_another() -> None:
    lanes = Atari("Breakout", sticky=0.25, noop_max=1).open(Opening(2))
    actions = [2, 3] * 15
    first = play(lanes, 0, 5, actions)
    other = play(lanes, 1, 6, actions)
    again = play(lanes, 1, 5, actions)
    assert all((left == right).all() for left, right in zip(first, again, strict=True))
    assert any((left != right).any() for left, right in zip(first, other, strict=True))


def test_sticky_actions_are_those_of_plain_gymnasium_for_a_seed() -> None:
    options = {"frameskip": 1, "repeat_action_probability": 0.25}
    plain = gymnasium.make("ALE/Breakout-v5", **options).unwrapped
    lanes = Atari("Breakout", sticky=0.25, noop_max=0, fire="never").open(Opening(1))
    for seed in (3, 2**31 + 5):
        plain.reset(seed=seed)
        lanes.reset(np.array([0]), np.array([seed]))
        for action in [1, 2, 3] * 20:
            lanes.step(np.array([action]), np.array([True]))
            for _ in range(4):
                plain.step(action)
            np.testing.assert_array_equal(lanes.view("ram")[0], plain.ale.getRAM())


@pytest.mark.parametrize(
    ("game", "frames", "mode", "difficulty"), [("Breakout", 2, 4, 1), ("Pong", 3, 1, 0)]
)
def test_frame_skip_mode_and_difficulty_are_those_of_plain_gymnasium(
    game: str, frames: int, mode: int, difficulty: int
) -> None:
    options = {"frameskip": frames, "repeat_action_probability": 0.0}
    plain = gymnasium.make(f"ALE/{game}-v5", mode=mode, difficulty=difficulty, **options).unwrapped
    bare = Atari(
        game, frame_skip=frames, mode=mode, difficulty=difficulty, noop_max=0, fire="never"
    )
    lanes = bare.open(Opening(1))
    plain.reset(seed=1)
    lanes.reset(np.array([0]), np.array([1]))
    for action in [1, 2, 3] * 20:
        result = lanes.step(np.array([action]), np.array([True]))
        _, reward, *_ = plain.step(action)
        assert result.rewards[0] == reward
        np.testing.assert_array_equal(lanes.view("ram")[0], plain.ale.getRAM())


def test_without_start_presses_a_used_lane_starts_like_a_fresh_one() -> None:
    bare = {"noop_max": 0, "fire": "never", "frame_skip": 1}
    used = Atari("Qbert", **bare).open(Opening(1))
    play(used, 0, 1, [1] * 30)
    fresh = Atari("Qbert", **bare).open(Opening(1))
    actions = [0, 2, 3] * 10
    for left, right in zip(play(used, 0, 2, actions), play(fresh, 0, 3, actions), strict=True):
        np.testing.assert_array_equal(left, right)


def test_the_first_episode_of_a_lane_is_no_other_than_later_ones() -> None:
    lanes = Atari("Qbert").open(Opening(2))
    actions = [2, 3, 5, 4] * 10
    first = play(lanes, 1, 20, actions)
    for lane in (1, 0):
        again = play(lanes, lane, 20, actions)
        assert all((left == right).all() for left, right in zip(first, again, strict=True))


def test_idle_lanes_stand_still() -> None:
    lanes = Atari("Pong").open(Opening(2))
    lanes.reset(np.arange(2), np.array([1, 2]))
    before = lanes.observe()[1].copy(), lanes.view("ram")[1].copy()
    lanes.step(np.array([2, 2]), np.array([True, False]))
    np.testing.assert_array_equal(lanes.observe()[1], before[0])
    np.testing.assert_array_equal(lanes.view("ram")[1], before[1])


def test_the_noops_of_an_episode_come_from_its_seed() -> None:
    drawn = start_noops(np.arange(3000), 30)
    assert drawn.min() == 1
    assert drawn.max() == 30
    np.testing.assert_array_equal(drawn[[5, 7]], start_noops(np.array([5, 7]), 30))
    assert np.bincount(drawn)[1:].min() > 60  # 100 expected of each; 60 is 4 deviations below


def test_lives_are_told_and_end_an_episode_only_on_request() -> None:
    def steps_until_over(**options: bool) -> int:
        lanes = Atari("Breakout", fire="lives", **options).open(Opening(1))
        lanes.reset(np.array([0]), np.array([1]))
        for step in range(400):
            if lanes.step(np.array([0]), np.array([True])).terminated[0]:
                assert lanes.info(0)["lives"] == (4 if options else 0)
                return step
        raise AssertionError("never over")

    assert steps_until_over(life_ends=True) < steps_until_over()


def test_the_picture_of_a_lane_is_its_screen() -> None:
    lanes = Atari("Pong").open(Opening(1, render=True))
    lanes.reset(np.array([0]), np.array([1]))
    picture = lanes.render(0)
    assert picture.shape == (210, 160, 3)
    assert picture.dtype == np.uint8
    np.testing.assert_array_equal(picture, lanes.view("screen")[0])


def test_colour_first_gives_the_pixels_of_stable_baselines() -> None:
    from stable_baselines3.common.atari_wrappers import MaxAndSkipEnv, WarpFrame

    lanes = Atari("Pong", maximum="colour", fire="never").open(Opening(1))
    lanes.reset(np.array([0]), np.array([4]))
    env = gymnasium.make("PongNoFrameskip-v4")
    env.reset(seed=0)
    for _ in range(int(start_noops(np.array([4]), 30)[0])):
        env.step(0)
    wrapped = WarpFrame(MaxAndSkipEnv(env, skip=4))
    for action in np.random.default_rng(0).integers(6, size=80).tolist():
        picture = wrapped.step(action)[0][:, :, 0]
        lanes.step(np.array([action]), np.array([True]))
        np.testing.assert_array_equal(lanes.observe()[0, -1], picture)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Pong", "Pong"),
        ("space_invaders", "SpaceInvaders"),
        ("PongNoFrameskip-v4", "Pong"),
        ("ALE/MsPacman-v5", "MsPacman"),
        ("Pong-ram-v0", "Pong"),
        ("tictactoe3d", "TicTacToe3D"),
        ("MS-PACMAN", "MsPacman"),
        ("ms pacman", "MsPacman"),
    ],
)
def test_games_are_found_in_every_spelling(text: str, name: str) -> None:
    from rpd_atari.games import find_game

    assert find_game(text) == name


def test_an_old_id_is_mapped_with_a_note() -> None:
    assert Atari("PongNoFrameskip-v4").task().notes == (
        "PongNoFrameskip-v4 is played as atari:Pong",
    )
    assert "sticky" in Atari("ALE/Pong-v5").task().notes[0]
    assert Atari("Pong").task().notes == ()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Atari("ChpperCmmnd").task(), "Did you mean 'ChopperCommand'?"),
        (lambda: Atari("Combat").task(), "several players"),
        (lambda: Atari("Pong", frame_skip=0), "frame_skip must lie in 1..1000, got 0"),
        (lambda: Atari("Pong", sticky=1.5), "sticky is a chance"),
        (lambda: Atari("Pong", size=161), "size must lie in 1..160, got 161"),
        (lambda: Atari("Pong", max_steps=10**30), "max_steps must lie in 1..1000000000, got 1000"),
        (lambda: Atari("Pong", stack=10**9), "stack must lie in 1..64, got 1000000000"),
        (lambda: Atari("Pong", noop_max=-1), "noop_max must lie in 0..10000, got -1"),
        (lambda: Atari("Pong", noop_max=10**30), "noop_max must lie in 0..10000, got 1000"),
        (lambda: Atari("Pong", frame_skip=10**30), "frame_skip must lie in 1..1000, got 1000"),
        (lambda: Atari("Pong", mode=10**30).open(Opening(1)), "0 is not one of 0, 1"),
        (lambda: Atari("Pong", mode=99).open(Opening(1)), "set up: mode 99 is not one of 0, 1"),
    ],
)
def test_what_cannot_be_played_is_said_in_one_line(make, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        make()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_task_holds_the_settings_of_the_paper() -> None:
    task = Atari("Pong").task()
    assert (task.episodes, task.mutation_rate, task.max_steps) == (1000, 0.2, 600)
    assert (task.condition, task.test_episodes, task.reference) == ("auto", 50, None)
    assert task.abstraction == ("preference:otherwise=atari",)


def test_the_states_are_the_papers_where_the_policy_tells_no_preference(tmp_path: Path) -> None:
    asked = Request(env="atari:Pong,max_steps=3", policy="random", lanes=2)
    session = session_at(tmp_path, asked)
    pipeline.prepare_run(session)
    assert session.recipe.links == (AtariGrid(),)
