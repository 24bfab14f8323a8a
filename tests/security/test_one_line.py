"""What strangers and slips of the keyboard make of rpd is one line, and nothing is left behind."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from commands import refusal, rpd_command
from test_strangers_runs import forge

import rpd
from rpd_core.errors import ConfigError
from rpd_core.store.files import OWNER

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


@pytest.mark.parametrize("out", [5, 1.5, b"x", "\0", "0" * 10000])
def test_a_folder_that_is_no_path_is_one_line(out: Any) -> None:
    with pytest.raises(ConfigError, match=r"^out must be the path of a folder, got "):
        rpd.run("cartpole", out=out)


@pytest.mark.parametrize("path", [None, 5, b"x"])
def test_a_pruned_policy_that_is_no_path_is_one_line(path: Any) -> None:
    with pytest.raises(ConfigError, match=r"^path must be that of an exported policy, got "):
        rpd.load(path)


@pytest.mark.parametrize("path", [None, 5, b"x", "\0", [], "0" * 10000])
def test_a_run_that_is_no_path_is_one_line(path: Any) -> None:
    with pytest.raises(ConfigError, match=r"^path must be the folder of a run, got "):
        rpd.open_run(path)


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        *((lambda run, n=n: run.top(n), "count must be a whole") for n in ("x", None, [], 3.7)),
        (lambda run: run.effects("x"), "count must be a whole number of at least 1, got 'x'"),
        (lambda run: run.policy("x"), "fraction must be a number, for example 0.9, got 'x'"),
        (lambda run: run.kept([]), "fraction must be a number, for example 0.9, got []"),
        (lambda run: run.threshold({}), "fraction must be a number, for example 0.9, got {}"),
        (lambda run: run.threshold(0.9, []), "[] was not pruned."),
        *((lambda run, n=n: run.log_to(n), "no tracker is called") for n in (None, 5, [])),
        (lambda run: rpd.open_run(run.path, 5), "has no analysis 5."),
        (lambda run: run.replay("suite:1", trust_policy="false"), "trust_policy must be True or"),
        (lambda run: run.ranked_as_stored("ochiai", trust=1), "trust must be True or False, got 1"),
        (lambda run: run.draw("trace", trust_policy="no"), "trust_policy must be True or False"),
        (lambda run: rpd.vary(run.path, trust_policy=1), "trust_policy must be True or False"),
        (lambda run: rpd.merge_runs(5, run.path), "out must be the path of a folder, got 5"),
        (lambda run: rpd.merge_runs("new", None), "run must be the folder of one, got None"),
    ],
)
def test_what_a_stored_run_cannot_answer_is_one_line(
    run: Path, ask: Callable[[Any], object], told: str
) -> None:
    with pytest.raises(rpd.RpdError) as refused:
        ask(rpd.open_run(run))
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


SEVERAL, SINGLE = np.array([0.1, 0.2]), np.array(5)


class Unprintable:
    def __repr__(self) -> str:
        raise ValueError


@pytest.mark.parametrize(
    ("given", "told"),
    [
        *(({"shares": one}, "shares must lie in [0, 1], got") for one in (None, "x", {}, [None])),
        *(({"analysis": one}, "an analysis cannot be called") for one in (5, b"x", Path("x"))),
        *(({"like": one}, "path must be the folder of a run") for one in (5, object(), "\0")),
        *(({"guard": one}, "guard must be a function of a label, got") for one in (None, 5)),
        ({"note": 5}, "note must be a function of a text, got 5"),
        ({"note": lambda: 1}, "note must be a function of a text, got <function"),
        ({"progress": lambda: 1}, "progress must be a function of (stage, done, total), got <func"),
        ({"mutation_rate": SEVERAL}, "mutation_rate must be a number, got (0.1, 0.2)"),
        ({"mutation_rate": 10**400}, "mutation_rate must be a number, got 1000"),
        ({"mutation_rate": 10**5000}, "mutation_rate must be a number, got <int>"),
        ({"reference": 10**400}, "reference must be a number between -1e+100 and 1e+100, got 1000"),
        (
            {"reference": Unprintable()},
            "reference must be a number between -1e+100 and 1e+100, got <Unprintable>",
        ),
        *(({one: SEVERAL}, f"{one} must be ") for one in ("unvisited", "sweep", "objective")),
        ({"target": SEVERAL}, "target must be shares in falling order, got [0.1, 0.2]"),
        ({"target": SINGLE}, "target must lie in (0, 1), got 5"),
        ({"condition": SINGLE}, "condition must be a spec string"),
        ({"list_by": SINGLE}, "measure must be a spec string"),
        ({"headline": SINGLE}, "measure must be a spec string"),
        ({"default_action": SINGLE}, "default-action must be a spec string"),
        ({"default_action": Path("x")}, "default-action must be a spec string"),
        ({"executor": Path("x")}, "executor must be a spec string"),
        ({"abstraction": []}, "abstraction must be one or more, got none"),
        *(({"trust_policy": one}, "trust_policy must be True or False") for one in ("false", 1)),
    ],
)
def test_what_no_run_can_be_asked_for_is_one_line(
    tmp_path: Path, given: dict[str, Any], told: str
) -> None:
    usual = {"episodes": 50, "seed": 3, "finish": (), "progress": False, "out": tmp_path / "run"}
    with pytest.raises(rpd.RpdError) as refused:
        rpd.run("cartpole", **{**usual, **given})
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


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
