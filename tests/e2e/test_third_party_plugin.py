"""A stranger's measure, from `pip install` to `pip uninstall`, and strangers' mistakes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from commands import QUICK
from distributions import write_distribution

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "rpd-measure-lift"
SMALL = ["--env", "cartpole", "--episodes", "300", "--test-episodes", "4", "--workers", "1", *QUICK]


def test_the_example_is_ten_lines_and_lives_from_install_to_uninstall(scratch, tmp_path):
    for module in EXAMPLE.glob("*.py"):
        lines = [line for line in module.read_text().splitlines() if line.strip()]
        assert len(lines) <= 10, module.name
    assert ("measure", "lift") not in scratch.listed()

    scratch.install(EXAMPLE)
    row = scratch.listed()["measure", "lift"]
    assert (row["status"], row["plugin"], row["distribution"], row["version"]) == (
        "ready",
        "lift",
        "rpd-measure-lift",
        "1.0",
    )
    checked = scratch.rpd("check-plugin", "lift")
    assert checked.returncode == 0, checked.stdout
    assert "ok    measure lift" in checked.stdout

    ran = scratch.rpd("run", *SMALL, "--measure", "lift", "--out", str(tmp_path / "r"), "--json")
    assert ran.returncode == 0, ran.stderr
    assert "lift" in json.loads(ran.stdout)["thresholds"]["0.9"]
    ranked = scratch.rpd("rank", str(tmp_path / "r"), "--measure", "lift", "--json")
    scores = [row["score"] for row in json.loads(ranked.stdout)["rankings"]["lift"]]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 1

    scratch.pip("uninstall", "-y", "rpd-measure-lift")
    assert ("measure", "lift") not in scratch.listed()
    gone = scratch.rpd("rank", str(tmp_path / "r"), "--measure", "lift")
    assert gone.returncode == 2
    assert "no measure is called 'lift'" in gone.stderr


MISTAKES = {
    "fails_to_import": {"fails_to_import": "import a_module_that_does_not_exist"},
    "misspells": {
        "misspells": """
        from rpd_core import hookimpl
        @hookimpl
        def rpd_measure():
            return []
        """
    },
    "duplicates": {
        "duplicates": """
        from rpd_core import Component, hookimpl
        @hookimpl
        def rpd_measures():
            return [Component("tarantula", "duplicates:Mine", "another tarantula")]
        class Mine: ...
        """
    },
    "future": {"future": "RPD_API = 99"},
}
SHOWN = {
    "fails_to_import": ("plugin", "fails_to_import", "broken", "a_module_that_does_not_exist"),
    "misspells": ("plugin", "misspells", "broken", "Did you mean 'rpd_measures'?"),
    "future": ("plugin", "future", "note", "API 99"),
}

COMMANDS = {
    "polite": """
        from typing import Annotated
        import typer
        from rpd_core import Component, RpdError, hookimpl
        @hookimpl
        def rpd_commands():
            after = "polite:sulk_after_a_run"
            return [
                Component("hello", "polite:hello", "Greet somebody", group="Manners"),
                Component("sulk", "polite:sulk", "Sulk", group="Manners", after_run=after),
            ]
        def sulk():
            \"""Sulk.\"""
        def sulk_after_a_run(session, run):
            raise KeyError("no mood")
        def hello(name: Annotated[str, typer.Argument(help="Whom to greet.")]):
            \"""Greet somebody by name.\"""
            if name == "nobody":
                raise RpdError("nobody cannot be greeted: name somebody")
            print(f"Hello {name}")
        """,
    "rude": """
        from rpd_core import Component, hookimpl
        @hookimpl
        def rpd_commands():
            return [
                Component("shout", "rude:no_such_function", "Shout", group="Manners"),
                Component("grumble", "rude_inner:grumble", "Grumble", group="Manners"),
                Component("mutter", "rude:mutter", "Mutter", group="Manners"),
                Component("show", "rude:show", "Another show", group="Manners"),
            ]
        def mutter(odd: int | str):
            \"""Mutter.\"""
        def show():
            \"""Show nothing.\"""
        """,
    "rude_inner": """
        import a_module_that_does_not_exist
        def grumble(): ...
        """,
}


@pytest.fixture(scope="module")
def mannered(scratch, tmp_path_factory):
    folder = tmp_path_factory.mktemp("commands") / "manners"
    entries = {"rpd": {"polite": "polite", "rude": "rude"}}
    scratch.install(write_distribution(folder, "manners", COMMANDS, entries))
    yield scratch
    scratch.pip("uninstall", "-y", "manners")


def one_line(finished):
    """Return the one line of a refusal."""
    assert (finished.returncode, finished.stdout) == (2, "")
    (line,) = finished.stderr.splitlines()
    return line


