"""Normalisation statistics: found, read, applied, counted as inputs."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from sb3_toys import VECTOR, Toy, batch, facts_of, samples, saved, seen, train
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from rpd_core.config.configuration import component_identity
from rpd_core.errors import FitError, SpecError
from rpd_core.plugin.registry import installed
from rpd_sb3.loader import Sb3File

TWO = spaces.Discrete(2)
PARTS = spaces.Dict({"a": VECTOR, "b": spaces.Box(-1.0, 1.0, (2,), np.float32)})


def identity(loader: Sb3File) -> dict[str, object]:
    """Return what a run's configuration holds of a loader."""
    return component_identity("policy", loader, installed())


def normalizer(space: Any = VECTOR, **settings: Any) -> VecNormalize:
    """Return statistics gathered over a few steps."""
    env = VecNormalize(DummyVecEnv([lambda: Toy(space, TWO)]), clip_obs=0.8, **settings)
    env.seed(1)
    env.reset()
    for _ in range(30):
        env.step(np.array([0]))
    return env


@pytest.fixture(scope="module")
def model() -> Any:
    return train("PPO", "MlpPolicy", VECTOR, TWO)


def agrees(loader: Sb3File, model: Any, env: VecNormalize | None) -> bool:
    rows = batch(samples(VECTOR))
    shown = env.normalize_obs(rows) if env else rows
    loaded = loader.load(facts_of(VECTOR, TWO))
    wanted = model.policy.get_distribution(model.policy.obs_to_tensor(shown)[0]).distribution.probs
    return np.allclose(loaded(seen(rows)).probabilities, wanted.detach().numpy(), atol=1e-6)


def test_statistics_that_are_given_are_applied(tmp_path: Path, model: Any) -> None:
    env = normalizer()
    env.save(str(tmp_path / "stats.pkl"))
    loader = Sb3File(saved(model, tmp_path), vecnormalize=tmp_path / "stats.pkl")
    assert agrees(loader, model, env)
    assert not agrees(loader, model, None)


@pytest.mark.parametrize(
    ("zipped", "place"),
    [
        ("Toy-v1", "Toy-v1/vecnormalize.pkl"),
        ("Toy-v1", "Toy-v1.vecnormalize.pkl"),
        ("Toy-v1", "vecnormalize.pkl"),
        ("Toy-v1", "vec_normalize.pkl"),
        ("best_model", "Toy-v1/vecnormalize.pkl"),
        ("rl_model_500_steps", "rl_model_vecnormalize_500_steps.pkl"),
    ],
)
def test_statistics_beside_the_zip_are_found_and_count_as_input(
    tmp_path: Path, model: Any, zipped: str, place: str
) -> None:
    loader = Sb3File(saved(model, tmp_path, zipped))
    before = identity(loader)
    assert loader.inputs() == ()
    env = normalizer()
    (tmp_path / place).parent.mkdir(exist_ok=True)
    env.save(str(tmp_path / place))
    assert loader.inputs() == (tmp_path / place,)
    assert identity(loader) != before
    assert agrees(loader, model, env)
    assert Path(place).name in loader.load(facts_of(VECTOR, TWO)).describe()["adapted"]


def test_statistics_of_another_model_in_the_folder_are_left_alone(
    tmp_path: Path, model: Any
) -> None:
    (tmp_path / "other").mkdir()
    normalizer().save(str(tmp_path / "other" / "vecnormalize.pkl"))
    loader = Sb3File(saved(model, tmp_path))
    assert loader.inputs() == ()
    assert agrees(loader, model, None)


def test_found_statistics_can_be_switched_off(tmp_path: Path, model: Any) -> None:
    normalizer().save(str(tmp_path / "vecnormalize.pkl"))
    loader = Sb3File(saved(model, tmp_path), normalize=False)
    assert loader.inputs() == ()
    assert agrees(loader, model, None)


