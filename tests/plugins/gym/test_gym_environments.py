"""Any Gymnasium environment in lanes."""

from __future__ import annotations

import subprocess
import sys
import warnings
from dataclasses import replace
from importlib.util import find_spec

import gymnasium
import minigrid  # noqa: F401 - registers its tasks
import numpy as np
import pytest
from gymnasium import spaces
from own_worlds import Walk
from worlds import Corridor

from rpd_core.chance import Phase, episode_keys
from rpd_core.errors import ComponentError, EpisodeError, FitError, RpdError, SpecError
from rpd_core.play.loop import Plan, Player, Recipe
from rpd_core.play.prepare import RandomPlay
from rpd_core.plugin.chain import Chain
from rpd_core.plugin.protocols import Opening
from rpd_core.plugin.registry import installed
from rpd_gym.environments import GymEnvironment, PythonEnvironment, read_options
from rpd_gym.layout import Layout
from rpd_gym.names import find_id
from rpd_gym.repeatability import Safeguards, find_safeguards
from rpd_gym.settings import general_task

needs_box2d = pytest.mark.skipif(find_spec("Box2D") is None, reason="Box2D is not installed")


def walk(oddity: str = "", **options):
    return PythonEnvironment("own_worlds:Walk", 5, (f"oddity={oddity}",), **options)


@pytest.mark.parametrize("name", ["Acrobot-v1", "Pendulum-v1", "MountainCarContinuous-v0"])
def test_a_lane_plays_what_a_single_environment_plays(name: str) -> None:
    lanes = GymEnvironment(name).open(Opening(3))
    lanes.reset(np.arange(3), np.array([4, 5, 6]))
    lanes.reset(np.array([1]), np.array([7]))
    env = gymnasium.make(name)
    observation, _ = env.reset(seed=7)
    env.action_space.seed(0)
    for _ in range(30):
        np.testing.assert_array_equal(lanes.observe()[1], observation)
        action = env.action_space.sample()
        observation, reward, *_ = env.step(action)
        result = lanes.step(np.array([action] * 3), np.array([False, True, True]))
        assert result.rewards[1] == reward
        assert result.rewards[0] == 0


def test_dicts_and_tuples_become_named_parts_and_text_is_left_out() -> None:
    lanes = walk("dict").open(Opening(2))
    lanes.reset(np.array([1]), np.array([3]))
    lanes.step(np.array([1, 2]), np.array([False, True]))
    seen = lanes.observe()
    assert list(seen) == ["inner.a.b", "x"]
    assert seen["x"].tolist() == [2, 3]  # a lane never reset holds the first value
    assert seen["inner.a.b"][1, 0] == 1
    words = Layout.of(gymnasium.make("MiniGrid-Empty-5x5-v0").observation_space)
    assert sorted(words.parts) == ["direction", "image"]  # a space of its own holds the mission
    lanes = walk("tuple").open(Opening(1))
    lanes.reset(np.array([0]), np.array([3]))
    assert {name: part.shape for name, part in lanes.observe().items()} == {
        "0": (1, 2),
        "1": (1, 3),
    }


def test_an_environment_that_remembers_is_made_anew_for_every_episode() -> None:
    lanes = walk("forgets").open(Opening(1))
    assert lanes.rebuild
    starts = []
    for _ in range(3):
        lanes.reset(np.array([0]), np.array([11]))
        starts.append(float(lanes.observe()[0, 1]))
    assert starts == [starts[0]] * 3
    assert not walk().open(Opening(1)).rebuild


def test_what_is_remembered_late_in_an_episode_is_found_and_a_new_space_is_no_memory() -> None:
    assert find_safeguards(lambda: Walk("late", size=100), "late") == Safeguards(rebuild=True)
    assert find_safeguards(lambda: Walk("new space", size=100), "new space") == Safeguards()


def test_a_reward_in_an_array_of_one_is_a_number() -> None:
    episodes = play(walk("one reward"))
    assert episodes.total_return.tolist() == play(walk()).total_return.tolist()


