"""Where runs lie, what they are called, and which is the latest."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from commands import refusal, rpd_command
from stores import corridor, finish, ready

from rpd_core.api import Call, carry_out
from rpd_core.config.resolve import Setup, resolve
from rpd_core.config.settings import Request
from rpd_core.errors import StoreError
from rpd_core.plugin.registry import installed
from rpd_core.results.runs import age_in_words, latest_run, list_runs, size_in_words
from rpd_core.run_names import LONGEST, base_name, default_directory

# ------------------------------------------------------------------------------- names


def setup_of(**asked: Any) -> Setup:
    return resolve(Request(**{"env": "cartpole", **asked}), installed())


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ({}, "cartpole"),
        ({"episodes": 7000, "condition": "return>=100"}, "cartpole"),
        ({"policy": "cartpole"}, "cartpole"),
        ({"seed": 3, "mutation_rate": 0.2}, "cartpole_rate0.2_seed3"),
        ({"mutation_rate": "auto"}, "cartpole_rate-auto"),
        ({"default_action": "constant:1"}, "cartpole_constant-1"),
        ({"policy": "cartpole:weak", "abstraction": ("round:2", "abs")},
         "cartpole_cartpole-weak_round-2-abs"),
        ({"env": "gym:CartPole-v1,max_steps=50", "policy": "random"},
         "gym-CartPole-v1-max-steps-50_random"),
    ],
)  # fmt: skip
def test_a_name_says_what_was_changed(asked: dict[str, Any], name: str) -> None:
    assert default_directory(setup_of(**asked)) == Path("runs") / name


def test_a_file_that_decides_is_told_apart_by_its_content() -> None:
    Path("models").mkdir()
    found = []
    for content in (b"one", b"two", b"one"):
        Path("models/ppo.zip").write_bytes(content)
        found.append(default_directory(setup_of(policy="sb3:models/ppo.zip,deterministic=false")))
    assert found[0] == found[2] != found[1]
    for path in found:
        assert re.fullmatch(r"cartpole_sb3-ppo-deterministic-false_[0-9a-f]{6}", path.name)


def test_names_are_short_and_of_plain_signs() -> None:
    chain = ("scale:1+2+3+4", "round:4", "abs", "scale:4+3+2+1", "round:3")
    one, two = (default_directory(setup_of(abstraction=chain, seed=seed)) for seed in (1, 2))
    assert one != two
    for path in (one, two):
        assert len(path.name) <= LONGEST + 7
        assert re.fullmatch(r"[A-Za-z0-9._-]+", path.name)
    many = default_directory(
        setup_of(
            env="gym:CartPole-v1",
            policy="random",
            seed=2**62,
            lanes=7,
            mutation_rate=0.123456,
            default_action="constant:1",
        )
    )
    assert re.fullmatch(r"gym-CartPole-v1_random_constant-1_rate0.123456_seed\d+_lanes7", many.name)


def test_a_directory_that_holds_something_else_is_left_alone() -> None:
    setup = setup_of()
    plain = Path("runs/cartpole")
    plain.mkdir(parents=True)
    assert default_directory(setup) == plain, "an empty folder is free"
    (plain / "thesis.tex").write_text("mine")
    other = default_directory(setup)
    assert re.fullmatch(r"cartpole_[0-9a-f]{6}", other.name)
    other.mkdir()
    shutil.rmtree(plain)
    assert default_directory(setup) == other, "what was begun there goes on there"


def test_the_same_settings_go_on_in_the_same_directory() -> None:
    """Also where a pilot found the rate, and beside a run of the same name but other defaults."""
    call = Call(**vars(corridor(mutation_rate="auto")))
    (first, _), (again, _) = carry_out(call), carry_out(call)
    assert first.path == again.path
    assert len(list(Path("runs").iterdir())) == 1
    stored = json.loads((first.path / "run.json").read_text())
    stored["settings"]["seed"] = 9
    (first.path / "run.json").write_text(json.dumps(stored))
    setup = resolve(call, installed())
    assert default_directory(setup).name == f"{base_name(setup)}_{setup.config.digest()[:6]}"


# ------------------------------------------------------------------------------- lists


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A finished run, one with another seed that was broken off, and a broken one."""
    folder = tmp_path / "runs"
    ready(folder / "first")

    def stop(stage: str, done: int, total: int) -> None:
        if stage == "suite" and done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        finish(folder / "half", corridor(seed=3), progress=stop)
    (folder / "bad").mkdir()
    (folder / "bad" / "run.json").write_text("{")
    (folder / "notes").mkdir()
    for place, name in enumerate(("bad", "half", "first")):
        for path in (folder / name).rglob("*"):
            os.utime(path, (10**9 + place, 10**9 + place))
    return folder


