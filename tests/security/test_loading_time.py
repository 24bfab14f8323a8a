"""Loading a policy has a limit, which says so in one line: for readers, and for whoever hangs."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SLOW = "import time; time.sleep(1000)"
"""A module that is imported when the policy is loaded."""
WORLD = ("--env", "python:ill_worlds:well", "--default-action", "constant:0")
SMALL = ("--abstraction", "identity", "--episodes", "20")
TOOK = "longer --load-timeout gives it more time"


def ended(start: Callable[..., Any], *words: object) -> tuple[str, float]:
    begun = time.monotonic()
    process = start(*words)
    stdout, stderr = process.communicate(timeout=120)
    assert (process.returncode, stdout) == (2, "")
    told = [line for line in stderr.splitlines() if "note:" not in line]
    assert len(told) == 1, stderr
    return told[0], time.monotonic() - begun


@pytest.mark.parametrize("command", ["run", "suite"])
def test_a_policy_that_is_never_loaded_is_given_up_in_a_worker(
    start: Callable[..., Any], tmp_path: Path, command: str
) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    words = (*WORLD, "--policy", "python:slow:hangs", *SMALL, "--load-timeout", "1")
    told, seconds = ended(start, command, *words, "--workers", "1", "--out", "run")
    assert "loading the policy has not ended after" in told
    assert TOOK in told
    assert seconds < 100


def test_nor_is_it_waited_for_where_it_is_described(
    start: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    words = ("policy", "python:slow:hangs", "--env", "python:ill_worlds:well")
    told, _ = ended(start, "describe", *words, "--load-timeout", "1")
    assert TOOK in told


def test_a_time_that_is_none_is_one_line(start: Callable[..., Any]) -> None:
    words = ("describe", "policy", "cartpole", "--env", "cartpole", "--load-timeout", "0")
    assert ended(start, *words)[0] == "rpd: load_timeout must be above 0 seconds, got 0"
