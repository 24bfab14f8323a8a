"""Paths, files and terminals that cannot be used: one line, and no waiting."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import refusal, rpd_command

LONG = "a" * 300
LOADERS = ("sb3", "torchscript", "atari-zoo", "pruned")


@pytest.mark.parametrize(
    "words",
    [
        ["show", LONG],
        ["run", "--config", f"{LONG}/run.json"],
        ["suite", "--env", "cartpole", "--episodes", "20", "--out", LONG],
        *(["describe", "policy", f"{loader}:{LONG}"] for loader in LOADERS),
    ],
    ids=lambda words: words[0] + words[1][:12],
)
def test_a_name_that_no_disk_takes_is_one_line(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert refusal(*words).startswith("rpd: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("place", ["/dev/zero", "pipe"])
def test_a_device_or_a_pipe_is_no_policy_file(
    loader: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    line = refusal("describe", "policy", f"{loader}:{place}")
    assert "regular file" in line or "ordinary file" in line


@pytest.mark.parametrize("loader", LOADERS)
def test_a_name_that_is_not_utf8_is_one_line(loader: str) -> None:
    name = os.fsdecode(b"\xff\xfe")
    line = refusal("describe", "policy", f"{loader}:{name}")
    assert line.startswith("rpd: ")
    line.encode()  # nothing is left that a terminal cannot take


def test_an_answer_that_cannot_be_written_is_told(start: Callable, run: Path) -> None:
    for words in (["show", run], ["show", run, "--json"], ["list-plugins"]):
        with open("/dev/full", "w") as full:
            process = start(*words, stdout=full)
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 2
        assert stderr.count("\n") == 1
        assert "No space left on device" in stderr


def test_a_terminal_that_knows_ascii_alone_gets_the_answer(start: Callable, run: Path) -> None:
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    stdout, stderr = start("show", run, env=env, stdout=subprocess.PIPE).communicate(timeout=60)
    assert stderr == ""
    assert stdout.isascii()
    assert "mutant episodes" in stdout


def test_an_estimate_is_an_answer_and_goes_to_standard_output(start: Callable) -> None:
    words = ["run", "--env", "cartpole", "--dry-run", "--episodes", "60", "--workers", "1"]
    stdout, stderr = start(*words).communicate(timeout=60)
    assert "Nothing was written" in " ".join(stdout.split())
    assert stderr == ""


def test_no_error_is_longer_than_a_screen() -> None:
    result = rpd_command("show", "x" * 100_000)
    assert result.exit_code == 2
    assert len(result.stderr) < 2000


def test_the_home_of_nobody_is_one_line() -> None:
    assert "is nobody's home" in refusal("describe", "policy", "sb3:~nosuchuser/x")


def test_a_pruned_policy_is_written_only_under_a_name_that_says_what_it_is(
    run: Path, tmp_path: Path
) -> None:
    told = refusal("prune", run, "--export", tmp_path / "pruned.txt")
    assert "the name must end in .zip or .rpd (a policy to load) or in .json or .py (its" in told
    assert not list(tmp_path.glob("pruned*"))


@pytest.mark.parametrize("words", [["rank", "a.csv"], ["prune", "a.rpd"]])
def test_an_export_makes_no_folder(run: Path, tmp_path: Path, words: list[str]) -> None:
    target = tmp_path / "none" / words[1]
    assert "there is no folder" in refusal(words[0], run, "--export", target)
    assert not target.parent.exists()


@pytest.mark.parametrize("command", ["prune", "suite"])
def test_a_file_in_the_place_of_the_suite_is_one_line(run: Path, command: str) -> None:
    shutil.rmtree(run / "suite")
    (run / "suite").write_text("x")
    refusal(command, run)
