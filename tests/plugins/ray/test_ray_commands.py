"""Whole commands on a Ray cluster: one of our own, one that goes away, and twenty kills."""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from clusters import LIGHT, finish, killed_at, parts, start, stored, surroundings
from watching import wait_until

if importlib.util.find_spec("ray") is None:  # not imported before its token is there
    pytest.skip("needs the extra ray", allow_module_level=True)

pytestmark = pytest.mark.extras

KILLS = 20
PORT = 26399


@contextmanager
def ray_head(folder: Path, token: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a head with two cores in a process group of its own."""
    how = [
        "--head",
        "--block",
        "--disable-usage-stats",
        "--include-dashboard=false",
        "--num-cpus=2",
    ]
    with (folder / "head.log").open("wb") as log:
        head = subprocess.Popen(
            [sys.executable, "-m", "ray.scripts.scripts", "start", *how, f"--port={PORT}"],
            stdout=log,
            stderr=subprocess.STDOUT,
            env=surroundings(RAY_worker_niceness="0", **token),
            start_new_session=True,
        )
    try:
        told = folder / "head.log"
        assert wait_until(lambda: b"block forever" in told.read_bytes(), 300), told.read_text()
        yield head
    finally:
        end(head)


def end(head: subprocess.Popen[bytes]) -> None:
    """End a head at once, with all that it has started."""
    if head.poll() is None:
        os.killpg(head.pid, signal.SIGKILL)
        head.wait()


@pytest.fixture
def token() -> dict[str, str]:
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


@pytest.mark.slow
def test_a_cluster_of_our_own_gives_the_same_bytes_and_nothing_but_json(tmp_path):
    words = [*LIGHT, "--episodes", "500"]
    there = start(tmp_path, *words, "--executor", "ray", "--json", "--out", "there")
    told, errors = there.communicate(timeout=300)
    assert there.returncode == 0, errors
    assert json.loads(told)["episodes"] == 500
    finish(tmp_path, *words, "--out", "here")
    assert stored(tmp_path / "there") == stored(tmp_path / "here")


@pytest.mark.slow
def test_a_head_that_went_away_leaves_parts_with_which_the_same_command_continues(tmp_path, token):
    words = [*LIGHT, "--episodes", "5000", "--out", "run"]
    there = ["--executor", f"ray:127.0.0.1:{PORT}"]
    with ray_head(tmp_path, token) as head:
        running = start(tmp_path, *words, *there, **token)
        assert wait_until(lambda: parts(tmp_path / "run") >= 3, 300)
        end(head)
        _, told = running.communicate(timeout=120)
        assert running.returncode == 2, told
        assert "rpd: the Ray cluster has gone (" in told
        assert "finished parts are kept; run the same command again" in told
        assert "Traceback" not in told
    assert 3 <= parts(tmp_path / "run") < 20
    finish(tmp_path, *words)  # with another executor
    finish(tmp_path, *words[:-1], "here")
    assert stored(tmp_path / "run") == stored(tmp_path / "here")


@pytest.mark.slow
def test_twenty_kills_of_the_command_leave_the_same_bytes(tmp_path, token):
    words = [*LIGHT, "--episodes", "12500"]
    there = [*words, "--executor", f"ray:127.0.0.1:{PORT}", "--out", "there"]
    with ray_head(tmp_path, token):
        kept = 0
        for kill in range(KILLS):
            process, enough = start(tmp_path, *there, **token), kept + 1 + kill % 2
            kept = killed_at(process, tmp_path / "there", enough)
            assert enough <= kept < 50
        finish(tmp_path, *there, **token)
    finish(tmp_path, *words, "--out", "here")
    assert stored(tmp_path / "there") == stored(tmp_path / "here")
