"""Files that cannot be loaded are named in one line that says what to do."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from sb3_toys import (
    PUSHES,
    VECTOR,
    entry,
    facts_of,
    rewritten,
    saved,
    train,
    weights_bytes,
    weights_of,
)

from rpd_core.errors import ComponentError, FitError, RpdError, SpecError
from rpd_sb3.loader import Sb3File

TWO = spaces.Discrete(2)
FACTS = facts_of(VECTOR, TWO)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(train("PPO", "MlpPolicy", VECTOR, TWO), tmp_path_factory.mktemp("good"))


def complaint(loader: Sb3File, facts: Any = FACTS, kind: type[RpdError] = SpecError) -> str:
    with pytest.raises(kind) as caught:
        loader.load(facts)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_zip_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "notes.zip"
    with zipfile.ZipFile(path, "w") as zipped:
        zipped.writestr("readme.txt", "hello")
    assert "not a stable-baselines3 file: it holds readme.txt" in complaint(Sb3File(path))


def test_a_file_that_is_no_zip(tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    path.write_bytes(b"hello there")
    assert "model.zip is not a zip file" in complaint(Sb3File(path))


@pytest.mark.parametrize("share", [0.3, 0.9, 0.999])
def test_a_zip_that_was_cut_short(good: Path, tmp_path: Path, share: float) -> None:
    whole = good.read_bytes()
    path = tmp_path / "cut.zip"
    path.write_bytes(whole[: int(len(whole) * share)])
    assert "cut.zip is a zip file that was cut short" in complaint(Sb3File(path))


def test_a_zip_with_a_damaged_byte(good: Path, tmp_path: Path) -> None:
    whole = bytearray(good.read_bytes())
    whole[2000] ^= 255
    path = tmp_path / "damaged.zip"
    path.write_bytes(whole)
    assert "damaged.zip is damaged" in complaint(Sb3File(path))


def test_a_missing_file_and_a_directory(tmp_path: Path) -> None:
    assert "does not exist" in complaint(Sb3File(tmp_path / "no.zip"))
    assert "is a directory" in complaint(Sb3File(tmp_path))


@pytest.mark.parametrize("legacy", [False, True])
def test_weights_alone(good: Path, tmp_path: Path, legacy: bool) -> None:
    path = tmp_path / "policy.pth"
    torch.save(weights_of(good), path, _use_new_zipfile_serialization=not legacy)
    text = complaint(Sb3File(path))
    assert "model.save('model.zip')" in text


def test_a_torchscript_file(tmp_path: Path) -> None:
    path = tmp_path / "net.pt"
    torch.jit.script(torch.nn.Linear(4, 2)).save(path)
    assert "use torchscript:net.pt" in complaint(Sb3File(path))


def test_the_wrong_algorithm(good: Path) -> None:
    assert "algo=dqn is wrong, the file was made by PPO" in complaint(Sb3File(good, algo="dqn"))
    assert "Did you mean 'ppo'?" in complaint(Sb3File(good, algo="ppoo"))
    assert Sb3File(good, algo="PPO").load(FACTS).describe()["algorithm"] == "PPO"


def test_a_model_for_other_actions(good: Path) -> None:
    text = complaint(Sb3File(good), facts_of(VECTOR, spaces.Discrete(3)), FitError)
    assert "acts in Discrete(2), but the toy takes Discrete(3)" in text
    text = complaint(Sb3File(good), facts_of(VECTOR, PUSHES), FitError)
    assert "acts in Discrete(2), but the toy takes Box(2)" in text


def test_a_model_for_other_observations(good: Path) -> None:
    other = spaces.Box(-1.0, 1.0, (3,), np.float32)
    text = complaint(Sb3File(good), facts_of(other, TWO), FitError)
    assert "sees Box(4) float32 -2..3, but the toy gives Box(3) float32 -1..1" in text
    assert "options: key=" in text


def test_weights_that_do_not_belong_to_the_settings(good: Path) -> None:
    path = rewritten(good, {"policy_kwargs": {"net_arch": [3]}})
    assert "weights do not fit ActorCriticPolicy of PPO" in complaint(Sb3File(path))


def test_a_checkpoint_of_a_graphics_card_loads_without_one(good: Path, tmp_path: Path) -> None:
    raw = weights_bytes(weights_of(good))
    moved = tmp_path / "cuda.pth"
    with zipfile.ZipFile(tmp_path / "cpu.pth", "w"):
        pass
    (tmp_path / "cpu.pth").write_bytes(raw)
    with zipfile.ZipFile(tmp_path / "cpu.pth") as old, zipfile.ZipFile(moved, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("data.pkl"):
                assert b"X\x03\x00\x00\x00cpu" in content
                content = content.replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0")
            new.writestr(name, content)
    with pytest.raises(RuntimeError, match="CUDA"):
        torch.load(moved, weights_only=True)
    Sb3File(rewritten(good, policy_pth=moved.read_bytes())).load(FACTS)


def test_a_policy_class_of_the_authors_own(good: Path) -> None:
    own = entry(b"cmine\nMyPolicy\n.")
    path = rewritten(good, {"policy_class": own})
    text = complaint(Sb3File(path))
    assert "its policy class mine.MyPolicy is the author's own" in text
    assert "algo=ppo" in text
    assert "trust=true" in text
    assert Sb3File(path, algo="ppo").load(FACTS).describe()["policy class"] == "ActorCriticPolicy"


def test_an_algorithm_of_contrib_without_contrib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(train("TRPO", "MlpPolicy", VECTOR, TWO), tmp_path)
    Sb3File(path).load(FACTS)  # its policy class is one of stable-baselines3
    path = saved(train("QRDQN", "MlpPolicy", VECTOR, TWO), tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "sb3_contrib.qrdqn.policies", None)
    text = complaint(Sb3File(path), kind=ComponentError)
    assert "QRDQN is part of sb3-contrib" in text
    assert "pip install sb3-contrib" in text


def test_a_file_without_a_policy_class_is_recognised_by_its_weights(tmp_path: Path) -> None:
    for name, action in (("DQN", TWO), ("QRDQN", TWO), ("PPO", TWO), ("SAC", PUSHES)):
        path = rewritten(
            saved(train(name, "MlpPolicy", VECTOR, action), tmp_path), {"policy_class": None}
        )
        assert Sb3File(path).describe()["algorithm"] == name


def test_a_zip_that_would_fill_the_memory_is_refused_before_it_is_read(
    good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rpd_sb3.archive._LARGEST", 1000)
    assert "more than 1 GB: refused" in complaint(Sb3File(good))