def test_a_list_shows_what_differs_and_how_far_each_is(runs: Path) -> None:
    rows = list_runs(runs)
    assert [Path(row.path).name for row in rows] == ["first", "half", "bad"]
    first, half, bad = rows
    assert (first.state, half.state, bad.state) == ("finished", "20 of 60 episodes", "broken")
    assert (first.differs, half.differs, bad.differs) == ({"seed": 0}, {"seed": 3}, {})
    assert "run.json" in bad.problem
    assert first.changed == 10**9 + 2
    files = [path for path in (runs / "first").rglob("*") if path.is_file()]
    assert first.bytes == sum(path.stat().st_size for path in files)


def test_runs_of_different_environments_differ_in_that_alone(tmp_path: Path) -> None:
    ready(tmp_path / "a")
    stored = json.loads((shutil.copytree(tmp_path / "a", tmp_path / "b") / "run.json").read_text())
    stored["env"] = "elsewhere"
    stored["settings"]["mutation_rate"] = 0.125
    (tmp_path / "b" / "run.json").write_text(json.dumps(stored))
    found = {Path(row.path).name: row.differs for row in list_runs(tmp_path)}
    assert found["b"] == {"env": "elsewhere"}
    assert list(found["a"]) == ["env"]


def test_the_command_prints_a_table_or_json(runs: Path) -> None:
    shown = rpd_command("runs")
    assert shown.exit_code == 0, shown.output
    head, *lines = shown.stdout.splitlines()
    assert head.split() == ["run", "state", "age", "size", "differs", "in"]
    assert re.match(r"runs/first +finished +\d+ d +[\d.]+ kB +seed=0", lines[0])
    assert re.match(r"runs/half +20 of 60 episodes +\d+ d +[\d.]+ kB +seed=3", lines[1])
    assert re.match(r"runs/bad +broken", lines[2])
    rows = json.loads(rpd_command("runs", runs, "--json").stdout)
    assert [row["state"] for row in rows] == ["finished", "20 of 60 episodes", "broken"]
    assert rows[1]["differs"] == {"seed": 3}
    assert rows[0]["analyses"]
    assert "There is no run in" in rpd_command("runs", runs / "notes").stdout
    assert "there is no folder 'nowhere'" in refusal("runs", "nowhere")


def test_a_finished_run_that_is_to_grow_is_still_finished(tmp_path: Path) -> None:
    ready(tmp_path / "run")
    stored = json.loads((tmp_path / "run" / "run.json").read_text())
    stored["settings"]["episodes"] = 1000
    (tmp_path / "run" / "run.json").write_text(json.dumps(stored))
    (row,) = list_runs(tmp_path)
    assert row.state == "finished; 60 of 1000 episodes"


def test_without_a_path_readers_take_the_latest(runs: Path) -> None:
    note = "rpd: note: the latest run is runs/first\n"
    for words in (["show"], ["rank"], ["explain", "1"], ["verify"]):
        found = rpd_command(*words)
        named = rpd_command(words[0], "runs/first", *words[1:])
        assert (found.exit_code, found.stdout) == (0, named.stdout), found.output
        assert found.stderr == note + named.stderr
    (runs / "half" / "analyses" / "question.json").touch()
    assert "Not finished" in rpd_command("show").stdout
    shutil.rmtree(runs)
    assert "there is no run in 'runs': name one, or begin with rpd run" in refusal("show")
    assert "STATE or RANK is missing" in refusal("explain")


def test_runs_of_a_comparison_are_listed_but_are_not_the_latest(runs: Path) -> None:
    shutil.copytree(runs / "first", runs / "bench_x" / "seed-0")
    (runs / "bench_x" / "seed-0" / "run.json").touch()
    assert latest_run(runs).name == "first"
    assert len(list_runs(runs)) == 4
    with pytest.raises(StoreError, match="there is no run in"):
        latest_run(runs / "notes")


@pytest.mark.parametrize(
    ("seconds", "words"), [(5, "5 s"), (119, "1 min"), (7200, "2 h"), (200000, "2 d"), (-3, "0 s")]
)
def test_ages_are_short(seconds: float, words: str) -> None:
    assert age_in_words(1000.0, 1000.0 + seconds) == words


@pytest.mark.parametrize(
    ("size", "words"), [(12, "12 B"), (1500, "1.5 kB"), (2.5e9, "2.5 GB"), (3e15, "3000.0 TB")]
)
def test_sizes_are_short(size: float, words: str) -> None:
    assert size_in_words(size) == words


def test_a_run_of_another_schema_is_told_so_and_not_called_damaged(tmp_path: Path) -> None:
    done = ready(tmp_path / "runs" / "old")
    for file, change in (("run.json", {"schema": 1}), (f"analyses/{done.name}/analysis.json", {})):
        path = done.path / file
        kept = {name: one for name, one in json.loads(path.read_text()).items() if change}
        path.write_text(json.dumps({**kept, **change}))
    (row,) = list_runs(tmp_path / "runs")
    assert row.state == "broken"
    assert "was written with schema 1, this rpd has " in row.problem
