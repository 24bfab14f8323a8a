"""Nothing waits for ever: what hangs is ended, and told with where it was."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from watching import is_running, wait_until

SUITE = [
    "suite", "--yes", "--default-action", "constant:0", "--episodes", "40", "--workers", "1",
    "--abstraction", "identity",
]  # fmt: skip
STALL = ["--stall-timeout", "4"]


def words(world: str, policy: str = "goes") -> list[str]:
    spec = f"python:ill_worlds:{world},rebuild=false"
    return [*SUITE, "--env", spec, "--policy", f"python:ill_worlds:{policy}", "--out", "out"]


def told(process, seconds: float = 60) -> str:
    """Return the last line of a command that is to end with code 2."""
    stdout, stderr = process.communicate(timeout=seconds)
    assert (process.returncode, stdout) == (2, ""), stderr
    assert "Traceback" not in stderr
    return stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "world",
    ["in_step", *(pytest.param(one, marks=pytest.mark.slow) for one in ("in_reset", "busy"))],
)
def test_an_environment_that_hangs_is_ended_and_told_with_episode_and_seed(
    start: Callable, world: str
) -> None:
    line = told(start(*words(world), *STALL))
    pattern = r"no progress for [4-9] seconds in episode \d+ \(environment seed \d+\)"
    assert re.search(pattern, line), line
    assert "episodes 0 to 39: the environment or the policy hangs" in line


def test_a_policy_that_hangs_is_ended(start: Callable) -> None:
    line = told(start(*words("well", "hangs"), *STALL))
    assert "of episodes 0 to 39: the environment or the policy hangs" in line


def test_an_environment_that_hangs_in_the_hands_of_rpd_itself_is_told(start: Callable) -> None:
    line = told(start(*words("in_close"), *STALL))
    assert "which is made and closed to look at it: the environment or the policy hangs" in line


def test_a_policy_that_hangs_while_it_is_described_is_told(start: Callable) -> None:
    policy = ["describe", "policy", "python:ill_worlds:hangs", "--env", "python:ill_worlds:well"]
    assert "the environment or the policy hangs" in told(start(*policy, *STALL))


def test_a_stopped_worker_is_noticed(start: Callable, tmp_path: Path) -> None:
    process = start(*words("slow"), *STALL)
    assert wait_until((tmp_path / "number").is_file, 60)
    assert wait_until(lambda: (tmp_path / "number").read_text() != "")
    number = int((tmp_path / "number").read_text())
    os.kill(number, signal.SIGSTOP)
    assert "in episode" in told(process)
    assert not is_running(number)


def test_an_environment_that_ends_its_process_is_told_with_one_worker(start: Callable) -> None:
    line = told(start(*words("ends")))
    assert "the worker process ended with exit code 0" in line
    assert line.endswith("4 times, while doing episodes 0 to 39")


def test_programs_that_nobody_closed_end_with_the_worker(start: Callable, tmp_path: Path) -> None:
    process = start(*words("leaves"))
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    programs = [int(line) for line in (tmp_path / "programs").read_text().split()]
    assert len(programs) >= 2
    assert wait_until(lambda: not any(map(is_running, programs)), 10)


def test_they_end_also_when_rpd_is_killed(start: Callable, tmp_path: Path) -> None:
    many = ["--episodes", "1000000"]
    process = start(*words("leaves"), *many, stderr=None)
    assert wait_until((tmp_path / "programs").is_file, 60)
    assert wait_until(lambda: len((tmp_path / "programs").read_text().split()) > 1)
    os.kill(process.pid, signal.SIGKILL)
    programs = [int(line) for line in (tmp_path / "programs").read_text().split()]
    assert wait_until(lambda: not any(map(is_running, programs)), 30)
