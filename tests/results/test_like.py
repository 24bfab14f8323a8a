"""A run like another: the very same states, default action, rate and condition."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import refusal, rpd_command
from report_worlds import Wavers
from stores import corridor, finish, tree
from strangers import having, plugin

import rpd
from rpd_core.errors import ConfigError, StoreError
from rpd_core.plugin.protocols import Component
from rpd_core.results.run import Run

PARTS: tuple[tuple[str, Component], ...] = (
    ("environment", Component("corridor", "worlds:Corridor", "A world", runs_code=False)),
    ("policy", Component("goes", "worlds:Goes", "Goes", runs_code=False)),
    ("policy", Component("wavers", "report_worlds:Wavers", "Wavers", runs_code=False)),
)
CORRIDOR = plugin("corridor-world", "1.0", PARTS)
LEARNING = {"abstraction": ("bins:count=4",), "condition": "auto", "mutation_rate": 0.25}


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose abstraction and condition have learned."""
    path = tmp_path_factory.mktemp("like") / "first"
    with having(CORRIDOR):
        finish(path, corridor(env="corridor", policy="goes", **LEARNING))
    return path


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of another policy that has learned its own states."""
    path = tmp_path_factory.mktemp("own") / "run"
    with having(CORRIDOR):
        finish(path, corridor(env="corridor", policy="wavers", seed=7, **LEARNING))
    return path


def test_what_was_learned_is_taken_over_and_not_learned_anew(
    first: Path, own: Path, tmp_path: Path
) -> None:
    with having(CORRIDOR):
        second = rpd.run(policy="wavers", seed=7, like=first, out=tmp_path / "second")
    for name in ("prepared.json", "conditions.json"):
        held = json.loads((first / name).read_text())
        assert json.loads((second.path / name).read_text()) == held
        assert json.loads((own / name).read_text()) != held, "it would have learned otherwise"
    one, two = rpd.open_run(first), rpd.open_run(second.path)
    assert two.summary.condition == one.summary.condition
    assert two.summary.suite.mutation_rate == 0.25
    assert two.summary.suite.episodes == 60
    assert two.summary.seed == 7
    assert (
        two.directory.stored().components["abstraction"]
        == (one.directory.stored().components["abstraction"])
    )


def test_a_run_of_this_process_lends_its_own_components(tmp_path: Path) -> None:
    live = finish(tmp_path / "live", corridor(**LEARNING))
    second = rpd.run(policy=Wavers(), like=live, out=tmp_path / "second")
    assert (second.path / "prepared.json").read_bytes() == (
        (live.path / "prepared.json").read_bytes()
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--mutation-rate", "0.1"), "has --mutation-rate 0.25, and runs that differ in it cannot"),
        (("--mutation-rate", "auto"), "has --mutation-rate 0.25"),
        (("--abstraction", "identity"), "has --abstraction bins:4,"),
        (("--default-action", "random"), "has --default-action constant:0"),
        (("--condition", "return>=1"), "has --condition auto"),
        (("--env", "cartpole"), "has --env corridor"),
        (("--config", "run.json"), "two different runs to start from"),
    ],
)
def test_what_would_break_the_comparison_is_one_line(
    first: Path, words: tuple[str, ...], told: str
) -> None:
    with having(CORRIDOR):
        assert told in refusal("run", "--like", first, "--policy", "wavers", *words)


def test_what_is_the_same_may_be_said_and_the_same_run_is_refused(first: Path) -> None:
    with having(CORRIDOR):
        same = ("--env", "corridor", "--abstraction", "bins:4", "--mutation-rate", "0.25")
        asked = rpd_command("run", "--like", first, "--seed", "3", *same, "--dry-run", "--json")
        assert asked.exit_code == 0, asked.output
        plain = json.loads(asked.stdout)
        assert "_like-" in plain["out"], "told apart from a run that learns its own states"
        assert "name another policy or seed" in refusal("run", "--like", first)
        assert "is not a run directory" in refusal("run", "--like", first / "no", "--seed", "1")
    with pytest.raises(ConfigError, match="has no argument 'like'"):
        rpd.bench("cartpole", like=first)


def test_a_directory_that_learned_otherwise_is_refused(first: Path, own: Path) -> None:
    before = tree(own)
    with having(CORRIDOR), pytest.raises(StoreError, match="has learned otherwise than"):
        rpd.run(policy="wavers", seed=7, like=first, out=own)
    assert tree(own) == before


def test_a_first_try_that_fails_leaves_nothing(first: Path, tmp_path: Path) -> None:
    with having(CORRIDOR):
        with pytest.raises(rpd.RpdError, match="not clearly above"):
            rpd.run(policy="goes:0", like=first, out=tmp_path / "weak")
        empty = tmp_path / "stranger"
        with pytest.raises(rpd.RpdError):
            rpd.run(policy="sb3:nowhere.zip", like=first, out=empty)
    assert not empty.exists()


def test_a_run_that_has_learned_nothing_yet_cannot_be_followed(tmp_path: Path, first: Path) -> None:
    with having(CORRIDOR):
        stored = tmp_path / "begun"
        stored.mkdir()
        (stored / "run.json").write_bytes((first / "run.json").read_bytes())
        with pytest.raises(StoreError, match="has not fitted its abstraction yet"):
            rpd.run(policy="wavers", like=Run(stored, None), out=tmp_path / "second")
    assert not (tmp_path / "second").exists()
