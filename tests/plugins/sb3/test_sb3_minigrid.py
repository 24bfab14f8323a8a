"""MiniGrid models as people make them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gymnasium
import minigrid  # noqa: F401  (registers the environments)
import numpy as np
import pytest
import torch
from gymnasium import spaces
from minigrid.wrappers import FlatObsWrapper, OneHotPartialObsWrapper
from sb3_toys import (
    algorithm,
    batch,
    facts_of,
    rewritten,
    samples,
    saved,
    seen,
    settings_of,
    train,
)
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from rpd_core.errors import FitError, SpecError
from rpd_core.plugin.protocols import Opening
from rpd_core.plugin.registry import installed
from rpd_sb3.encodings import WithMission, WithMissionOfLane
from rpd_sb3.fitting import FitOptions, fit
from rpd_sb3.loader import Sb3File

SEVEN = spaces.Discrete(7)
VIEW = spaces.Box(0, 255, (7, 7, 3), np.uint8)
GRID = spaces.Dict({"image": VIEW, "direction": spaces.Discrete(4)})
CHANNELS_FIRST = spaces.Box(0, 255, (3, 7, 7), np.uint8)


class AuthorsNet(BaseFeaturesExtractor):
    """An author's own network on the 7x7 view, with as many channels as wished."""

    def __init__(self, observation_space: Any, features_dim: int = 24, last: int = 64) -> None:
        super().__init__(observation_space, features_dim)
        convolutions = [nn.Conv2d(3, 16, 2), nn.ReLU(), nn.Conv2d(16, 32, 2), nn.ReLU()]
        self.cnn = nn.Sequential(*convolutions, nn.Conv2d(32, last, 2), nn.ReLU(), nn.Flatten())
        self.linear = nn.Sequential(nn.Linear(last * 16, features_dim), nn.ReLU())

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return self.linear(self.cnn(observations))


def authored(folder: Path, monkeypatch: pytest.MonkeyPatch, **arguments: Any) -> tuple[Any, Path]:
    """Return a model whose extractor is pickled by reference to a module that is gone by now."""
    module = type(sys)("authors_nets")
    module.AuthorsNet = AuthorsNet  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "authors_nets", module)
    monkeypatch.setattr(AuthorsNet, "__module__", "authors_nets")
    kwargs = {"features_extractor_class": AuthorsNet, "features_extractor_kwargs": arguments}
    model = train("PPO", "CnnPolicy", CHANNELS_FIRST, SEVEN, policy_kwargs=kwargs)
    path = saved(model, folder)
    monkeypatch.delitem(sys.modules, "authors_nets")
    return model, path


def agrees(model: Any, loaded: Any) -> bool:
    rows = samples(VIEW)
    given = {"image": batch(rows), "direction": np.zeros(len(rows), dtype=np.int64)}
    turned = torch.from_numpy(np.moveaxis(batch(rows), -1, 1).copy())
    wanted = model.policy.get_distribution(turned).distribution.probs.detach().numpy()
    return np.allclose(loaded(seen(given)).probabilities, wanted, atol=1e-6)


def test_the_well_known_extractor_is_rebuilt_without_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, path = authored(tmp_path, monkeypatch)
    stored = settings_of(path)["policy_kwargs"]["features_extractor_class"]
    assert stored == "<class 'authors_nets.AuthorsNet'>"
    loaded = Sb3File(path).load(facts_of(GRID, SEVEN))
    assert agrees(model, loaded)
    assert "authors_nets.AuthorsNet rebuilt" in loaded.describe()["adapted"]


def test_with_trust_it_is_rebuilt_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, path = authored(tmp_path, monkeypatch)
    assert agrees(model, Sb3File(path, trust=True).load(facts_of(GRID, SEVEN)))


def test_another_extractor_is_named_together_with_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, path = authored(tmp_path, monkeypatch, last=20)
    with pytest.raises(
        SpecError, match=r"authors_nets\.AuthorsNet.*extractor=authors_nets:AuthorsNet"
    ):
        Sb3File(path).load(facts_of(GRID, SEVEN))
    module = type(sys)("my_nets")
    module.Net = AuthorsNet  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "my_nets", module)
    assert agrees(model, Sb3File(path, extractor="my_nets:Net").load(facts_of(GRID, SEVEN)))


def test_an_extractor_option_that_cannot_be_imported_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, path = authored(tmp_path, monkeypatch)
    for option in ("nowhere:Net", "json:dumps", "nothing"):
        with pytest.raises(SpecError, match=f"extractor={option}"):
            Sb3File(path, extractor=option).load(facts_of(GRID, SEVEN))


def test_an_extractor_written_out_in_the_file_is_rebuilt_from_its_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import cloudpickle
    from sb3_toys import entry

    model, path = authored(tmp_path, monkeypatch)
    monkeypatch.setattr(AuthorsNet, "__module__", "__main__")
    kwargs = {"features_extractor_class": AuthorsNet}
    clear = {"features_extractor_class": "<class '__main__.AuthorsNet'>"}
    by_value = rewritten(path, {"policy_kwargs": entry(cloudpickle.dumps(kwargs), **clear)})
    assert agrees(model, Sb3File(by_value).load(facts_of(GRID, SEVEN)))


