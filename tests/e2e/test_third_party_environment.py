"""A stranger's environments, installed with pip and declared for Gymnasium."""

from __future__ import annotations

import json

import pytest
from commands import QUICK
from distributions import write_distribution

WORLDS = """
import gymnasium
import numpy as np


class Corridor(gymnasium.Env):
    '''Go right from 0 to 4; every step costs one.'''
    observation_space = gymnasium.spaces.Discrete(5)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.at = int(self.np_random.integers(2))
        return self.at, {}

    def step(self, action):
        self.at = min(4, max(0, self.at + (1 if action else -1)))
        return self.at, -1.0, self.at == 4, False, {}


def register():
    gymnasium.register("Corridor-v0", entry_point="strangers_worlds:Corridor", max_episode_steps=20)


def register_more():
    gymnasium.register("Passage-v0", entry_point="strangers_worlds:Corridor", max_episode_steps=9)


def break_down():
    raise RuntimeError("no licence")


def right(observations):
    return np.ones(len(observations), dtype=int)
"""


ENTRIES = {
    "gymnasium.envs": {
        "__root__": "strangers_worlds:register",
        "stranger": "strangers_worlds:register",
        "broken": "strangers_worlds:break_down",
    },
    "gymnasium.envs.__root__": {"anything": "strangers_worlds:register_more"},
}


@pytest.mark.slow
def test_declared_environments_work_in_every_process_and_a_broken_one_is_named(scratch, tmp_path):
    modules = {"strangers_worlds": WORLDS}
    folder = tmp_path / "project"
    scratch.install(write_distribution(folder, "strangers-worlds", modules, ENTRIES))
    for name in ("Corridor-v0", "stranger/Corridor-v0"):
        out = str(tmp_path / name.replace("/", "-"))
        ran = scratch.rpd(
            "run", "--env", f"gym:{name}", "--policy", "python:strangers_worlds:right",
            "--episodes", "200", "--test-episodes", "10", "--workers", "2", *QUICK, "--out", out,
            "--json",
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        summary = json.loads(ran.stdout)
        assert summary["suite"]["states"] == 4  # cells 0 to 3: nothing is decided in the last
        assert -4 <= summary["original"]["return_mean"] <= -3

    other = scratch.rpd("run", "--env", "gym:Passage-v0", "--policy", "random", "--dry-run")
    assert other.returncode == 0, other.stderr

    missing = scratch.rpd("run", "--env", "gym:Corridr-v0", "--policy", "random")
    assert missing.returncode == 2
    assert "Did you mean 'Corridor-v0'?" in missing.stderr
    assert "(strangers_worlds:break_down failed: RuntimeError: no licence)" in missing.stderr
    scratch.pip("uninstall", "-y", "strangers-worlds")
