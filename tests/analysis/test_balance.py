"""The mutation rate at which about half of the mutant episodes pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import worlds
from commands import refusal
from stores import corridor, finish

import rpd
from rpd_core.config.resolve import resolve
from rpd_core.errors import ConfigError, EvidenceError, StoreError
from rpd_core.pilot import RATES, choose_rate, pilot_episodes
from rpd_core.plugin.registry import installed
from rpd_core.run_names import default_directory


def test_the_rate_lies_between_those_around_one_half() -> None:
    assert RATES == (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
    assert choose_rate((0.9, 0.8, 0.6, 0.4, 0.2, 0.1), "it") == (0.25, 0.5)
    assert choose_rate((0.9, 0.5, 0.1, 0, 0, 0), "it") == (0.1, 0.5)


def test_shares_that_rise_by_chance_are_averaged() -> None:
    assert choose_rate((0.9, 0.4, 0.7, 0.3, 0.2, 0.1), "it") == (0.22, 0.5)


def test_where_no_rate_is_balanced_the_nearest_is_taken() -> None:
    assert choose_rate((1, 1, 1, 0.9, 0.8, 0.7), "it") == (0.5, 0.7)
    assert choose_rate((0.3, 0.2, 0.1, 0, 0, 0), "it") == (0.05, 0.3)


@pytest.mark.parametrize(("share", "fate"), [(0.0, "fail"), (1.0, "pass")])
def test_where_all_have_one_fate_there_is_no_rate(share: float, fate: str) -> None:
    with pytest.raises(EvidenceError, match=f"all pilot episodes {fate} it at mutation rates"):
        choose_rate((share,) * len(RATES), "it")


def test_a_pilot_is_small_beside_its_suite() -> None:
    assert [pilot_episodes(size) for size in (10, 5000, 10**6)] == [50, 100, 200]


def pass_rate(rate: float) -> float:
    table = worlds.enumerate_corridor(rate)
    passed = table.mutated_passed[0] + table.kept_passed[0]
    return float(passed / (passed + table.mutated_failed[0] + table.kept_failed[0]))


@pytest.fixture(scope="module")
def piloted(tmp_path_factory: pytest.TempPathFactory) -> rpd.Run:
    path = tmp_path_factory.mktemp("pilot") / "run"
    return finish(path, corridor(mutation_rate="auto", episodes=10_000, chunk=5000))


def stored_rate(path: Path) -> float:
    rate: float = json.loads((path / "run.json").read_text())["settings"]["mutation_rate"]
    return rate


def test_the_suite_of_a_piloted_run_is_balanced(piloted: rpd.Run) -> None:
    """In the corridor the share that passes can be enumerated."""
    rate = stored_rate(piloted.path)
    curve = np.array([pass_rate(one) for one in RATES])
    truth = float(np.interp(-0.5, -curve, RATES))
    assert rate == pytest.approx(truth, abs=0.05)
    assert piloted.summary.suite.mutation_rate == rate
    assert 0.4 < piloted.summary.pass_rates.suite < 0.6


def test_what_the_pilot_found_is_stored(piloted: rpd.Run) -> None:
    held = json.loads((piloted.path / "pilot.json").read_text())
    assert held["mutation_rate"] == stored_rate(piloted.path)
    assert held["episodes"] == 200
    assert held["rates"] == list(RATES)
    assert len(held["shares"]) == len(RATES)


def test_a_pilot_is_played_once_and_said(tmp_path: Path) -> None:
    stages: list[str] = []
    notes: list[str] = []
    heard: dict[str, Any] = {
        "progress": lambda stage, done, total: stages.append(stage), "note": notes.append,
    }  # fmt: skip
    request = corridor(mutation_rate="auto")
    finish(tmp_path / "run", request, **heard)
    assert "pilot" in stages
    assert "chosen by 50 pilot episodes at each rate (return>=2.5 passed" in notes[0]
    stages.clear()
    again = finish(tmp_path / "run", request, **heard)
    assert "pilot" not in stages
    assert again.analyses == [again.name]


@pytest.mark.slow
def test_the_number_that_was_found_is_the_same_run(tmp_path: Path) -> None:
    finish(tmp_path / "run", corridor(mutation_rate="auto"))
    rate = stored_rate(tmp_path / "run")
    again = finish(tmp_path / "run", corridor(mutation_rate=rate))
    assert again.analyses == [again.name]


def test_a_run_with_another_rate_is_not_taken_over(tmp_path: Path) -> None:
    finish(tmp_path / "run", corridor(mutation_rate=0.45))
    with pytest.raises(StoreError, match="mutation_rate"):
        finish(tmp_path / "run", corridor(mutation_rate="auto"))


def test_the_default_directory_is_known_before_the_pilot() -> None:
    auto = resolve(corridor(mutation_rate="auto"), installed())
    given = resolve(corridor(), installed())
    assert default_directory(auto) == default_directory(auto)
    assert default_directory(auto) != default_directory(given)


@pytest.mark.slow
def test_a_condition_that_learns_is_balanced_by_the_return(tmp_path: Path) -> None:
    run = finish(tmp_path / "run", corridor(mutation_rate="auto", condition="auto", episodes=2000))
    assert (run.summary.original.return_mean, run.summary.original.default_everywhere) == (3.5, 0)
    assert 0.4 < run.suite.episodes.total_return.mean() / 3.5 < 0.6


def test_other_words_than_auto_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="mutation_rate must be a number"):
        finish(tmp_path / "run", corridor(mutation_rate="half"))
    line = refusal("run", "--env", "cartpole", "--mutation-rate", "half")
    assert "mutation_rate must be a number or auto, got 'half'" in line