def test_without_box2d_its_environments_say_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "Box2D", None)
    for name in [name for name in sys.modules if name.startswith("gymnasium.envs.box2d.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ComponentError) as caught:
        GymEnvironment("LunarLander-v3").open(Opening(1))
    assert str(caught.value) == (
        "LunarLander-v3 lacks a package: DependencyNotInstalled: Box2D is not installed, you can "
        'install it by run `pip install swig` followed by `pip install "gymnasium[box2d]"`'
    )


@pytest.mark.extras
@needs_box2d
def test_bipedal_walker_must_be_made_anew_and_lunar_lander_need_not() -> None:
    assert find_safeguards(lambda: gymnasium.make("BipedalWalker-v3"), "walker") == Safeguards(
        rebuild=True
    )
    assert find_safeguards(lambda: gymnasium.make("LunarLander-v3"), "lander") == Safeguards()


def test_chance_outside_the_seed_is_refused_unless_the_user_insists() -> None:
    with pytest.raises(FitError, match="different episodes for one seed"):
        walk("unseeded").open(Opening(1))
    walk("unseeded", rebuild=False).open(Opening(1))


def play(environment, episodes: int = 4):
    registry = installed()
    recipe = Recipe(
        environment,
        RandomPlay(),
        Chain((registry.make("abstraction", "identity"),)),
        registry.make("default-action", "repeat"),
        lanes=2,
        max_steps=5,
    )
    index = np.arange(episodes)
    plan = Plan(index, episode_keys(0, Phase.SUITE, index))
    return Player(recipe).play(plan, lambda keys, position: np.ones(len(keys), dtype=bool))


@pytest.mark.parametrize(
    ("oddity", "words"),
    [
        (
            "raises",
            "environment raised ZeroDivisionError: the wheel came off in step 1 of",
        ),
        ("closes", "the environment raised GeneratorExit in step 1 of episode 0"),
        ("goes flat", "the environment raised Flat in step 1 of episode 0"),
        (
            "misfit",
            "the environment gave an observation of shape (1,), where its space has (2,) in",
        ),
        ("fractions", "an observation holding 0.5, where its space is of uint8"),
        ("overflow", "an observation holding 400, where its space is of uint8"),
        (
            "old reset",
            "gave ndarray from reset, not (observation, info): is it written for",
        ),
        (
            "old step",
            "gave a tuple of 4 from step, not (observation, reward, terminated, ",
        ),
        ("two rewards", "a reward of type float64 and shape (2,), not a number in step 0"),
        ("nan", "gave an observation that is not a number (NaN) in step 1 of episode 0"),
    ],
)
def test_a_failure_in_an_episode_names_the_episode_and_its_seed(oddity: str, words: str) -> None:
    with pytest.raises(EpisodeError) as caught:
        play(walk(oddity))
    assert words in str(caught.value)
    assert "(environment seed " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_actions_that_do_not_start_at_zero_arrive_as_they_are() -> None:
    episodes = play(walk())
    assert episodes.length.tolist() == [3] * 4
    assert (episodes.total_return >= 3).all()
    assert episodes.info["at"].tolist() == [3] * 4


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("LunarLander-v2", "LunarLander-v3", marks=(pytest.mark.extras, needs_box2d)),
        ("Pendulum-v0", "Pendulum-v1"),
    ],
)
def test_an_id_that_was_renamed_is_mapped_with_a_note(old: str, new: str) -> None:
    task = GymEnvironment(old).task()
    assert task.notes == (f"{old} is gone: {new} is used, whose dynamics may differ",)


@pytest.mark.parametrize(
    ("old", "options"),
    [
        ("PongDeterministic-v4", "frameskip=4, repeat_action_probability=0.0"),
        ("SpaceInvadersDeterministic-v0", "frameskip=3, repeat_action_probability=0.25"),
        ("Pong-ram-v4", "obs_type=ram, frameskip=(2, 5), repeat_action_probability=0.0"),
        ("Pong-ramNoFrameskip-v0", "obs_type=ram, frameskip=1, repeat_action_probability=0.25"),
    ],
)
def test_an_old_atari_id_plays_as_it_did_and_points_to_the_atari_plugin(
    old: str, options: str
) -> None:
    environment = GymEnvironment(old, max_steps=10)
    game = "SpaceInvaders" if "Space" in old else "Pong"
    assert environment.task().notes == (
        f"{old} is gone: ALE/{game}-v5 is used with {options}, as it had",
        f"atari:{game} plays the game with the usual preprocessing",
    )
    made = environment.open(Opening(1)).envs[0]
    found = {key: made.spec.kwargs[key] for key in ("frameskip", "repeat_action_probability")}
    assert all(f"{key}={value}" in options for key, value in found.items())
    assert (made.observation_space.shape == (128,)) == ("ram" in old)


def test_a_game_that_counts_frames_ends_by_itself() -> None:
    assert GymEnvironment("ALE/Pong-v5").task().max_steps == 108_000 // 4
    registered = GymEnvironment("PongNoFrameskip-v4").task()
    assert registered.max_steps == 108_000
    assert [note.split()[0] for note in registered.notes] == ["atari:Pong"]


