"""Looking at finished runs: other analyses, episodes again, on another machine."""

from __future__ import annotations

import json
import shutil

import pytest
from commands import QUICK


def test_show_names_the_analyses_beside_the_one_it_shows(cli, finished, tmp_path):
    path = finished.copy(tmp_path)
    (usual,) = (one.name for one in (path / "analyses").iterdir() if one.is_dir())
    assert "Other analyses" not in cli("show", path).stdout
    pruned = cli(
        "prune", path, "--condition", "length>=150", "--analysis", "long", "--workers", "1"
    )
    assert pruned.exit_code == 0, pruned.output
    told = cli("show", path).stdout
    assert "pass length>=150" in " ".join(told.split())
    assert f"Other analyses (--analysis NAME): {usual}" in told
    before = cli("show", path, "--analysis", usual).stdout
    assert "pass return>=200" in " ".join(before.split())
    assert "Other analyses (--analysis NAME): long" in before
    assert (
        json.loads(cli("show", path, "--analysis", "long", "--json").stdout)["analysis"] == "long"
    )
    wrong = cli("show", path, "--analysis", "lang")
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert "has no analysis 'lang'. Did you mean 'long'?" in wrong.stderr


@pytest.mark.parametrize(
    "episode", ["suite:17", "17", "original:3", "default:3", "pruned:3", "tarantula@0:2"]
)
def test_an_episode_is_replayed_as_it_was_stored(cli, finished, episode):
    told = cli("replay", finished.path, episode, "--json")
    assert told.exit_code == 0, told.output
    played = json.loads(told.stdout)
    assert played["total_return"] == played["stored_return"] == len(played["steps"])
    assert all(step["state"].startswith("cart ") for step in played["steps"])
    assert {step["action"] for step in played["steps"]} <= {"left", "right"}
    deciders = {step["decided_by"] for step in played["steps"]}
    alone = {"original:3": {"policy"}, "default:3": {"default"}, "tarantula@0:2": {"default"}}
    assert deciders == alone.get(episode, {"policy", "default"})


def test_a_replay_ends_with_what_it_earned(cli, finished):
    told = cli("replay", finished.path, "original:0").stdout
    assert told.splitlines()[-1] == "original:0: return 200 in 200 steps (as stored)"


@pytest.mark.parametrize(
    ("episode", "told"),
    [
        ("suite:2500", "there is no episode suite:2500: they go from 0 to 2499"),
        ("original:25", "there is no episode original:25: they go from 0 to 24"),
        ("suite", "'suite' is not the name of an episode: write suite:17"),
        ("suit:3", "'suit' names no episodes: there are suite, original, default, pruned"),
        ("tarantul@3:0", "Did you mean 'tarantula'?"),
    ],
)
def test_an_episode_that_is_not_there_is_one_line(cli, finished, episode, told):
    refused = cli("replay", finished.path, episode)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert told in refused.stderr
    assert refused.stderr.count("\n") == 1


@pytest.mark.slow
def test_an_episode_that_is_played_otherwise_today_is_told_with_exit_code_3(rpd, tmp_path):
    (tmp_path / "changing.py").write_text(CHANGING)
    ran = rpd(*RUN, "--out", "run")
    assert ran.returncode == 0, ran.stderr
    same = rpd("replay", "run", "original:0", "--trust-policy")
    assert same.returncode == 0, same.stderr
    assert "return 6 in 6 steps (as stored)" in same.stdout
    untrusted = rpd("replay", "run", "original:0")
    assert untrusted.returncode == 2
    assert "which may run code that came with it: refused" in untrusted.stderr
    (tmp_path / "season.txt").write_text("winter")
    other = rpd("replay", "run", "original:0", "--trust-policy")
    assert other.returncode == 3, other.stderr
    assert "return 12 in 6 steps (stored: 6)" in other.stdout
    assert "the return is 12.0 now and 6.0 as stored" in other.stderr


CHANGING = """
from pathlib import Path
import gymnasium

class Seasons(gymnasium.Env):
    observation_space = gymnasium.spaces.Discrete(7)
    action_space = gymnasium.spaces.Discrete(2)
    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return self.at, {}
    def step(self, action):
        self.at += 1
        worth = 2.0 if Path("season.txt").exists() else 1.0
        return self.at, worth * float(action), self.at == 6, False, {}

def make():
    return gymnasium.wrappers.TimeLimit(Seasons(), 9)
def ones(seen):
    return seen * 0 + 1
"""
RUN = [
    "run", "--env", "python:changing:make", "--policy", "python:changing:ones",
    "--default-action", "constant:0", "--episodes", "60", "--test-episodes", "3", "--workers", "1",
    *QUICK,
]  # fmt: skip


@pytest.mark.slow
def test_a_run_copied_to_another_machine_is_ranked_without_its_policy_or_environment(rpd, tmp_path):
    """The other machine has neither the module nor, in the policy's place, anything at all."""
    home, away = tmp_path / "home", tmp_path / "away"
    home.mkdir()
    (tmp_path / "changing.py").write_text(CHANGING)
    ran = rpd(*RUN, "--out", "home/run")
    assert ran.returncode == 0, ran.stderr
    before = rpd("rank", "home/run", "--measure", "ochiai", "--json")
    assert before.returncode == 0, before.stderr
    shutil.move(home, away)
    (tmp_path / "changing.py").unlink()
    for folder in [away / "run", *(away / "run").rglob("*")]:
        folder.chmod(0o555 if folder.is_dir() else 0o444)
    after = rpd("rank", "away/run", "--measure", "ochiai", "--json")
    assert (after.returncode, after.stderr) == (0, "")
    assert after.stdout == before.stdout
    assert len(json.loads(after.stdout)["rankings"]["ochiai"]) == 3, "half of them never differ"
    shown = rpd("show", "away/run")
    assert shown.returncode == 0, shown.stderr
    assert "python:changing:ones on python:changing:make: states by " in shown.stdout
    for folder in [away / "run", *(away / "run").rglob("*")]:
        folder.chmod(0o755 if folder.is_dir() else 0o644)
