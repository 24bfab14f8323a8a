"""No code runs that only a file names, and none because it lies in the working directory."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import QUICK, refusal, rpd_command
from stores import tree

STRANGER = """
import pathlib
pathlib.Path(__file__).with_name("ran").touch()
def make(*args): 1 / 0
"""
"""A module that leaves a trace when it is imported."""
SHADOWS = ("pickle", "random", "numpy", "gymnasium", "torch", "rpd_basics", "sitecustomize", "json")
REFUSED = "may run code that came with it: refused"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a finished run whose components are all named by specs."""
    path = tmp_path_factory.mktemp("whole") / "run"
    words = [
        "--env",
        "cartpole",
        "--episodes",
        "60",
        "--test-episodes",
        "2",
        "--workers",
        "1",
        *QUICK,
    ]
    assert rpd_command("run", *words, "--out", path).exit_code == 0
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work in a folder that holds a stranger's module, which Python would find, too."""
    (tmp_path / "stranger.py").write_text(STRANGER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("stranger", None)


def of_a_stranger(whole: Path, target: Path, **changes: Any) -> Path:
    """Copy a run whose run.json names other things, and claims to be trusted."""
    shutil.copytree(whole, target)
    stored = json.loads((target / "run.json").read_text())
    stored["settings"] |= changes.pop("settings", {})
    stored |= {"trust": True, "trust_policy": True, **changes}
    (target / "run.json").write_text(json.dumps(stored))
    return target


NAMED: dict[str, dict[str, Any]] = {
    "environment": {"env": "python:stranger:make"},
    "id": {"env": "gym:stranger:Id-v0"},
    "policy": {"policy": "python:stranger:make"},
    "trusted policy": {"policy": "sb3:a.zip,trust=true"},
    "extractor": {"policy": "sb3:a.zip,extractor=stranger:make"},
    "abstraction": {"settings": {"abstraction": ["python:stranger:make"]}},
    "default action": {"settings": {"default_action": "python:stranger:make"}},
    "policy as default action": {"settings": {"default_action": "policy:python:stranger:make"}},
}


@pytest.mark.parametrize("changes", NAMED.values(), ids=NAMED.keys())
def test_a_strangers_run_runs_no_code_by_any_command(
    whole: Path, home: Path, changes: dict[str, Any]
) -> None:
    run = of_a_stranger(whole, home / "run", **changes)
    before = tree(run)
    config = ["--config", run / "run.json"]
    for words in (
        ["run", *config, "--out", home / "new"],
        ["run", *config, "--dry-run"],
        ["suite", run],
        ["prune", run],
        ["prune", run, "--export", home / "a.rpd"],
        ["replay", run, "suite:1"],
    ):
        assert REFUSED in refusal(*words)
    for command in ("rank", "show", "verify"):
        assert rpd_command(command, run).exit_code == 0
    assert tree(run) == before
    assert not (home / "ran").exists()
    assert {path.name for path in home.iterdir()} == {"run", "stranger.py"}


def test_what_is_typed_is_imported_from_the_working_directory(home: Path) -> None:
    rpd_command("run", "--env", "python:stranger:make")
    assert (home / "ran").exists()


def test_no_module_of_the_working_directory_stands_in_for_another(
    start: Callable, tmp_path: Path
) -> None:
    for name in SHADOWS:
        (tmp_path / f"{name}.py").write_text(f"{STRANGER}\nraise SystemExit(7)\n")
    words = ["suite", "--env", "python:ill_worlds:well", "--policy", "python:ill_worlds:goes"]
    more = ["--default-action", "constant:0", "--abstraction", "identity", "--episodes", "500"]
    process = start(*words, *more, "--workers", "2", "--out", "out")
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    assert len(list((tmp_path / "out" / "suite").glob("part-*.json"))) == 2
    assert not (tmp_path / "ran").exists()