def grid_steps(wrapper: Any, name: str = "MiniGrid-DoorKey-6x6-v0") -> Any:
    """Return plain observations of a random walk and what a wrapper makes of them."""
    env = gymnasium.make(name)
    wrapped = wrapper(env)
    pairs = []
    observation, _ = env.reset(seed=3)
    generator = np.random.default_rng(1)
    for _ in range(6):
        made = wrapped.observation(observation)
        pairs.append((observation, made))
        observation, *_ = env.step(int(generator.integers(6)))
    return env, wrapped, pairs


@pytest.mark.parametrize("shape", [(7, 7, 20), (20, 7, 7), (980,)])
def test_one_hot_cells_are_those_of_minigrids_wrapper(shape: tuple[int, ...]) -> None:
    _, _, pairs = grid_steps(OneHotPartialObsWrapper)
    fitting = fit(facts_of(GRID, SEVEN), spaces.Box(0, 255, shape, np.uint8), FitOptions())
    rows = {"image": np.stack([plain["image"] for plain, _ in pairs])}
    found = fitting(rows, np.ones(6, dtype=bool), None)[0]
    wanted = np.stack([made["image"] for _, made in pairs])
    if shape[0] == 20:
        wanted = np.moveaxis(wanted, -1, 1)
    np.testing.assert_array_equal(found, wanted.reshape(6, *shape))


def test_flat_observations_need_a_mission_that_is_known() -> None:
    env, wrapped, pairs = grid_steps(FlatObsWrapper)
    rows = {"image": np.stack([plain["image"] for plain, _ in pairs])}
    wanted = np.stack([made for _, made in pairs])
    space = wrapped.observation_space
    with pytest.raises(FitError, match=r"reads the mission text.*set mission="):
        fit(facts_of(GRID, SEVEN), space, FitOptions())
    told = fit(facts_of(GRID, SEVEN), space, FitOptions(mission=pairs[0][0]["mission"]))
    known = fit(facts_of(env.observation_space, SEVEN), space, FitOptions())
    for fitting in (told, known):
        found = fitting(rows, np.ones(6, dtype=bool), None)[0]
        np.testing.assert_array_equal(found, wanted)


def test_a_mission_that_differs_between_episodes_is_not_guessed() -> None:
    env, wrapped, _ = grid_steps(FlatObsWrapper, "MiniGrid-GoToDoor-5x5-v0")
    with pytest.raises(FitError, match="may differ between episodes"):
        fit(facts_of(env.observation_space, SEVEN), wrapped.observation_space, FitOptions())


@pytest.fixture(scope="module")
def flat_model(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """A PPO that was trained for some steps, as people do, on flat observations."""
    env = FlatObsWrapper(gymnasium.make("MiniGrid-Empty-8x8-v0"))
    model = algorithm("PPO")("MlpPolicy", env, seed=1, n_steps=32, batch_size=32, device="cpu")
    model.learn(64)
    return model, saved(model, tmp_path_factory.mktemp("flat"))


@pytest.mark.parametrize(
    "id", ["Empty-8x8", "GoToDoor-5x5", "BabyAI-GoToRedBall-v0", "MiniGrid-Empty-8x8-v0"]
)
def test_a_model_of_flat_observations_sees_the_mission_of_each_episode(
    flat_model: tuple[Any, Path], id: str
) -> None:
    model, path = flat_model
    lanes = installed().make("environment", f"minigrid:{id}").open(Opening(4))
    seeds = np.arange(4) + 20
    lanes.reset(np.arange(4), seeds)
    policy = Sb3File(path).load(lanes.facts)
    assert policy.needs == ("mission",)
    name = id if id.endswith("-v0") else f"MiniGrid-{id}-v0"
    env = FlatObsWrapper(gymnasium.make(name))
    flat = np.stack([env.reset(seed=int(seed))[0] for seed in seeds])
    views = {"mission": lanes.view("mission")}
    found, _ = policy.fitting(lanes.observe(), np.ones(4, dtype=bool), None, views)
    np.testing.assert_array_equal(found, flat)
    wanted = model.policy.get_distribution(torch.from_numpy(flat)).distribution.probs
    choice = policy(seen(lanes.observe(), views=views))
    np.testing.assert_allclose(choice.probabilities, wanted.detach().numpy(), atol=1e-6)


def test_minigrid_and_gym_play_the_same_episodes_with_it(flat_model: tuple[Any, Path]) -> None:
    from test_sb3_playing import play

    spec = f"sb3:{flat_model[1]},deterministic=false"
    ours, theirs = (play(env, spec) for env in ("minigrid:Empty-8x8", "gym:MiniGrid-Empty-8x8-v0"))
    np.testing.assert_array_equal(ours.total_return, theirs.total_return)
    np.testing.assert_array_equal(ours.length, theirs.length)


def test_a_mission_in_bytes_is_encoded_like_the_same_mission_in_words() -> None:
    pictures = np.arange(2 * 12, dtype=np.uint8).reshape(2, 12)
    text = np.zeros((2, 256), dtype=np.uint8)
    text[:, :9] = np.frombuffer(b"go, get A", dtype=np.uint8)
    rows = np.concatenate([pictures, text], axis=1)
    np.testing.assert_array_equal(WithMissionOfLane(12)(rows), WithMission("go, get A")(pictures))
    rows[1, 12 + 2] = ord("!")
    with pytest.raises(FitError, match="the mission 'go! get A' cannot be encoded"):
        WithMissionOfLane(12)(rows)
    with pytest.raises(FitError, match="take 96 letters"):
        WithMissionOfLane(12)(np.concatenate([pictures, np.full((2, 97), 97, np.uint8)], axis=1))
