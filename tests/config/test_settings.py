"""A setting is declared once: the call, the command line, checks and storage follow."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys

import pytest
import typer.testing
import worlds

import rpd
from rpd_core.api import Call
from rpd_core.cli.app import app
from rpd_core.config.resolve import resolve
from rpd_core.config.settings import ASKED, RECOMMENDED, Request, declared
from rpd_core.errors import ConfigError
from rpd_core.plugin.hookspecs import KINDS
from rpd_core.plugin.registry import Registry

OF_THE_CALL = {
    "env", "policy", "out", "workers", "executor", "trust_policy", "analysis", "like", "progress",
    "note", "guard", "finish",
}  # fmt: skip
"""What `run` takes besides settings."""


def flag(name: str) -> str:
    return declared()[name].flag or f"--{name.replace('_', '-')}"


def test_run_takes_every_setting_and_nothing_else() -> None:
    parameters = inspect.signature(rpd.run).parameters
    assert set(parameters) == {*declared(), *OF_THE_CALL}
    assert all(parameters[name].default is RECOMMENDED for name in declared())
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in declared())
    assert list(parameters)[:2] == ["env", "policy"]
    assert set(inspect.signature(Call).parameters) == set(parameters)


@pytest.fixture(scope="module")
def shown() -> str:
    """Return what `rpd run --help` prints."""
    wide = {"COLUMNS": "300", "TERM": "dumb"}
    done = typer.testing.CliRunner().invoke(app, ["run", "--help"], env=wide)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("name", [name for name, one in declared().items() if one.flag != "-"])
def test_the_command_line_has_every_setting_with_its_help(name: str, shown: str) -> None:
    row = rf" {flag(name)} (\S+ )?{re.escape(declared()[name].help)}"
    assert re.search(row, " ".join(shown.split()))


def test_settings_that_are_not_for_the_command_line_are_not_there(shown: str) -> None:
    hidden = {name for name, one in declared().items() if one.flag == "-"}
    assert hidden == {
        "lanes", "chunk", "shares", "random_rankings", "list_by",
    }  # fmt: skip
    assert not [name for name in hidden if f"--{name.replace('_', '-')}" in shown]


def test_every_setting_is_stored_where_its_scope_says(registry: Registry) -> None:
    config = resolve(Request(worlds.Corridor(), worlds.Goes()), registry).config
    scopes = {name: one.scope for name, one in declared().items()}
    asked, fixed = config.analysis_json(), config.suite_json()["settings"]
    assert set(asked) == {name for name, scope in scopes.items() if scope in ASKED}
    assert set(fixed) == {name for name, scope in scopes.items() if scope in ("suite", "size")}


def test_how_long_loading_may_take_is_no_part_of_a_run(registry: Registry) -> None:
    usual, longer = (
        resolve(Request(worlds.Corridor(), worlds.Goes(), **given), registry).config
        for given in ({}, {"load_timeout": 5})
    )
    assert (usual.settings.load_timeout, longer.settings.load_timeout) == (60.0, 5)
    assert usual.digest() == longer.digest()
    assert "load_timeout" not in json.dumps([longer.suite_json(), longer.analysis_json()])


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan"), "a minute", True])
def test_loading_takes_some_seconds(seconds: object, registry: Registry) -> None:
    with pytest.raises(ConfigError, match=r"^load_timeout must be "):
        resolve(Request(worlds.Corridor(), worlds.Goes(), load_timeout=seconds), registry)


def test_settings_that_select_components_name_a_kind() -> None:
    kinds = {name: one.kind for name, one in declared().items() if one.kind}
    assert kinds == {
        "list_by": "measure",
        "headline": "measure",
        "abstraction": "abstraction",
        "default_action": "default-action",
        "condition": "condition",
        "measures": "measure",
    }
    assert set(kinds.values()) <= set(KINDS)


ONE_MORE = """
import importlib.util, inspect, json, sys
name = "rpd_core.config.settings"
spec = importlib.util.find_spec(name)
source = open(spec.origin).read()
anchor = "    reference: float | None = _setting("
assert source.count(anchor) == 1
line = '    novelty: int = _setting("How new it is.", "analysis", default=5, check=_count)'
module = importlib.util.module_from_spec(spec)
sys.modules[name] = module
exec(compile(source.replace(anchor, line + chr(10) + anchor), spec.origin, "exec"), vars(module))

import typer.testing, worlds
import rpd
from rpd_core.cli.app import app
from rpd_core.config.resolve import resolve
from rpd_core.errors import ConfigError
from rpd_core.plugin.registry import installed

def stored(**given):
    request = module.Request(worlds.Corridor(), worlds.Goes(), **given)
    return resolve(request, installed()).config.analysis_json()["novelty"]

wide = {"COLUMNS": "200", "TERM": "dumb"}
shown = typer.testing.CliRunner().invoke(app, ["run", "--help"], env=wide).output
try:
    refused = stored(novelty=0)
except ConfigError as error:
    refused = str(error)
print(json.dumps({
    "in the call": "novelty" in inspect.signature(rpd.run).parameters,
    "in the help": " ".join(shown.partition("--novelty")[2].split()[:5]),
    "stored": [stored(), stored(novelty=9)],
    "refused": refused,
}))
"""


def test_one_line_more_is_a_setting_more_everywhere() -> None:
    folder = worlds.__file__.rpartition("/")[0]
    script = f"import sys\nsys.path.append({folder!r})\n{ONE_MORE}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "in the call": True,
        "in the help": "N How new it is.",
        "stored": [5, 9],
        "refused": "novelty must be at least 1, got 0",
    }


def test_a_run_without_an_environment_is_one_line() -> None:
    with pytest.raises(ConfigError, match="no environment given: name one"):
        rpd.run(policy="cartpole:good")


def test_a_quick_look_makes_less_of_what_was_not_given(registry: Registry) -> None:
    usual = resolve(Request(worlds.Corridor(), worlds.Goes()), registry).config.settings
    asked = Request(worlds.Corridor(), worlds.Goes(), quick=True, test_episodes=70)
    quick = resolve(asked, registry).config.settings
    assert quick.episodes == -(-usual.episodes // 4)
    assert (quick.test_episodes, quick.target, quick.unvisited) == (70, (0.9,), "policy")
    assert quick.confirm_episodes == usual.confirm_episodes
    assert not usual.quick
