"""`rpd grid` as a program: killed for real, gone on with, and what it prints."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from commands import refusal, rpd_command

import rpd_core

FILE = """
seeds = [0, 1]
finish = "sweep"
[all]
env = "cartpole"
episodes = 80
test_episodes = 2
unmutated_episodes = 2
shares = [0.0, 0.5, 1.0]
random_rankings = 1
[cross]
condition = ["return>=20", "return>=2000"]
"""
TABLES = ("table.parquet", "seeds.parquet", "table.md")


@pytest.mark.slow
def test_a_grid_that_is_killed_goes_on_and_ends_with_the_same_table(rpd, tmp_path):
    (tmp_path / "mine.toml").write_text(FILE)
    out, whole = tmp_path / "killed", tmp_path / "whole"
    words = ["grid", str(tmp_path / "mine.toml"), "--workers", "1"]
    process = rpd.start(*words, "--out", str(out))
    deadline = time.monotonic() + 300
    while not list(out.glob("cells/*.json")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (out / TABLES[0]).exists()
    kept = {path: path.stat().st_mtime_ns for path in out.glob("cells/*.json")}

    again = rpd_command(*words, "--out", out)
    assert again.exit_code == 3, again.stderr
    assert "Cell 2 failed with seed" in again.stdout
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert rpd_core.grid(tmp_path / "mine.toml", out=whole, progress=False).failed == 1
    for name in TABLES:
        assert (out / name).read_bytes() == (whole / name).read_bytes(), name
    assert not list(out.rglob("*.tmp"))


def test_a_mistake_in_the_file_is_one_line_with_its_key(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("[cross]\nenv = 'cartpole'\nmutation_rat = [0.1]")
    assert refusal("grid", path) == (
        f"rpd: {str(path)!r}: [cross] mutation_rat: this is not a setting of a cell; Did you mean "
        "'mutation_rate'?"
    )
    assert "cannot read" in refusal("grid", tmp_path / "none.toml")


def test_an_estimate_of_a_grid_of_which_some_run_would_fail_has_its_code(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(FILE + "[[cell]]\npolicy = 'sb3:none.zip'\n")
    planned = rpd_command("grid", path, "--dry-run", "--out", tmp_path / "out")
    assert planned.exit_code == 3, planned.output
    assert "6 runs on 2 suites, 4 of them not finished, 2 would fail: about" in planned.stdout
