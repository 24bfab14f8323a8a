"""Rules as data and as a function that needs neither rpd nor NumPy."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import rpd_command
from gymnasium import spaces
from stores import corridor, finish

import rpd
from rpd_basics.export import export_pruned
from rpd_basics.rule_export import (
    Certificate,
    ExportedRule,
    ExportedRules,
    FirstDefault,
    _python,
    export_rules,
)
from rpd_core.config.settings import Request
from rpd_core.errors import ConfigError
from rpd_core.plugin.protocols import Bound, Facts, Opening
from rpd_core.pruning.stored_sweep import stored_table
from rpd_core.store.codec import to_plain
from rpd_gym.cartpole import CartPole


@pytest.fixture(scope="module")
def poles(tmp_path_factory: pytest.TempPathFactory) -> rpd.Run:
    asked = Request(
        "cartpole", abstraction=("rules:leaves=12",), episodes=400, test_episodes=20,
        confirm_episodes=40, unmutated_episodes=40, random_rankings=2, confirm_tries=4,
        minimise_steps=40_000,
    )  # fmt: skip
    return finish(tmp_path_factory.mktemp("poles") / "run", asked)


@pytest.fixture(scope="module")
def halls(tmp_path_factory: pytest.TempPathFactory) -> rpd.Run:
    return finish(tmp_path_factory.mktemp("halls") / "run", corridor(episodes=400))


def function_of(path: Path) -> Callable[..., Any]:
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    act: Callable[..., Any] = names["act"]
    return act


def test_the_function_plays_as_rpd_played_the_rules(poles: rpd.Run, tmp_path: Path) -> None:
    path = tmp_path / "act.py"
    told = export_rules(poles, path)
    act = function_of(path)
    folders = {n: f for n, f in poles.asked.evaluations.items() if n.startswith("rules-confirm-0")}
    (played,) = (stored_table(poles.directory, folder) for folder in folders.values())
    lanes = CartPole().open(Opening(1))
    for seed, wanted in zip(
        played["seed"].to_pylist()[:15], played["total_return"].to_pylist()[:15], strict=True
    ):
        lanes.reset(np.array([0]), np.array([seed]))
        previous, total, over = None, 0.0, False
        while not over:
            previous = act(np.asarray(lanes.observe())[0], previous)
            assert type(previous) is int
            step = lanes.step(np.array([previous]), np.array([True]))
            total += float(step.rewards[0])
            over = bool(step.terminated[0] or total == 200)
        assert total == wanted
    assert told.share == pytest.approx(np.mean(played["total_return"].to_numpy()) / 200, abs=0.05)
    assert str(told).startswith(f"{len(told.rules)} rules and the default action repeat (first act")


def test_the_function_is_short_and_needs_nothing(poles: rpd.Run, tmp_path: Path) -> None:
    path = tmp_path / "act.py"
    told = export_rules(poles, path)
    lines = path.read_text().splitlines()
    words = lines.index('"""')
    assert lines[0].startswith('"""CartPole')
    assert lines[-1] == "    return 0 if previous is None else previous  # repeat"
    assert len(lines) - words <= 2 * len(told.rules) + 4 + 7, (
        "two lines a rule, and one for each number"
    )
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import act; act.act([0] * 4, 1); "
    code += "assert not {'numpy', 'rpd_core'} & {*sys.modules}"
    subprocess.run([sys.executable, "-Ic", code], check=True)


def test_the_data_holds_what_the_function_does(poles: rpd.Run, tmp_path: Path) -> None:
    told = export_rules(poles, tmp_path / "rules.json")
    data = json.loads((tmp_path / "rules.json").read_text())
    policy = poles.policy()
    assert policy is not None
    assert (data["share"], data["target"]) == (policy.rules_alone, 0.9)
    assert (data["default_action"], data["first_action"]) == ("repeat", 0)
    assert [one["action"] for one in data["rules"]] == [rule.action for rule in told.rules]
    assert {one["action_name"] for one in data["rules"]} <= {"left", "right"}
    ranked = [one.state for one in poles.decisions]
    assert [one["rule"] for one in data["rules"]] == ranked, "by loss"
    for one in data["rules"]:
        for condition in one["conditions"]:
            assert condition["name"].split()[0] in one["rule"]
            assert condition["at_least"] is not None or condition["below"] is not None


def test_states_that_are_no_conditions_are_data_and_no_function(
    halls: rpd.Run, tmp_path: Path
) -> None:
    told = export_rules(halls, tmp_path / "rules.json")
    data = json.loads((tmp_path / "rules.json").read_text())
    assert {one["action_name"] for one in data["rules"]} == {"go"}
    assert "conditions" not in data["rules"][0]
    assert (told.first.action, told.first.name) == (0, "drift")
    policy = halls.policy()
    assert policy is not None
    assert told.share == policy.share, "it does one thing in every state"
    with pytest.raises(ConfigError, match=r"export to \.json instead"):
        export_rules(halls, tmp_path / "act.py")
    assert not (tmp_path / "act.py").exists()