def test_a_strangers_command_stands_in_the_help_under_its_heading_and_works(mannered):
    shown = mannered.rpd("--help")
    assert shown.returncode == 0, shown.stderr
    manners = shown.stdout.partition("\nManners:\n")[2]
    assert re.search("^  hello +Greet somebody$", manners, re.MULTILINE)
    assert shown.stdout.index("\nPlugins:\n") < shown.stdout.index("\nManners:\n")
    greeted = mannered.rpd("hello", "you")
    assert (greeted.returncode, greeted.stdout, greeted.stderr) == (0, "Hello you\n", "")
    assert "Greet somebody by name." in mannered.rpd("hello", "--help").stdout
    said = one_line(mannered.rpd("hello", "nobody"))
    assert said == "rpd: nobody cannot be greeted: name somebody"
    described = mannered.rpd("describe", "command", "hello").stdout
    assert "Greet somebody by name." in described
    assert "rpd hello --help" in described
    checked = mannered.rpd("check-plugin", "polite")
    assert (checked.returncode, checked.stdout) == (0, "ok    command hello\nok    command sulk\n")


def test_what_a_strangers_command_does_after_a_run_costs_itself_only(mannered, tmp_path):
    run = ["run", "--env", "cartpole", "--episodes", "60", "--test-episodes", "2", *QUICK]
    words = [*run, "--workers", "1", "--out", str(tmp_path / "r"), "--json"]
    ran = mannered.rpd(*words)
    assert ran.returncode == 0, ran.stderr
    said = "rpd: note: the run has its answer, but rpd sulk failed: KeyError: 'no mood'"
    assert said in ran.stderr.splitlines()
    assert "thresholds" in json.loads(ran.stdout)
    assert "sulk" not in mannered.rpd(*words, "--no-sulk").stderr


def test_a_broken_command_costs_itself_only(mannered):
    rows = {row["name"]: row for row in mannered.listed().values() if row["plugin"] == "rude"}
    assert {name: row["status"] for name, row in rows.items()} == {
        "shout": "broken",
        "grumble": "ready",  # what its module imports shows when it is imported
        "mutter": "ready",
        "show": "clash",
    }
    manners = mannered.rpd("--help").stdout.partition("\nManners:\n")[2]
    marked = r"^  shout +\[broken\] 'rude' defines no 'no_such_function'$"
    assert re.search(marked, manners, re.MULTILINE)
    assert "'rude' defines no 'no_such_function'" in one_line(mannered.rpd("shout"))
    assert "a_module_that_does_not_exist" in one_line(mannered.rpd("grumble"))
    assert "command 'mutter' of plugin 'rude' (manners) is broken" in one_line(
        mannered.rpd("mutter")
    )
    assert "'rpd_core' (ranking-policy-decisions) offers the same name" in rows["show"]["reason"]
    assert "Print the answer of a run again" in mannered.rpd("--help").stdout
    assert "Another show" not in mannered.rpd("--help").stdout
    assert mannered.rpd("show", "--help").returncode == 0
    checked = mannered.rpd("check-plugin", "rude")
    assert checked.returncode == 3
    verdicts = [line for line in checked.stdout.splitlines() if line.startswith("FAULT")]
    assert verdicts == [f"FAULT command {name}" for name in ("shout", "grumble", "mutter", "show")]


@pytest.fixture(scope="module")
def faulty(scratch, tmp_path_factory):
    folder = tmp_path_factory.mktemp("faulty")
    for name, modules in MISTAKES.items():
        entries = {"rpd": {name: name}}
        scratch.install(write_distribution(folder / name, name, modules, entries))
    yield scratch
    scratch.pip("uninstall", "-y", *MISTAKES)


def test_faulty_plugins_are_shown_as_such_and_everything_else_keeps_working(faulty, tmp_path):
    finished = faulty.rpd("list-plugins", "--json")
    rows = json.loads(finished.stdout)
    for name, (kind, shown, status, reason) in SHOWN.items():
        row = next(r for r in rows if r["plugin"] == name)
        assert (row["kind"], row["name"], row["status"]) == (kind, shown, status)
        assert reason in row["reason"]
    clash = next(r for r in rows if r["plugin"] == "duplicates")
    assert (clash["name"], clash["status"]) == ("tarantula", "clash")
    bundled = next(r for r in rows if r["name"] == "tarantula" and r["plugin"] != "duplicates")
    assert bundled["status"] == "ready"

    checked = faulty.rpd("check-plugin", "duplicates")
    assert checked.returncode == 3
    light = ["--env", "cartpole", "--episodes", "60", "--unmutated-episodes", "20"]
    ran = faulty.rpd("suite", *light, "--workers", "1", "--out", str(tmp_path / "r"), "--json")
    assert ran.returncode == 0, ran.stderr
