"""Environments that start a program of their own: rpd leaves none behind."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from watching import is_running, wait_until

ENGINE = """
import pathlib, subprocess
import gymnasium
from gymnasium import spaces


class Engine(gymnasium.Env):
    observation_space = spaces.Discrete(30)
    action_space = spaces.Discrete(2)

    def __init__(self):
        self.program = subprocess.Popen(
            ["sleep", "600"], stdout=-3, stderr=-3, start_new_session=True
        )
        with pathlib.Path("programs").open("a") as programs:
            programs.write(f"{self.program.pid}\\n")

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return 0, {}

    def step(self, action):
        self.place += int(action)
        return self.place, float(action), self.place == 20, False, {}

    def close(self):
        self.program.kill()
        self.program.wait()


def on(seen):
    return seen * 0 + 1


def off(seen):
    raise SystemExit(0)
"""
WORDS = [
    "suite", "--env", "python:engine:Engine,max_steps=40", "--policy", "python:engine:on",
    "--default-action", "constant:0",
]  # fmt: skip


LANES = 64
"""Of environments that nobody has tuned."""


def running(folder: Path) -> list[int]:
    """Give the programs that environments started and that have not ended."""
    if not (folder / "programs").exists():
        return []
    return [
        int(line) for line in (folder / "programs").read_text().split() if is_running(int(line))
    ]


def none_left(folder: Path) -> bool:
    return wait_until(lambda: not running(folder))


@pytest.fixture
def engine(tmp_path):
    (tmp_path / "engine.py").write_text(ENGINE)
    yield tmp_path
    for program in running(tmp_path):
        os.kill(program, signal.SIGKILL)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_finished_run_leaves_no_program_behind(rpd, engine, workers):
    finished = rpd(*WORDS, "--episodes", "40", "--workers", workers)
    assert finished.returncode == 0, finished.stderr
    assert len((engine / "programs").read_text().split()) > 40
    assert none_left(engine)


@pytest.mark.parametrize(
    ("number", "workers", "code"),
    [
        (signal.SIGINT, "2", 130),
        (signal.SIGKILL, "2", -9),
        (signal.SIGTERM, "1", 143),
        pytest.param(signal.SIGTERM, "2", 143, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, "1", 129, marks=pytest.mark.slow),
    ],
)
def test_a_run_that_is_stopped_leaves_no_program_behind(rpd, engine, number, workers, code):
    process = started(rpd, engine, workers)
    os.kill(process.pid, number)  # the command alone, not its workers
    _, told = process.communicate(timeout=60)
    assert process.returncode == code
    assert "Traceback" not in told
    assert ("Run the same command again" in told) == (number != signal.SIGKILL)
    assert none_left(engine)


def test_a_terminal_that_is_closed_ends_the_workers_too(rpd, engine):
    process = started(rpd, engine, "2")
    os.killpg(process.pid, signal.SIGHUP)
    process.communicate(timeout=60)
    assert process.returncode == 129
    assert none_left(engine)


def started(rpd, engine, workers):
    words = [*WORDS, "--episodes", "200000", "--workers", workers, "--out", "stopped"]
    process = rpd.start(*words)

    def under_way():
        """All lanes are open: one that is interrupted in its constructor is in nobody's hands."""
        assert process.poll() is None, process.communicate()
        parts = list(engine.glob("stopped/suite/episodes/part-*"))
        return bool(parts) and len(running(engine)) >= LANES * int(workers)

    def settled():
        """No lane was opened for a while: the last of them may have been on its way."""
        before = len(running(engine))
        time.sleep(0.5)
        return under_way() and len(running(engine)) == before

    assert wait_until(under_way, 120)
    assert wait_until(settled, 120)
    return process


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("policy", ["off", "missing"])
def test_a_policy_that_fails_or_ends_the_program_leaves_none_either(rpd, engine, policy, workers):
    words = [word.replace("engine:on", f"engine:{policy}") for word in WORDS]
    failed = rpd(*words, "--episodes", "40", "--workers", workers)
    assert failed.returncode == 2
    told = {"off": "wants to end rpd (SystemExit: 0)", "missing": "has no attribute 'missing'"}
    assert told[policy] in failed.stderr
    assert failed.stderr.count("\n") == 1
    assert none_left(engine)