def test_other_default_actions_are_refused_in_a_line(halls: rpd.Run, tmp_path: Path) -> None:
    setup = halls.setup
    assert setup is not None
    settings = replace(setup.config.settings, default_action="random")
    setup = replace(setup, config=replace(setup.config, settings=settings))
    run = rpd.Run(halls.path, halls.name, setup)
    with pytest.raises(ConfigError, match="rules are exported where the default action is repeat"):
        export_rules(run, tmp_path / "rules.json")


def test_the_certificate_names_what_the_default_begins_with(poles: rpd.Run, tmp_path: Path) -> None:
    certificate = export_pruned(poles, tmp_path / "pruned.zip")
    assert certificate.first == "left"
    policy = poles.policy()
    assert policy is not None
    assert certificate.pass_rate == policy.pass_rate
    assert certificate.overrides_whole == policy.overrides_whole
    assert f"; the default begins with left. {certificate.also_enough}" in str(certificate)
    assert certificate.also_enough.startswith("Also enough: ")
    assert certificate.steps == policy.steps


def test_every_export_has_the_same_certificate(poles: rpd.Run, tmp_path: Path) -> None:
    certificate = export_pruned(poles, tmp_path / "pruned.zip")
    assert export_rules(poles, tmp_path / "rules.json").certificate == certificate
    data = json.loads((tmp_path / "rules.json").read_text())
    assert data["certificate"] == to_plain(certificate)
    policy = poles.policy()
    assert policy is not None
    assert data["share_bound"] == policy.rules_alone_bound
    export_rules(poles, tmp_path / "act.py")
    told = ast.get_docstring(ast.parse((tmp_path / "act.py").read_text()))
    assert f"inside the rules: {certificate}." in " ".join((told or "").split())


def test_actions_relative_to_states_are_no_rules_for_anybody_else(tmp_path: Path) -> None:
    asked = Request(
        "cartpole", episodes=400, test_episodes=20, confirm_episodes=40, unmutated_episodes=40,
        random_rankings=2, minimise_steps=40_000, target=(0.2,),
    )  # fmt: skip
    run = finish(tmp_path / "run", asked)
    with pytest.raises(ConfigError, match=r"relative to the state: export to a \.zip instead"):
        export_rules(run, tmp_path / "rules.json")


def written(space: Any, *bounds: Bound, default: str = "no-op") -> Callable[..., Any]:
    """Return the function of one rule over observations of a space."""
    rule = ExportedRule("x", [0.5], "push", bounds)
    rules = ExportedRules("World", 0.9, 1.0, 5, (rule,), default, FirstDefault([0.0], "0"),
                          None, Certificate(0.9, 1.0, None, 0.95, 5, 0.5))  # fmt: skip
    names: dict[str, Any] = {}
    exec(_python(rules, Facts(space, spaces.Box(-1, 1, (1,)), 1)), names)
    act: Callable[..., Any] = names["act"]
    return act


def test_parts_of_a_dict_angles_and_units_are_read_from_the_observation() -> None:
    space = spaces.Dict(
        {"way": spaces.Box(0, 9, (2,)), "day": spaces.Discrete(7), "turn": spaces.Box(-1, 1, (2,))}
    )
    act = written(
        space,
        Bound("weekday", (0,), 2.0, 3.0),
        Bound("turn", (1, 2), low=0.0, factor=180 / np.pi),
        Bound("second of way", (4,), high=4.5),
    )
    seen = {"way": np.array([9.0, 4.0]), "day": np.int64(2), "turn": np.array([0.0, 1.0])}
    assert act(seen) == [0.5]
    assert act({**seen, "day": 3}) == [0.0]
    assert act({**seen, "turn": [0.0, -1.0]}) == [0.0]
    assert act({**seen, "way": [0.0, 4.5]}) == [0.0]


def test_single_precision_and_odd_names_change_nothing() -> None:
    act = written(spaces.Box(-1, 1, (2,)), Bound("observation", (1,), high=0.1))
    below = np.nextafter(np.float32(0.1), np.float32(0))
    assert act(np.array([0, below])) == [0.5]
    assert float(np.float32(0.1)) >= 0.1, "in single precision they would be equal"
    assert act(np.array([0, np.float32(0.1)], dtype=np.float32)) == [0.0]
    hostile = Bound('x"""\nimport os', (0,), low=0.5)
    assert written(spaces.Box(-1, 1, (2,)), hostile)([0.6, 0]) == [0.5]


def test_the_command_writes_rules_by_the_name_of_the_file(poles: rpd.Run, tmp_path: Path) -> None:
    copy = shutil.copytree(poles.path, tmp_path / "run")
    told = export_rules(poles, tmp_path / "own.py")
    result = rpd_command("prune", copy, "--export", tmp_path / "act.py", "--workers", "1")
    assert result.exit_code == 0, result.output
    assert f"act.py: {told}" in " ".join(result.stderr.split())
    assert (tmp_path / "act.py").read_bytes() == (tmp_path / "own.py").read_bytes()
