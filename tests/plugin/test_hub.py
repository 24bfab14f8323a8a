"""`hf:` names a file of the hub: pinned to a commit, and read from the cache without a network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from rpd_core.config.configuration import component_identity, file_digest
from rpd_core.config.resolve import choose
from rpd_core.errors import SpecError
from rpd_core.plugin import hub
from rpd_core.plugin.registry import installed

constants = pytest.importorskip("huggingface_hub.constants")
FIRST, SECOND = "1" * 40, "2" * 40


class Cache:
    """A cache of the hub as huggingface_hub lays it out: blobs, snapshots of links, references."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def add(self, repository: str, commit: str, files: dict[str, bytes]) -> None:
        """Add a commit and make it the newest."""
        folder = self.root / f"models--{repository.replace('/', '--')}"
        for number, (name, content) in enumerate(files.items()):
            blob = folder / "blobs" / f"{commit[:4]}{number}"
            link = folder / "snapshots" / commit / name
            for path in (blob, link):
                path.parent.mkdir(parents=True, exist_ok=True)
            blob.write_bytes(content)
            link.symlink_to(blob)
        (folder / "refs").mkdir(exist_ok=True)
        (folder / "refs" / "main").write_text(commit)
        hub.pinned.cache_clear()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: Any) -> Cache:
    """Return an empty cache; the hub cannot be reached."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    hub.pinned.cache_clear()
    return Cache(tmp_path / "hub")


def script(path: Path, seed: int = 0) -> bytes:
    torch.manual_seed(seed)
    torch.jit.script(torch.nn.Linear(4, 2)).save(str(path))
    return path.read_bytes()


def test_a_spec_is_pinned_to_the_commit_that_it_meant(cache: Cache, tmp_path: Path) -> None:
    cache.add("some/policy", FIRST, {"a.pt": script(tmp_path / "a"), "README.md": b"text"})
    chosen = choose(installed(), "policy", "torchscript:hf:some/policy,output=q")
    assert chosen.text == f"torchscript:hf:some/policy@{FIRST}/a.pt,output=q"
    before = component_identity("policy", chosen.recipe, installed())
    cache.add("some/policy", SECOND, {"a.pt": script(tmp_path / "b", 1)})
    again = choose(installed(), "policy", chosen.text)
    assert component_identity("policy", again.recipe, installed()) == before
    newer = choose(installed(), "policy", "torchscript:hf:some/policy/a.pt").recipe
    assert file_digest(newer.path) != file_digest(again.recipe.path)
    older = choose(installed(), "policy", f"torchscript:hf:some/policy@{FIRST}").text
    assert older == f"torchscript:hf:some/policy@{FIRST}/a.pt"


def test_a_repository_of_the_rl_zoo_plays_with_its_statistics(cache: Cache, tmp_path: Path) -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    envs = sb3.common.env_util.make_vec_env("CartPole-v1")
    model = sb3.PPO("MlpPolicy", envs, seed=0, device="cpu")
    model.save(tmp_path / "ppo.zip")
    sb3.common.vec_env.VecNormalize(envs).save(str(tmp_path / "vec_normalize.pkl"))
    files = {
        "README.md": b"text",
        "ppo-CartPole-v1.zip": (tmp_path / "ppo.zip").read_bytes(),
        "ppo-CartPole-v1/policy.pth": b"unpacked",
        "replay.mp4": b"film",
        "vec_normalize.pkl": (tmp_path / "vec_normalize.pkl").read_bytes(),
    }
    cache.add("sb3/ppo-CartPole-v1", FIRST, files)
    recipe = choose(installed(), "policy", "sb3:hf:sb3/ppo-CartPole-v1").recipe
    assert recipe.path.name == "ppo-CartPole-v1.zip"
    assert [path.name for path in recipe.inputs()] == ["vec_normalize.pkl"]
    assert recipe.describe()["algorithm"] == "PPO"


def test_a_file_within_a_spec_within_a_spec_is_pinned_too(cache: Cache, tmp_path: Path) -> None:
    cache.add("some/policy", FIRST, {"a.pt": script(tmp_path / "a")})
    chosen = choose(installed(), "default-action", "policy:torchscript:hf:some/policy")
    assert chosen.text == f"policy:torchscript:hf:some/policy@{FIRST}/a.pt"


def test_a_bare_file_of_the_hub_finds_its_loader(cache: Cache, tmp_path: Path) -> None:
    cache.add("some/policy", FIRST, {"model.bin": script(tmp_path / "a")})
    chosen = choose(installed(), "policy", "hf:some/policy/model.bin")
    assert chosen.text == f"torchscript:hf:some/policy@{FIRST}/model.bin"


def test_of_several_files_one_has_to_be_named(cache: Cache, tmp_path: Path) -> None:
    content = script(tmp_path / "a")
    cache.add("some/policy", FIRST, {"a.pt": content, "b.pt": content, "c.txt": b"text"})
    with pytest.raises(SpecError) as caught:
        choose(installed(), "policy", "torchscript:hf:some/policy")
    assert str(caught.value) == (
        "'some/policy' on the hub has 'a.pt', 'b.pt': name the file that is meant, "
        "hf:some/policy/FILE"
    )
    with pytest.raises(SpecError, match=r"has no file 'c\.pt'\. Did you mean"):
        choose(installed(), "policy", "torchscript:hf:some/policy/c.pt")
    with pytest.raises(SpecError, match=r"has 'a\.pt', 'b\.pt', 'c\.txt': name the file"):
        choose(installed(), "policy", "sb3:hf:some/policy")
    with pytest.raises(SpecError, match=r"has 'a\.pt', 'b\.pt', 'c\.txt': name the file"):
        choose(installed(), "policy", "hf:some/policy")


def test_files_in_folders_count_where_none_lies_outside(cache: Cache, tmp_path: Path) -> None:
    content = script(tmp_path / "a")
    cache.add("some/policy", FIRST, {"a.pt": content, "inner/policy.pt": content})
    assert hub.pinned("hf:some/policy", r".+\.pt").endswith("/a.pt")
    cache.add("some/other", FIRST, {"inner/policy.pt": content})
    assert hub.pinned("hf:some/other", r".+\.pt").endswith("/inner/policy.pt")


@pytest.mark.parametrize("text", ["hf:", "hf:owner", "hf:a/b/../c", "hf:a/b/", "hf:a b/c"])
def test_what_names_nothing_on_the_hub_says_how_to(cache: Cache, text: str) -> None:
    with pytest.raises(SpecError, match="is no file of the hub: write hf:OWNER/REPO"):
        hub.pinned(text)


def test_what_is_neither_there_nor_here_is_one_line(cache: Cache) -> None:
    with pytest.raises(SpecError, match=r"'a/b' can neither be had from the hub nor from its cac"):
        choose(installed(), "policy", "sb3:hf:a/b")


@pytest.mark.parametrize(
    "how", [{"HF_HUB_OFFLINE": "1"}, {"HF_ENDPOINT": "http://127.0.0.1:9"}], ids=["off", "gone"]
)
def test_the_command_line_plays_from_the_cache(how: dict[str, str], tmp_path: Path) -> None:
    Cache(tmp_path / "hub").add("some/policy", FIRST, {"a.pt": script(tmp_path / "a")})
    command = [sys.executable, "-m", "rpd_core.cli.main", "describe", "policy", "--json"]
    done = subprocess.run(
        [*command, "torchscript:hf:some/policy"],
        env={**os.environ, "HF_HOME": str(tmp_path), **how},
        capture_output=True,
        text=True,
        check=False,
    )
    assert json.loads(done.stdout)["format"] == "TorchScript", done.stderr
