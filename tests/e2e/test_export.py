"""A pruned policy as a file, used again."""

from __future__ import annotations

import json
import os
import zipfile

import numpy as np
import pytest
from commands import rpd_command

import rpd
from rpd_basics.pruned import PrunedFile
from rpd_core.chance import Phase, episode_keys
from rpd_core.errors import SpecError
from rpd_core.play.loop import Plan, Player
from rpd_core.play.recipe import policy_alone
from rpd_core.plugin.protocols import Opening
from rpd_core.results.words import few
from rpd_gym.cartpole import CartPole
from rpd_kit import check_component

RUN = [
    "--env", "cartpole", "--episodes", "2500", "--test-episodes", "25", "--workers", "1",
    "--confirm-episodes", "200", "--confirm-margin", "0.1", "--unmutated-episodes", "50",
]  # fmt: skip


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("exported")

    rpd_command("run", *RUN, "--out", tmp_path / "r")
    result = rpd_command(
        "prune", tmp_path / "r", "--export", tmp_path / "small.rpd", "--workers", "1"
    )
    assert result.exit_code == 0, result.output
    assert f"--policy pruned:{tmp_path / 'small.rpd'}" in result.stderr.replace("\n", "")
    policy = rpd.open_run(tmp_path / "r").policy(0.9)
    assert policy is not None
    told = " ".join(result.stderr.split())
    assert f"mean return at least {few(policy.return_bound)} with 95% confidence" in told
    return tmp_path / "small.rpd", policy


def test_an_exported_policy_earns_exactly_what_was_confirmed(exported):
    path, confirmed = exported
    lanes = CartPole().task().lanes
    player = Player(policy_alone(CartPole(), PrunedFile(path), lanes))
    blocks = (200, 200, 400)  # what each look adds
    looks = [episode_keys(0, Phase.CONFIRM, np.arange(n), part) for part, n in enumerate(blocks)]
    identity = np.concatenate(looks)[: confirmed.episodes]
    plan = Plan(np.arange(confirmed.episodes), identity)
    played = player.play(plan, lambda keys, at: np.ones(len(keys), dtype=bool))
    assert played.total_return.mean() == confirmed.return_mean


def test_an_exported_policy_carries_its_decisions_and_what_it_promises(exported):
    path, confirmed = exported
    about = PrunedFile(path).about()
    promised = about["certificate"]
    assert promised["return_bound"] == confirmed.return_bound < confirmed.return_mean
    assert (promised["confidence"], promised["fraction"]) == (0.95, 0.9)
    assert (promised["episodes"], promised["calls_saved"]) == (
        confirmed.episodes, 1 - confirmed.steps,
    )  # fmt: skip
    assert len(about["decisions"]) == confirmed.kept
    assert all("cart" in one["state"] for one in about["decisions"])
    assert PrunedFile(path).describe()["certificate"].startswith("mean return at least")