def test_what_is_registered_needs_no_other_package_whatever_it_is_called() -> None:
    gymnasium.register("Fetchling-v0", entry_point="own_worlds:Walk", max_episode_steps=7)
    assert GymEnvironment("Fetchling-v0").task().max_steps == 7


def test_a_module_in_the_working_directory_registers_its_ids(tmp_path, monkeypatch) -> None:
    (tmp_path / "my_envs.py").write_text(
        "import gymnasium\n"
        "gymnasium.register('Mine-v0', entry_point='own_worlds:Walk', max_episode_steps=9)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert GymEnvironment("my_envs:Mine-v0").task().max_steps == 9
    with pytest.raises(SpecError, match=r"is called 'Mein-v0'\. Did you mean 'Mine"):
        GymEnvironment("my_envs:Mein-v0").task()
    with pytest.raises(ComponentError, match=r"cannot import your_envs .*'your_envs'$"):
        GymEnvironment("your_envs:Mine-v0").task()


def test_what_a_module_lacks_is_named_with_the_command(tmp_path, monkeypatch) -> None:
    (tmp_path / "lacking.py").write_text(
        "import gymnasium\ngymnasium.register('Lacking-v0', entry_point='lacking_inside:World')\n"
    )
    (tmp_path / "lacking_inside.py").write_text("import not_there\n")
    (tmp_path / "lacking_too.py").write_text("import not_there_either\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(ComponentError, match=r"pip install not_there$"):
        GymEnvironment("lacking:Lacking-v0").task()
    with pytest.raises(ComponentError, match=r"pip install not_there_either$"):
        GymEnvironment("lacking_too:Lacking-v0").task()
    assert str(tmp_path) not in sys.path


def test_a_factory_may_import_what_lies_beside_it_when_it_is_called(tmp_path, monkeypatch) -> None:
    (tmp_path / "late_factory.py").write_text(
        "def make():\n    from late_helper import World\n    return World()\n"
    )
    (tmp_path / "late_helper.py").write_text("from own_worlds import Walk as World\n")
    monkeypatch.chdir(tmp_path)
    assert PythonEnvironment("late_factory:make", 9).task().max_steps == 9
    assert str(tmp_path) not in sys.path


def test_numbered_observations_are_states_as_they_are() -> None:
    assert GymEnvironment("FrozenLake-v1").task().abstraction == ("identity",)


def test_a_limit_that_is_no_number_is_none() -> None:
    endless = Walk(size=10**6)
    endless.max_steps = float("inf")  # type: ignore[attr-defined]
    with pytest.raises(SpecError, match="not over after 3000 steps: give a step cap"):
        PythonEnvironment(lambda: endless).task()


def test_what_ends_by_itself_gets_a_generous_cap_and_a_note() -> None:
    short = PythonEnvironment("own_worlds:Walk").task()
    assert short.max_steps == 1000
    assert short.notes == (
        "own_worlds:Walk names no step limit; 6 pilot episodes ended by themselves, the longest "
        "after 3 steps, so episodes are cut after 1000: max_steps= in its spec changes that, and a "
        "lower one makes runs faster",
    )
    assert PythonEnvironment("own_worlds:Walk", kwargs=("size=100",)).task().max_steps == 1000
    assert PythonEnvironment("own_worlds:Walk", kwargs=("size=101",)).task().max_steps == 2000
    assert PythonEnvironment("own_worlds:Walk", kwargs=("size=201",)).task().max_steps == 5000
    assert PythonEnvironment("own_worlds:Walk", kwargs=("size=3000",)).task().max_steps == 50000
    assert PythonEnvironment("own_worlds:Walk", 40).task().notes == ()


def test_what_ends_only_by_chance_is_refused() -> None:
    with pytest.raises(SpecError, match="own_worlds:Door may never end"):
        PythonEnvironment("own_worlds:Door").task()


def test_babyai_through_gym_ends_its_own_episodes(capsys: pytest.CaptureFixture[str]) -> None:
    assert GymEnvironment("BabyAI-GoToRedBallGrey-v0").task().max_steps == 1000


def test_an_environment_that_fails_in_the_pilot_says_so() -> None:
    with pytest.raises(SpecError, match="pilot episode: ZeroDivisionError: the wheel came off"):
        PythonEnvironment("own_worlds:Walk", kwargs=("oddity=raises",)).task()


def test_an_environment_registered_by_someone_else_works() -> None:
    gymnasium.register("own/Walk-v3", entry_point="own_worlds:Walk", max_episode_steps=7)
    task = GymEnvironment("own/Walk-v3").task()
    assert task.max_steps == 7
    assert task.abstraction == ("rules",)
    assert task.reference is None


@pytest.mark.parametrize(
    ("space", "states"),
    [
        (spaces.Discrete(4), "identity"),
        (spaces.Box(-1, 1, (3,)), "rules"),
        (spaces.Dict({"stock": spaces.Discrete(9), "orders": spaces.Box(0, 4, (2,))}), "rules"),
        (spaces.Box(0, 255, (84, 84, 3), np.uint8), "preference:otherwise=auto"),
    ],
)
def test_states_follow_from_what_is_observed(space: gymnasium.Space, states: str) -> None:
    env = gymnasium.Env()
    env.observation_space = space
    assert general_task(env, 100).abstraction == (states,)


@pytest.mark.extras
@needs_box2d
def test_arguments_reach_the_environment() -> None:
    made = installed().make("environment", "gym:LunarLander-v3,kwargs=continuous=true+gravity=-5.0")
    lanes = made.open(Opening(1))
    assert lanes.facts.action_space.shape == (2,)
    assert lanes.envs[0].unwrapped.gravity == -5.0
    assert read_options(("a=1", "b=x", "c=None", "d=1e-3")) == {
        "a": 1, "b": "x", "c": None, "d": 0.001,
    }  # fmt: skip
    with pytest.raises(SpecError, match="kwargs: a is given twice"):
        read_options(("a=1", "a=2"))


def test_max_steps_replaces_the_limit_of_the_environment() -> None:
    assert GymEnvironment("CartPole-v1", max_steps=17).task().max_steps == 17
    lanes = GymEnvironment("Pendulum-v1", max_steps=3).open(Opening(1))
    lanes.reset(np.array([0]), np.array([0]))
    cut = [lanes.step(np.zeros((1, 1)), np.array([True])).truncated[0] for _ in range(3)]
    assert cut == [False, False, True]


@pytest.mark.parametrize(
    ("environment", "kind", "words"),
    [
        (
            GymEnvironment("Acrobott-v1"),
            SpecError,
            "'Acrobot-v1'? Otherwise install the",
        ),
        (
            GymEnvironment("dm_control/swingup-v0"),
            SpecError,
            "no environment is called 'dm_control/swingup-v0'. Install the package that registers "
            "it and name its module: gym:module:dm_control/swingup-v0",
        ),
        (GymEnvironment("nowhere:Foo-v0"), ComponentError, "No module named 'nowhere'"),
        (GymEnvironment("CartPole-v1", kwargs=("x",)), SpecError, "key=value"),
        (
            GymEnvironment("Acrobot-v1", kwargs=("wind=1",)),
            SpecError,
            "Acrobot-v1 takes no argument 'wind': leave wind= out.",
        ),
        (
            GymEnvironment("Acrobot-v1", kwargs=("max_step=9",)),
            SpecError,
            "leave max_step= out. Did you mean 'max_steps'?",
        ),
        (
            GymEnvironment("FrozenLake-v1", kwargs=("slippery=false",)),
            SpecError,
            "leave slippery= out. Did you mean 'is_slippery'?",
        ),
        (
            PythonEnvironment("own_worlds:Walk", 5, ("oddty=late",)),
            SpecError,
            "leave oddty= out. Did you mean 'oddity'?",
        ),
        (
            PythonEnvironment("own_worlds:Walk", 5, ("wind=1",)),
            SpecError,
            "own_worlds:Walk takes no argument 'wind': leave wind= out.",
        ),
        (PythonEnvironment("own_worlds:Door"), SpecError, "give a step cap"),
        (PythonEnvironment("own_worlds:Wlk"), SpecError, "cannot import"),
        (PythonEnvironment(dict), SpecError, "must return a gymnasium.Env, got dict"),
        (PythonEnvironment(lambda: 1 / 0), SpecError, "division by zero"),
    ],
)
def test_what_cannot_be_made_is_said_in_one_line(environment, kind, words: str) -> None:
    with pytest.raises(RpdError) as caught:
        environment.task()
    assert isinstance(caught.value, kind)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_lanes_draw_their_own_environment_or_say_that_it_draws_nothing() -> None:
    lanes = GymEnvironment("FrozenLake-v1", kwargs=("is_slippery=false",)).open(
        Opening(2, render=True)
    )
    lanes.reset(np.arange(2), np.array([0, 1]))
    before = lanes.render(1)
    lanes.step(np.array([1, 1]), np.array([False, True]))
    assert before.shape[2] == 3
    assert (lanes.render(1) != before).any()
    np.testing.assert_array_equal(lanes.render(0), before)
    silent = walk().open(Opening(1))
    silent.reset(np.array([0]), np.array([0]))
    with pytest.raises(FitError, match="own_worlds:Walk draws nothing"):
        silent.render(0)


@pytest.mark.parametrize("old", ["HalfCheetah-v2", "Reacher-v2", "Ant-v3"])
def test_ids_that_are_registered_only_to_say_so_are_gone(old: str) -> None:
    if not callable(gymnasium.spec(old).entry_point):
        pytest.skip("this version of gymnasium still has it")
    today = f"{old[:-1]}5"
    assert find_id(old) == (today, f"{old} is gone: {today} is used, whose dynamics may differ")


@pytest.mark.parametrize("wrong", [-3, 0, 10**9 + 1, 10**30])
@pytest.mark.parametrize("name", ["cartpole", "gym:Acrobot-v1", "python:own_worlds:Walk"])
def test_a_step_cap_that_no_episode_can_have_is_refused(name: str, wrong: int) -> None:
    separator = "," if ":" in name else ":"
    spec = f"{name}{separator}max_steps={wrong}"
    words = rf"{name.partition(':')[0]}: max_steps must lie in 1\.\.1000000000, got {wrong}$"
    with pytest.raises(SpecError, match=words):
        installed().make("environment", spec)


def test_a_limit_of_the_environment_beyond_what_can_be_stored_is_cut() -> None:
    endless = Walk()
    endless.max_steps = 10**30  # type: ignore[attr-defined]
    assert PythonEnvironment(lambda: endless).task().max_steps == 10**9


def test_a_number_too_long_to_be_read_stays_text() -> None:
    digits = "9" * 5000
    assert read_options((f"size={digits}",)) == {"size": digits}


@pytest.mark.parametrize(
    ("name", "imports"),
    [
        ("gym:Acrobot-v1", False),
        ("gym:ALE/Pong-v5", False),
        ("gym:my_envs:Mine-v0", True),
        ("python:own_worlds:Walk", True),
    ],
)
def test_an_environment_says_whether_it_runs_code_that_its_spec_names(
    name: str, imports: bool
) -> None:
    assert installed().make("environment", name).runs_code is imports


def test_ids_of_the_packages_that_rpd_depends_on_need_no_module() -> None:
    program = (
        "from rpd_gym.names import find_id; "
        "print(find_id('MiniGrid-Empty-5x5-v0')[0], find_id('ALE/Pong-v5')[0])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("MiniGrid-Empty-5x5-v0 ALE/Pong-v5\n", "")


def test_an_id_that_an_installed_package_would_register_comes_with_its_module(
    tmp_path, monkeypatch
) -> None:
    (tmp_path / "far_worlds").mkdir()
    (tmp_path / "far_worlds" / "__init__.py").write_text(
        'from gymnasium import register\nregister(id="FarAway-v7", entry_point="far_worlds:No")\n'
    )
    about = tmp_path / "far_worlds-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: far-worlds\nVersion: 1.0\nRequires-Dist: gymnasium>=1\n"
    )
    (about / "RECORD").write_text("far_worlds/__init__.py,,\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(SpecError, match=r"registered by far_worlds: write gym:far_worlds:FarAway"):
        find_id("FarAway-v7")
    assert "far_worlds" not in sys.modules


def test_an_environment_without_a_render_mode_is_refused_without_a_warning() -> None:
    lanes = GymEnvironment("CartPole-v1").open(Opening(1))
    lanes.reset(np.array([0]), np.array([1]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(FitError, match="draws nothing: make it with render_mode='rgb_array'"):
            lanes.render(0)


def test_a_class_that_makes_lanes_needs_no_plugin() -> None:
    environment = PythonEnvironment("worlds:Corridor", max_steps=7)
    assert environment.task() == replace(Corridor().task(), max_steps=7)
    assert type(environment.open(Opening(2))) is type(Corridor().open(Opening(2)))
    with pytest.raises(SpecError, match="worlds:Corridor makes lanes itself: leave rebuild= out"):
        PythonEnvironment("worlds:Corridor", rebuild=True).task()
    with pytest.raises(SpecError, match="takes no argument 'length': leave length= out"):
        PythonEnvironment("worlds:Corridor", kwargs=("length=3",)).task()
