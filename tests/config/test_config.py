"""Requests and their identities."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import worlds
from lines import Line

import rpd
from rpd_core import api
from rpd_core.config.configuration import Configuration
from rpd_core.config.resolve import resolve
from rpd_core.config.settings import RECOMMENDED, STANDARD_MEASURES, Request
from rpd_core.errors import ConfigError, RpdError
from rpd_core.plugin.registry import Registry
from rpd_core.results.run import Run
from rpd_core.store.directory import RunDirectory


def config(registry: Registry, **changes: Any) -> Configuration:
    return resolve(
        Request(**{"env": worlds.Corridor(), "policy": worlds.Goes(), **changes}), registry
    ).config


def test_what_is_not_given_comes_from_the_task(registry: Registry) -> None:
    found = config(registry)
    settings = found.settings
    assert settings.mutation_rate == worlds.MUTATION_RATE
    assert settings.default_action == "constant:0"
    assert settings.abstraction == ("identity",)
    assert (settings.episodes, settings.chunk, settings.lanes) == (400, 100, 64)
    assert found.max_steps == worlds.MAX_STEPS
    assert settings.condition == worlds.CONDITION
    assert settings.measures == STANDARD_MEASURES
    assert (settings.reference, settings.test_episodes) == (0.0, 20)
    assert (settings.unvisited, settings.seed, settings.random_rankings) == ("default", 0, 4)


def test_what_is_given_wins(registry: Registry) -> None:
    settings = config(
        registry, mutation_rate=0.1, episodes=70, chunk=7, lanes=3, seed=9, reference=-4.5,
        condition="return > 1", measures=("random:seed=4", "tarantula"), test_episodes=2,
        default_action="random", abstraction=("identity", "abs"), unvisited="policy",
    ).settings  # fmt: skip
    assert (settings.mutation_rate, settings.episodes, settings.chunk) == (0.1, 70, 7)
    assert (settings.lanes, settings.seed, settings.reference) == (3, 9, -4.5)
    assert (settings.condition, settings.test_episodes) == ("return>1", 2)
    assert settings.measures == (*STANDARD_MEASURES, "random:4")
    assert settings.abstraction == ("identity", "abs")
    assert (settings.default_action, settings.unvisited) == ("random", "policy")


def test_no_reference_can_be_asked_for_where_the_task_has_one(registry: Registry) -> None:
    assert config(registry).settings.reference == 0.0
    assert config(registry, reference=None).settings.reference is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mutation_rate": 20}, "mutation_rate must lie in (0, 1), got 20. Did you mean 0.2?"),
        ({"mutation_rate": 0.0}, "mutation_rate must lie in (0, 1), got 0."),
        ({"mutation_rate": 1.0}, "mutation_rate must lie in (0, 1), got 1."),
        ({"mutation_rate": -0.1}, "mutation_rate must lie in (0, 1), got -0.1."),
        ({"mutation_rate": float("nan")}, "mutation_rate must lie in (0, 1), got nan."),
        ({"episodes": 0}, "episodes must be at least 1, got 0"),
        ({"episodes": -3}, "episodes must be at least 1, got -3"),
        ({"test_episodes": 0}, "test_episodes must be at least 1, got 0"),
        ({"chunk": 0}, "chunk must be at least 1, got 0"),
        ({"lanes": 0}, "lanes must be at least 1, got 0"),
        ({"random_rankings": 0}, "random_rankings must be at least 1, got 0"),
        ({"seed": -1}, "seed must not be negative and must be below 2**63, got -1"),
        ({"shares": (0.5, 1.5)}, "shares must lie in [0, 1], got [0.5, 1.5]"),
        ({"unvisited": "ignore"}, "unvisited must be default or policy, got 'ignore'"),
        ({"episodes": 2}, "2 episodes at mutation rate 0.3 mutate almost nothing"),
        ({"episodes": 10.5}, "episodes must be a whole number, got 10.5"),
        ({"episodes": "many"}, "episodes must be a whole number, got 'many'"),
        ({"mutation_rate": "high"}, "mutation_rate must be a number, got 'high'"),
        ({"policy": None}, "no policy ships with"),
        ({"condition": "retrun>=3"}, "Did you mean 'return'?"),
        ({"measures": ("tarantola",)}, "Did you mean 'tarantula'?"),
        ({"default_action": "repaet"}, "Did you mean 'repeat'?"),
    ],
)
def test_settings_that_cannot_work_are_refused(
    changes: dict[str, Any], message: str, registry: Registry
) -> None:
    with pytest.raises(RpdError) as caught:
        config(registry, **changes)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_shares_are_put_in_order(registry: Registry) -> None:
    assert config(registry, shares=(1.0, 0.5, 0.0, 0.5)).settings.shares == (0.0, 0.5, 1.0)


def test_an_unknown_setting_offers_the_nearest() -> None:
    with pytest.raises(
        ConfigError, match=r"run\(\) has no argument 'episode'. Did you mean 'episodes'"
    ):
        rpd.run("cartpole", episode=3)


def _noting(calls: list[api.Call]) -> Callable[[api.Call], Any]:
    """Return what stands in for a whole run and keeps what it was asked."""

    def carry_out(call: api.Call) -> Any:
        calls.append(call)
        return Run(Path(), None), {}

    return carry_out


def test_one_choice_and_a_list_of_them_become_tuples(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[api.Call] = []
    monkeypatch.setattr(api, "carry_out", _noting(calls))
    rpd.run("cartpole", measures="random", abstraction=["abs", "round"])
    rpd.run("cartpole", abstraction=worlds.Itself(), shares=0.5)
    assert [call.measures for call in calls[:1]] == [("random",)]
    assert [call.abstraction for call in calls] == [("abs", "round"), (worlds.Itself(),)]
    assert calls[1].shares == (0.5,)


def test_numbers_of_numpy_are_as_good_as_pythons(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[api.Call] = []
    monkeypatch.setattr(api, "carry_out", _noting(calls))
    given = {"seed": np.int64(3), "mutation_rate": np.float32(0.25), "episodes": np.int32(40)}
    rpd.run(worlds.Corridor(), worlds.Goes(), **given)
    found = resolve(calls[0], registry).config
    stored = found.suite_json()["settings"]
    assert (stored["seed"], stored["mutation_rate"], stored["episodes"]) == (3, 0.25, 40)


def test_the_digest_depends_on_what_fixes_the_episodes_alone(registry: Registry) -> None:
    base = config(registry).digest()
    same = {"condition": "return>=1", "test_episodes": 3, "episodes": 50, "chunk": 3}
    assert config(registry, **same).digest() == base
    others = [
        {"seed": 1}, {"mutation_rate": 0.31}, {"lanes": 63}, {"policy": worlds.Goes(0)},
        {"default_action": "constant:1"}, {"abstraction": ("identity", "abs")},
        {"env": Line()},
    ]  # fmt: skip
    digests = {config(registry, **other).digest() for other in others}
    assert len(digests | {base}) == len(others) + 1


def test_a_component_that_is_none_is_refused_with_what_it_lacks(registry: Registry) -> None:
    with pytest.raises(ConfigError, match=r"policy must be a spec string, .* has load\(facts\)$"):
        config(registry, policy=7)
    with pytest.raises(ConfigError, match=r"environment must be .*got <class 'worlds.Corridor'>"):
        config(registry, env=worlds.Corridor)


def test_a_row_that_is_always_shown_cannot_be_added(registry: Registry) -> None:
    with pytest.raises(ConfigError, match=r"^'random' is always shown .*write random:seed=1$"):
        config(registry, measures=("random",))


def test_a_configuration_survives_the_disk(tmp_path: Path, registry: Registry) -> None:
    found = config(registry, shares=(0.1, 1 / 3), reference=None, measures=("random:seed=4",))
    directory = RunDirectory(tmp_path)
    directory.create(found)
    asked = {"settings": found.analysis_json(), "episodes": 3}
    directory.write_json("analyses/one/analysis.json", asked)
    stored = dataclasses.replace(found.settings, load_timeout=RECOMMENDED)  # of this machine alone
    found = dataclasses.replace(found, settings=stored)
    assert directory.configuration(directory.analysis("one")) == found