def test_a_promise_that_was_tampered_with_is_left_out(exported, tmp_path):
    forged = tmp_path / "forged.rpd"
    with zipfile.ZipFile(exported[0]) as old, zipfile.ZipFile(forged, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "pruned.json":
                about = json.loads(content)
                about["certificate"]["return_bound"] = 10**400  # no float is as large
                content = json.dumps(about).encode()
            new.writestr(name, content)
    assert PrunedFile(forged).describe()["certificate"] == "none"


def test_it_can_be_analysed_like_any_other_policy(exported, cli):
    path, confirmed = exported
    told = cli("describe", "policy", f"pruned:{path}", "--env", "cartpole", "--json")
    assert told.exit_code == 0, told.output
    about = json.loads(told.stdout)
    assert about["pruned to"] == f"{confirmed.kept} states"
    assert about["return_mean"] > 150


def test_it_conforms_like_any_other_policy(exported):
    path, _ = exported
    assert check_component("policy", f"pruned:{path}", environment="cartpole") == []


def test_predict_follows_stable_baselines3(exported):
    import gymnasium

    path, _ = exported
    predictor = rpd.PrunedPredictor(path)
    env = gymnasium.make("CartPole-v1", max_episode_steps=200)
    returns = []
    for seed in range(5):
        observation, _ = env.reset(seed=seed)
        state, total, over = None, 0.0, False
        while not over:
            action, state = predictor.predict(observation, state)
            observation, reward, terminated, truncated, _ = env.step(int(action))
            total += float(reward)
            over = terminated or truncated
        returns.append(total)
    assert np.mean(returns) > 150
    actions, _ = predictor.predict(np.zeros((3, 4), dtype=np.float32))
    assert actions.shape == (3,)


def test_a_file_that_is_something_else_is_refused(tmp_path, cli):
    (tmp_path / "not.rpd").write_text("hello")
    with pytest.raises(SpecError, match="is not an exported pruned policy"):
        PrunedFile(tmp_path / "not.rpd").about()
    result = rpd_command(
        "describe", "policy", f"pruned:{tmp_path / 'not.rpd'}", "--env", "cartpole"
    )
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1


@pytest.mark.slow
def test_the_files_of_the_policy_travel_inside(cli, tmp_path, monkeypatch):
    import torch
    from stable_baselines3 import PPO

    torch.set_num_threads(1)
    folder = tmp_path / "agents"
    folder.mkdir()
    PPO("MlpPolicy", "CartPole-v1", seed=0, device="cpu", n_steps=64).learn(64).save(
        folder / "ppo.zip"
    )
    words = ["--policy", "sb3:agents/ppo.zip", "--condition", "auto", "--workers", "1"]
    words += [
        "--episodes",
        "300",
        "--test-episodes",
        "5",
        "--confirm-episodes",
        "40",
        "--confirm-tries",
        "1",
    ]
    words += ["--unmutated-episodes", "20"]
    result = rpd_command("run", "--env", "cartpole", *words, "--out", tmp_path / "r")
    assert result.exit_code == 0, result.output
    contents = []
    for seconds in (0, 10**9):  # a zip knows no time before 1980
        os.utime(folder / "ppo.zip", (seconds, seconds))
        exported = cli("prune", tmp_path / "r", "--export", tmp_path / "p.rpd", "--workers", "1")
        assert exported.exit_code == 0, exported.output
        contents.append((tmp_path / "p.rpd").read_bytes())
    assert contents[0] == contents[1]
    (folder / "ppo.zip").unlink()
    monkeypatch.chdir("/")
    told = cli("describe", "policy", f"pruned:{tmp_path / 'p.rpd'}", "--env", "cartpole", "--json")
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["algorithm"] == "PPO"


def repacked(source, target, **changes):
    """Copy a pruned policy with some of what it says of itself changed."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "pruned.json":
                about = json.loads(content) | changes
                content = json.dumps({k: v for k, v in about.items() if v is not ...}).encode()
            new.writestr(name, content)
    return target


CODE = "may run code that came with it: refused"


@pytest.mark.parametrize(
    "changes",
    [
        {"policy": "python:os:system"},
        {"policy": "sb3:nowhere.zip,extractor=os:system"},
        {"default_action": "policy:python:os:system"},
        {"default_action": "python:os:system"},
        {"abstraction": ["python:os:system"]},
    ],
)
def test_a_pruned_policy_that_names_code_is_refused(exported, tmp_path, changes):
    path = repacked(exported[0], tmp_path / "evil.rpd", **changes)
    with pytest.raises(SpecError, match=CODE):
        PrunedFile(path).load(CartPole().open(Opening(1)).facts)
    with pytest.raises(SpecError, match=CODE):
        rpd.PrunedPredictor(path)


@pytest.mark.parametrize("env", ["python:subprocess:getoutput,kwargs=cmd=ls", "gym:os:Thing-v0"])
def test_an_environment_that_a_pruned_policy_names_runs_no_code_either(exported, tmp_path, env):
    path = repacked(exported[0], tmp_path / "evil.rpd", env=env)
    with pytest.raises(SpecError, match=CODE):
        PrunedFile(path).environment()
    assert rpd.load(path).action_space.n == 2  # which makes no environment
    with pytest.raises(SpecError, match=CODE):
        rpd.load(repacked(path, tmp_path / "old.rpd", facts=...))


def test_a_pruned_policy_inside_another_has_no_file_but_its_own(exported, tmp_path):
    path = repacked(exported[0], tmp_path / "evil.rpd", policy=f"pruned:{exported[0]}")
    with pytest.raises(SpecError, match="is not an exported pruned policy"):
        rpd.PrunedPredictor(path)


def test_only_its_reader_trusts_a_file(exported, tmp_path):
    """A file that says itself that it is trusted is believed in nothing."""
    nested = f"pruned:{exported[0]},trust=true"
    path = repacked(exported[0], tmp_path / "sure.rpd", default_action=f"policy:{nested}")
    with pytest.raises(SpecError, match=CODE):
        rpd.PrunedPredictor(path)
    trusting = PrunedFile(path, trust=True)._made("policy", f"pruned:{exported[0]}")
    assert trusting == PrunedFile(exported[0], trust=True)
    assert b"trust" not in zipfile.ZipFile(exported[0]).read("pruned.json")


@pytest.mark.parametrize(
    "changes", [{"policy": None}, {"inputs": []}, {"fitted": 3}, {"format": 1}, {"fitted": [3]}]
)
def test_a_damaged_pruned_policy_is_refused_in_one_line(exported, tmp_path, changes):
    path = repacked(exported[0], tmp_path / "odd.rpd", **changes)
    with pytest.raises(SpecError):
        PrunedFile(path).load(CartPole().open(Opening(1)).facts)


def test_a_pruned_policy_cannot_write_outside_its_folder(exported, tmp_path):
    path, _ = exported
    about = PrunedFile(path).about()
    about["inputs"] = {"policy.path": {"file": "/x", "member": "../../escaped"}}
    with zipfile.ZipFile(path) as archive:
        keys = {name: archive.read(name) for name in ("keys.npy", "ranked.npy")}
    with zipfile.ZipFile(tmp_path / "evil.rpd", "w") as archive:
        archive.writestr("pruned.json", json.dumps(about))
        archive.writestr("../../escaped", b"boo")
        for name, content in keys.items():
            archive.writestr(name, content)
    facts = CartPole().open(Opening(1)).facts
    with pytest.raises(SpecError, match="outside its folder"):
        PrunedFile(tmp_path / "evil.rpd").load(facts)


def test_a_pruned_policy_that_would_fill_the_memory_is_refused(exported, monkeypatch):
    monkeypatch.setattr("rpd_basics.pruned._LARGEST", 1000)
    with pytest.raises(SpecError, match="unpacks to more than 2 GB: refused"):
        PrunedFile(exported[0]).about()