def test_statistics_without_pickle_are_read_from_arrays(tmp_path: Path, model: Any) -> None:
    env = normalizer()
    rms = env.obs_rms
    np.savez(
        tmp_path / "s.npz", mean=rms.mean, var=rms.var, epsilon=env.epsilon, clip_obs=env.clip_obs
    )
    assert agrees(Sb3File(saved(model, tmp_path), vecnormalize=tmp_path / "s.npz"), model, env)


def test_statistics_of_rewards_alone_change_nothing(tmp_path: Path, model: Any) -> None:
    normalizer(norm_obs=False).save(str(tmp_path / "vecnormalize.pkl"))
    assert agrees(Sb3File(saved(model, tmp_path)), model, None)


def test_each_part_of_a_dictionary_has_its_own_statistics(tmp_path: Path) -> None:
    model = train("PPO", "MultiInputPolicy", PARTS, TWO)
    env = normalizer(PARTS, norm_obs_keys=["a"])
    env.save(str(tmp_path / "vecnormalize.pkl"))
    rows = samples(PARTS)
    loaded = Sb3File(saved(model, tmp_path)).load(facts_of(PARTS, TWO))
    shown = env.normalize_obs(batch(rows))
    wanted = model.policy.get_distribution(model.policy.obs_to_tensor(shown)[0]).distribution.probs
    found = loaded(seen(batch(rows))).probabilities
    np.testing.assert_allclose(found, wanted.detach().numpy(), atol=1e-6)


def test_statistics_of_another_shape_are_refused(tmp_path: Path, model: Any) -> None:
    normalizer(spaces.Box(-1.0, 1.0, (7,), np.float32)).save(str(tmp_path / "vecnormalize.pkl"))
    with pytest.raises(FitError, match=r"vecnormalize\.pkl.*\(7,\).*Box\(4\).*normalize=false"):
        Sb3File(saved(model, tmp_path)).load(facts_of(VECTOR, TWO))


def test_a_file_that_holds_no_statistics_is_refused(tmp_path: Path, model: Any) -> None:
    (tmp_path / "s.pkl").write_bytes(pickle.dumps({"mean": 1}))
    with pytest.raises(SpecError, match=r"s\.pkl holds no VecNormalize"):
        Sb3File(saved(model, tmp_path), vecnormalize=tmp_path / "s.pkl").load(facts_of(VECTOR, TWO))
    np.savez(tmp_path / "other.npz", weights=np.ones(4))
    with pytest.raises(SpecError, match=r"other\.npz: it has no arrays mean and var"):
        Sb3File(saved(model, tmp_path), vecnormalize=tmp_path / "other.npz").load(
            facts_of(VECTOR, TWO)
        )
    (tmp_path / "s.npz").write_bytes(b"nothing")
    with pytest.raises(SpecError, match=r"s\.npz holds no statistics"):
        Sb3File(saved(model, tmp_path), vecnormalize=tmp_path / "s.npz").load(facts_of(VECTOR, TWO))


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("- - normalize\n    - true", True),
        ("normalize: true", True),
        ("- - normalize\n    - '{''norm_obs'': True, ''norm_reward'': False}'", True),
        ("- - normalize\n    - '{''norm_obs'': False, ''norm_reward'': True}'", False),
        ("- - normalize\n    - false", False),
        ("- - gamma\n    - 0.99", False),
    ],
)
def test_statistics_that_a_configuration_asks_for_are_missed(
    tmp_path: Path, model: Any, line: str, refused: bool
) -> None:
    path = saved(model, tmp_path, "Toy-v1")
    (tmp_path / "Toy-v1").mkdir()
    (tmp_path / "Toy-v1" / "config.yml").write_text(f"!!python/object:x\n{line}\n")
    if refused:
        with pytest.raises(
            SpecError, match=r"config\.yml says.*vecnormalize=FILE.*normalize=false"
        ):
            Sb3File(path).load(facts_of(VECTOR, TWO))
        assert agrees(Sb3File(path, normalize=False), model, None)
    else:
        assert agrees(Sb3File(path), model, None)
