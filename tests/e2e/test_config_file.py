"""A TOML file of one's own as --config."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

MINE = """
env = "cartpole"
policy = "cartpole:weak"
episodes = 1e2
mutation_rate = 0.3
measure = ["jaccard", "dice"]
workers = 1
seed = 3
dry-run = true
"""


def planned(cli, *words: str) -> dict:
    told = cli("run", "--config", "mine.toml", "--json", *words)
    assert told.exit_code == 0, told.output
    return json.loads(told.stdout)["config"]


def test_settings_of_a_file_are_used_and_the_command_line_wins(cli, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(MINE, encoding="utf-8-sig")  # as some editors write it
    found = planned(cli)
    settings = found["suite"]["settings"]
    assert (found["suite"]["env"], found["suite"]["policy"]) == ("cartpole", "cartpole:weak")
    assert (settings["episodes"], settings["mutation_rate"], settings["seed"]) == (100, 0.3, 3)
    assert found["analysis"]["measures"][-2:] == ["jaccard", "dice"]
    changed = planned(cli, "--seed", "4", "--measure", "phi", "--policy", "cartpole:good")
    assert changed["suite"]["settings"]["seed"] == 4
    assert changed["suite"]["policy"] == "cartpole:good"
    assert "jaccard" not in changed["analysis"]["measures"]
    assert changed["analysis"]["measures"][-1] == "phi"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("epsiodes = 3", "'mine.toml': 'epsiodes' is not an option. Did you mean 'episodes'?"),
        ("xyz = 3", "'mine.toml': 'xyz' is not an option. See --help for the options."),
        ("[run]\nenv = 'cartpole'", "'run' is not an option."),
        ("trust-policy = true", "'trust-policy' belongs on the command line: a permission is"),
        ("policy = 'sb3:a.zip,trust=true'", "policy has trust=, which belongs on the command line"),
        ("config = 'other.toml'", "'config' belongs on the command line"),
        ("env = ['a', 'b']", "env takes one value, got 2"),
        ("episodes = true", "episodes must be text or a number, got True"),
        ("episodes = 'many'", "--episodes must be a whole number, got 'many'"),
        ("dry-run = 1", "dry-run must be true or false, got 1"),
        ("measure = [{a = 1}]", "measure must be text or a number, got [{'a': 1}]"),
        ("env = ", "'mine.toml' is not TOML: Invalid value (at "),
        (f"seed = {'1' * 5000}", "'mine.toml' is not TOML: "),
        (f"seed = 0x{'f' * 5000}", "'mine.toml': seed has a number with too many digits"),
        (f"seed = [[0x{'f' * 5000}]]", "seed has a number with too many digits"),
        (f"measure = {'[' * 20_000}", "'mine.toml' is not TOML of ours: it is nested too deeply"),
        ("mutation-rate = 0.1\nmutation_rate = 0.2", "'mutation_rate' is there twice"),
        ("#" * 1_000_001, "'mine.toml' has more than 1000000 bytes"),
    ],
)
def test_a_file_that_cannot_work_is_refused_in_one_line(
    cli, tmp_path: Path, text: str, told: str
) -> None:
    (tmp_path / "mine.toml").write_text(text)
    refused = cli("run", "--config", "mine.toml")
    assert refused.exit_code == 2, refused.output
    assert told in refused.stderr
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize("kind", ["pipe", "zeros"])
def test_what_is_not_an_ordinary_file_is_not_read(cli, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "mine.toml"
    make = {
        "pipe": lambda: os.mkfifo(path),
        "zeros": lambda: path.symlink_to("/dev/zero"),
    }
    make[kind]()
    refused = cli("run", "--config", "mine.toml")
    assert refused.exit_code == 2, refused.output
    assert refused.stderr.startswith("rpd: 'mine.toml' is not an ordinary file: name a TOML file")
    assert refused.stderr.count("\n") == 1


def test_a_file_that_is_not_there_is_named(cli) -> None:
    refused = cli("run", "--config", "mine.toml")
    assert (refused.exit_code, refused.stderr) == (
        2,
        "rpd: cannot read 'mine.toml': No such file or directory\n",
    )
