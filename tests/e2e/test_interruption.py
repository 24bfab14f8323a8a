"""Runs that are killed or stopped, and go on."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rpd_core.cli.shared import resumable
from rpd_core.cli.streams import Interrupted

MANY = ["suite", "--env", "cartpole", "--episodes", "12500", "--workers", "2"]
"""Five parts, with a network at work."""
LIGHT = [
    "suite", "--env", "gym:CartPole-v1", "--policy", "random", "--default-action", "constant:0",
    "--episodes", "5000", "--workers", "2",
]  # fmt: skip
"""Twenty parts, without."""


def digest(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*.parquet"))}


def wait_for_parts(folder: Path, process, count: int) -> None:
    deadline = time.monotonic() + 120
    while len(list((folder / "suite").glob("episodes/part-*.parquet"))) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("words", "parts"), [(LIGHT, 20), pytest.param(MANY, 5, marks=pytest.mark.slow)]
)
def test_a_killed_suite_continues_and_ends_with_the_same_bytes(rpd, tmp_path, words, parts):
    out = tmp_path / "killed"
    process = rpd.start(*words, "--out", str(out))
    wait_for_parts(out, process, 2)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = digest(out)
    assert 2 <= sum(name.startswith("suite/episodes") for name in kept) < parts
    shown = rpd("show", str(out))
    episodes = words[words.index("--episodes") + 1]
    assert f"of {episodes} mutant episodes are stored" in shown.stdout

    again = rpd(*words, "--out", str(out))
    assert again.returncode == 0, again.stderr
    whole = rpd(*words[:-1], "1", "--out", str(tmp_path / "whole"))
    assert whole.returncode == 0, whole.stderr
    after = digest(out)
    assert after == digest(tmp_path / "whole")
    assert kept.items() <= after.items()
    assert not list(out.rglob("*.tmp"))


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(rpd, tmp_path):
    out = tmp_path / "stopped"
    process = rpd.start(*LIGHT, "--out", str(out))
    wait_for_parts(out, process, 1)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Run the same command again" in told
    assert str(out) in told
    assert "Traceback" not in told
    again = rpd(*LIGHT, "--out", str(out), "--json")
    assert '"episodes": 5000' in again.stdout


EARLY = """
import os, signal, sys


class CtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)


sys.meta_path.insert(0, CtrlC())
signal.signal(signal.SIGINT, signal.default_int_handler)
from rpd_core.cli.main import main
main()
"""


def test_ctrl_c_while_rpd_starts_ends_it_quietly():
    ended = subprocess.run([sys.executable, "-c", EARLY, "--help"], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


@pytest.mark.parametrize("stored", [True, False])
def test_what_was_kept_is_named_only_if_it_is_there(stored: bool, tmp_path: Path) -> None:
    out = tmp_path / "my run"
    if stored:
        out.mkdir()
    with pytest.raises(Interrupted) as caught, resumable(out):
        raise KeyboardInterrupt
    assert (f"kept in {out}" in caught.value.advice) == stored
    assert ("before anything was stored" in caught.value.advice) != stored
    words = shlex.split(caught.value.advice.replace(", to continue.", ""))
    assert ([str(out / "run.json"), "--out", str(out)] == words[-3:]) == stored
