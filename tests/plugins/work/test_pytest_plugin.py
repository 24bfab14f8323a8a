"""The pytest plugin, in a pytest of its own, and what it costs where it is not used."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rpd
from rpd_compare.records import Need
from rpd_work.regression import faults_of

WORLD = """
import gymnasium
import numpy as np
from gymnasium import spaces


class Steps(gymnasium.Env):
    observation_space = spaces.Discrete(12)
    action_space = spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = int(self.np_random.integers(3))
        return self.at, {}

    def step(self, action):
        harmless = self.at not in (4, 7)
        good = harmless or action == 1 or (self.at == 7 and action == 2)
        self.at += 1
        return self.at, float(good), not good, self.at >= 10, {}


def old(seen):
    return np.isin(seen, (4, 7)).astype(np.int64)


def same(seen):
    return old(seen)


def other(seen):
    return np.where(seen == 7, 2, old(seen))


def always(seen):
    return np.ones(len(seen), dtype=np.int64)
"""
TESTS = """
def test_the_same_again(rpd_policy):
    found = rpd_policy("python:steps_world:same", like="old", trust_policy=True, at_least=8.5)
    assert len(found.needed("both")) == 2

def test_acts_otherwise(rpd_policy):
    rpd_policy("python:steps_world:other", like="old", trust_policy=True, at_least=8.5)

def test_other_rules_are_fine(rpd_policy):
    rpd_policy("python:steps_world:other", like="old", trust_policy=True, same_rules=False)

def test_too_little(rpd_policy):
    rpd_policy("python:steps_world:same", like="old", trust_policy=True, at_least=50)
"""


def pytest_in(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return subprocess.run([*command, *words], cwd=folder, capture_output=True, text=True)


def test_a_policy_passes_where_it_needs_no_more_and_fails_where_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "steps_world.py").write_text(WORLD)
    (tmp_path / "test_policy.py").write_text(TESTS)
    monkeypatch.chdir(tmp_path)
    rpd.run(
        "python:steps_world:Steps", "python:steps_world:old", out="old", episodes=200,
        default_action="constant:0", confirm_episodes=50, progress=False, finish=(),
        note=lambda text: None, abstraction="identity",
    )  # fmt: skip
    done = pytest_in(tmp_path)
    assert "2 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert "it acts otherwise in 1 decisions that both need:\n  7: 1 before, 2 now" in done.stdout
    assert "its mean return is 8.98, below 50" in done.stdout
    assert "Traceback" not in done.stdout


def test_faults_name_what_is_needed_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old policy as the new one: what it needs and the other did not."""
    (tmp_path / "lazy_world.py").write_text(WORLD)
    monkeypatch.chdir(tmp_path)
    how: Any = {"progress": False, "finish": (), "note": lambda text: None}
    rpd.run(
        "python:lazy_world:Steps", "python:lazy_world:old", out="a", episodes=200,
        default_action="constant:0", confirm_episodes=50, abstraction="identity", **how,
    )  # fmt: skip
    found = rpd.compare(
        "a", rpd.run(policy="python:lazy_world:same", like="a", trust_policy=True, out="b", **how)
    )
    gone = replace(found, needs=tuple(replace(row, need=Need.NEW, a=None) for row in found.needs))
    assert faults_of(found, 0, 0.0, True, 8.98) == []
    first, *rest = faults_of(gone, 1, 0.0, True, None)
    assert first == "it needs 2 decisions that the old policy did not, 1 allowed:"
    assert [line.partition(", loses")[0] for line in rest] == ["  4: 1", "  7: 1"]
    assert faults_of(gone, 2, 0.0, True, None) == []
    assert faults_of(gone, 0, 2.0, True, None) == []


def test_pytest_imports_nothing_of_rpd_until_it_is_asked(tmp_path: Path) -> None:
    (tmp_path / "test_light.py").write_text(
        "import sys\n\n"
        "def test_light():\n"
        "    heavy = {'rpd', 'rpd_core', 'rpd_compare', 'numpy', 'torch', 'gymnasium'}\n"
        "    assert 'rpd_work.pytest_plugin' in sys.modules\n"
        "    assert not heavy & set(sys.modules)\n"
    )
    done = pytest_in(tmp_path, "-p", "no:hypothesispytest", "-p", "no:jaxtyping")
    assert done.returncode == 0, done.stdout
