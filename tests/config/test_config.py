"""Requests and their identities."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import worlds
from lines import Line

from rpd_basics.policies import PythonPolicy
from rpd_core.api import make_request
from rpd_core.config.configuration import (
    STANDARD_MEASURES,
    Request,
    RunConfig,
    component_identity,
    file_digest,
    resolve,
)
from rpd_core.errors import ConfigError, RpdError, SpecError
from rpd_core.plugin.registry import Registry


def config(registry: Registry, **changes: Any) -> RunConfig:
    return resolve(
        Request(**{"env": worlds.Corridor(), "policy": worlds.Goes(), **changes}), registry
    ).config


def test_what_is_not_given_comes_from_the_task(registry: Registry) -> None:
    found = config(registry)
    assert found.suite.mutation_rate == worlds.MUTATION_RATE
    assert found.suite.default_action == "constant:0"
    assert found.suite.abstraction == ("identity",)
    assert (found.episodes, found.chunk, found.suite.lanes) == (400, 100, 64)
    assert found.suite.max_steps == worlds.MAX_STEPS
    assert found.analysis.condition == worlds.CONDITION
    assert found.analysis.measures == STANDARD_MEASURES
    assert (found.analysis.reference, found.analysis.test_episodes) == (0.0, 20)
    assert found.analysis.unvisited == "default"


def test_what_is_given_wins(registry: Registry) -> None:
    found = config(
        registry, mutation_rate=0.1, episodes=70, chunk=7, lanes=3, seed=9, reference=-4.5,
        condition="return > 1", measures=("random:seed=4", "tarantula"), test_episodes=2,
        default_action="random", abstraction=("identity", "abs"), unvisited="policy",
    )  # fmt: skip
    assert (found.suite.mutation_rate, found.episodes, found.chunk) == (0.1, 70, 7)
    assert (found.suite.lanes, found.suite.seed, found.analysis.reference) == (3, 9, -4.5)
    assert found.analysis.condition == "return>1"
    assert found.analysis.measures == (*STANDARD_MEASURES, "random:4")
    assert found.suite.abstraction == ("identity", "abs")
    assert (found.suite.default_action, found.analysis.unvisited) == ("random", "policy")


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
        ({"seed": -1}, "seed must not be negative, got -1"),
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
    assert config(registry, shares=(1.0, 0.5, 0.0, 0.5)).analysis.shares == (0.0, 0.5, 1.0)


def test_an_unknown_setting_offers_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"run\(\) takes no 'episode'. Did you mean 'episodes'"):
        make_request("cartpole", None, {"episode": 3})
    made = make_request("cartpole", None, {"measures": "random", "abstraction": ["abs", "round"]})
    assert (made.measures, made.abstraction) == (("random",), ("abs", "round"))


def test_numbers_of_numpy_are_as_good_as_pythons(registry: Registry) -> None:
    given = {"seed": np.int64(3), "mutation_rate": np.float32(0.25), "episodes": np.int32(40)}
    made = make_request(worlds.Corridor(), worlds.Goes(), given)
    found = resolve(made, registry).config
    assert found.as_json()["suite"]["seed"] == 3
    assert (found.suite.mutation_rate, found.episodes) == (0.25, 40)


def test_a_configuration_survives_json(registry: Registry) -> None:
    found = config(registry, shares=(0.1, 1 / 3), reference=None)
    assert RunConfig.from_json(json.loads(json.dumps(found.as_json()))) == found


def test_the_digest_depends_on_what_fixes_the_episodes_alone(registry: Registry) -> None:
    base = config(registry).suite.digest()
    same = {"condition": "return>=1", "test_episodes": 3, "episodes": 50, "chunk": 3}
    assert config(registry, **same).suite.digest() == base
    others = [
        {"seed": 1}, {"mutation_rate": 0.31}, {"lanes": 63}, {"policy": worlds.Goes(0)},
        {"default_action": "constant:1"}, {"abstraction": ("identity", "abs")},
        {"env": Line()},
    ]  # fmt: skip
    digests = {config(registry, **other).suite.digest() for other in others}
    assert len(digests | {base}) == len(others) + 1


@dataclasses.dataclass(frozen=True)
class FromFile:
    path: Path
    note: str = dataclasses.field(default="", metadata={"not_identity": True})


def test_an_input_file_counts_by_its_content(tmp_path: Path) -> None:
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    one.write_bytes(b"weights")
    two.write_bytes(b"weights")
    three.write_bytes(b"Weights")
    first = component_identity(FromFile(one, "a"))
    assert first == component_identity(FromFile(two, "b"))
    assert first != component_identity(FromFile(three))
    assert first["path"].startswith("sha256:")


def test_files_that_a_loader_names_count_too(tmp_path: Path) -> None:
    class Loader:
        def inputs(self) -> tuple[Path, ...]:
            return (tmp_path / "extra",)

    (tmp_path / "extra").write_bytes(b"1")
    before = component_identity(Loader())
    (tmp_path / "extra").write_bytes(b"2")
    assert component_identity(Loader()) != before


def test_a_missing_or_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="does not exist: check the path"):
        file_digest(tmp_path / "none.zip")
    with pytest.raises(SpecError, match="is a directory, not a file"):
        file_digest(tmp_path)
    (tmp_path / "empty.zip").touch()
    with pytest.raises(SpecError, match="is empty: save the file again"):
        file_digest(tmp_path / "empty.zip")


class Threshold:
    """A policy object: what it holds is what it does."""

    def __init__(self, at: float) -> None:
        self.at = at

    def __call__(self, seen: Any) -> Any:
        return seen > self.at


def test_callable_objects_are_told_apart_by_what_they_hold() -> None:
    def identity(at: float) -> Any:
        return component_identity(PythonPolicy(Threshold(at)))

    assert identity(0.0) == identity(0.0)
    assert identity(0.0) != identity(1.0)
