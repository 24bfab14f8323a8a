"""What the shell offers after Tab."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rpd_core.cli.completion import complete_run, specs_of, whole_line
from rpd_kit.check_plugin_command import complete_plugin


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a policy and two runs."""
    (tmp_path / "dqn.zip").touch()
    for run in (tmp_path / "runs" / "cartpole-1", tmp_path / "elsewhere"):
        run.mkdir(parents=True)
        (run / "run.json").touch()
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def offers(kind: str, text: str) -> list[str]:
    return [word for word, _ in specs_of(kind)(text) if word.startswith(text)]


def test_names_come_with_a_colon_where_a_value_must_follow() -> None:
    assert offers("environment", "") == [
        "atari:", "cartpole", "gym:", "python:", "minigrid",
    ]  # fmt: skip
    assert dict(specs_of("environment")(""))["gym:"] == "Any registered Gymnasium id"


@pytest.mark.parametrize(
    ("kind", "text", "wanted"),
    [
        ("policy", "sb3:d", ["sb3:dqn.zip", "sb3:deterministic="]),
        ("policy", "sb3:dqn.zip,det", ["sb3:dqn.zip,deterministic="]),
        ("policy", "sb3:dqn.zip,deterministic=", ["sb3:dqn.zip,deterministic=true",
                                                  "sb3:dqn.zip,deterministic=false"]),
        ("policy", "sb3:dqn.zip,vecnormalize=d", ["sb3:dqn.zip,vecnormalize=dqn.zip"]),
        ("policy", "cartpole:", ["cartpole:good", "cartpole:weak", "cartpole:which="]),
        ("default-action", "policy:sb3:dq", ["policy:sb3:dqn.zip"]),
        ("policy", "sb3:runs/", ["sb3:runs/cartpole-1/"]),
        ("policy", "nothing:", []),
        ("policy", "sb3:nowhere/", []),
    ],
)  # fmt: skip
def test_specs_are_completed_piece_by_piece(
    folder: Path, kind: str, text: str, wanted: list[str]
) -> None:
    assert offers(kind, text) == wanted


def test_run_directories_are_offered_and_the_way_to_them(folder: Path) -> None:
    assert complete_run("") == ["runs/cartpole-1", "elsewhere", "empty/"]
    assert complete_run("runs/") == ["runs/cartpole-1"]
    assert "rpd_gym" in complete_plugin("")


@pytest.mark.parametrize(
    ("words", "current", "whole", "place"),
    [
        (["rpd", "run", "--policy", "sb3", ":", "mo"], 5, "sb3:mo", 3),
        (["rpd", "run", "--policy", "sb3", ":"], 4, "sb3:", 3),
        (["rpd", "run", "--policy", "a", ":", "b,c", "=", ""], 7, "a:b,c=", 3),
        (["rpd", "run", "--env", "x", ":", "y", "--policy", "sb3"], 7, "sb3", 5),
        (["rpd", "show", ""], 2, "", 2),
    ],
)
def test_bash_gets_words_together_again(
    words: list[str], current: int, whole: str, place: int
) -> None:
    found, at = whole_line(words, current)
    assert (found[at], at) == (whole, place)


LIGHT = "import sys; from rpd_core.cli.main import main\ntry: main()\nfinally: " + (
    "print([n for n in ('numpy', 'torch', 'gymnasium') if n in sys.modules], file=sys.stderr)"
)


def test_the_shell_is_offered_words_without_a_heavy_import(folder: Path) -> None:
    request = {
        "_RPD_COMPLETE": "complete_bash",
        "COMP_WORDS": "rpd\nrun\n--policy\nsb3\n:\ndq",
        "COMP_CWORD": "5",
    }
    done = subprocess.run(
        [sys.executable, "-c", LIGHT], env={**os.environ, **request}, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr, done.returncode) == ("dqn.zip\n", "[]\n", 0)
