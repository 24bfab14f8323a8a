"""What strangers and slips of the keyboard make of rpd is one line, and nothing is left behind."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from commands import refusal, rpd_command
from test_strangers_runs import forge

import rpd
from rpd_core.errors import ConfigError
from rpd_core.store.lock import OWNER

# ----------------------------------------------------------------------------------- the owner


def linked(target: str) -> Callable[[Path], None]:
    return lambda place: place.symlink_to(target)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (os.mkfifo, "is not an ordinary file: delete it"),
        (linked("/dev/zero"), "is a link out of the run directory: delete it"),
        (linked("/etc/passwd"), "is a link out of the run directory: delete it"),
        (Path.mkdir, "is not an ordinary file: delete it"),
        (lambda place: place.write_bytes(b"x" * 10**6), "has 1000000 bytes, which is too large"),
        (lambda place: place.write_text("x\x1b[31my"), "x?[31my is writing to"),
    ],
    ids=["pipe", "zeros", "passwd", "folder", "large", "escapes"],
)
def test_an_owner_that_is_none_is_one_line(
    start: Callable, tmp_path: Path, make: Callable[[Path], object], told: str
) -> None:
    (tmp_path / "run").mkdir()
    make(tmp_path / "run" / OWNER)
    process = start("suite", "--env", "cartpole", "--episodes", "50", "--out", "run")
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (2, "")
    assert told in stderr
    assert stderr.count("\n") == 1
    assert "root:" not in stderr


# ---------------------------------------------------------------------------------- tracebacks


def test_a_schema_that_is_no_text_is_one_line(run: Path) -> None:
    path = min((run / "suite" / "states").glob("*.parquet"))
    table = pq.read_table(path)
    notes = {**table.schema.metadata, b"rpd_schema": b"\xff\xfe\x1b"}
    forge(run, path, table.replace_schema_metadata(notes))
    assert "it has schema ???, this rpd reads" in refusal("rank", run).replace(
        "\N{REPLACEMENT CHARACTER}", "?"
    )
    result = rpd_command("verify", run)
    assert (result.exit_code, "it has schema" in result.output) == (3, True)


def test_a_record_that_ends_before_it_begins_is_no_part(run: Path) -> None:
    path = min((run / "suite").glob("part-*.json"))
    (run / "suite" / "part-000000900-000000100.json").write_bytes(path.read_bytes())
    assert rpd_command("verify", run).exit_code == 0
    assert rpd_command("rank", run).exit_code == 0


@pytest.mark.parametrize("episode", ["tarantula@x:3", "tarantula@-5:3", "@3:3", "tarantula@:3"])
def test_episodes_of_no_number_of_states_are_one_line(run: Path, episode: str) -> None:
    assert "names no episodes" in refusal("replay", run, episode)


@pytest.mark.parametrize("out", [5, 1.5, b"x"])
def test_a_folder_that_is_no_path_is_one_line(out: Any) -> None:
    with pytest.raises(ConfigError, match=r"^out must be the path of a folder, got "):
        rpd.run("cartpole", out=out)


@pytest.mark.parametrize("path", [None, 5, b"x"])
def test_a_pruned_policy_that_is_no_path_is_one_line(path: Any) -> None:
    with pytest.raises(ConfigError, match=r"^path must be that of an exported policy, got "):
        rpd.load(path)


WORLD = """
import gymnasium, multiprocessing, numpy as np
from gymnasium import spaces
class Stops(gymnasium.Env):
    observation_space = spaces.Discrete(9)
    action_space = spaces.Discrete(2)
    steps = 0
    def reset(self, *, seed=None, options=None):
        self.at = 0
        return 0, {}
    def step(self, action):
        Stops.steps += 1
        if multiprocessing.parent_process() is not None and Stops.steps > 50:
            raise KeyboardInterrupt
        self.at += 1
        return self.at, float(action), self.at == 8, False, {}
def goes(observations):
    return np.ones(len(observations), dtype=int)
"""


def test_an_environment_that_plays_ctrl_c_in_a_worker_is_one_line(
    start: Callable, tmp_path: Path
) -> None:
    (tmp_path / "stopping.py").write_text(WORLD)
    process = start(
        "run", "--env", "python:stopping:Stops", "--policy", "python:stopping:goes",
        "--default-action", "constant:0", "--abstraction", "identity", "--condition", "return>=5",
        "--episodes", "40", "--workers", "1", "--out", "run",
    )  # fmt: skip
    stdout, stderr = process.communicate(timeout=120)
    assert (process.returncode, stdout) == (2, "")
    assert "wants to end rpd (KeyboardInterrupt)" in stderr
    assert "Traceback" not in stderr


# -------------------------------------------------------------------------- what is left behind


def test_a_refused_command_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = "run", "--env", "cartpole", "--episodes", "50", "--yes"
    assert "names gives 2 (a, b)" in refusal(*words, "--names", "a,b")
    assert list(tmp_path.iterdir()) == []
    assert "names gives 2 (a, b)" in refusal(*words, "--names", "a,b", "--out", "deep/er/run")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine").mkdir()
    assert "names gives 2 (a, b)" in refusal(*words, "--names", "a,b", "--out", "mine/er/run")
    assert [path.name for path in tmp_path.rglob("*")] == ["mine"]
