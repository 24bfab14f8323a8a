"""Lists of suites that differ in mutation rate or default action."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from commands import rpd_command
from stores import corridor, finish

import rpd
from rpd_core.errors import ConfigError
from rpd_studies.sensitivity import Sensitivity, other_rates


class Stop(Exception):
    """Stands for whatever ends a run from outside."""


REQUEST = corridor(episodes=400, chunk=100)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> rpd.Run:
    return finish(tmp_path_factory.mktemp("sensitivity") / "run", REQUEST)


@pytest.fixture(scope="module")
def found(run: rpd.Run) -> Sensitivity:
    return rpd.vary(run, rates=True, default_actions=["constant:1"])


def test_the_rate_is_halved_and_doubled_within_bounds() -> None:
    assert other_rates(0.3) == (0.15, 0.6)
    assert other_rates(0.5) == (0.25, 0.75)


def test_each_variant_is_a_run_of_its_own_with_as_many_episodes(
    run: rpd.Run, found: Sensitivity
) -> None:
    assert [one.name for one in found.variants] == ["rate-0.15", "rate-0.6", "default-constant-1"]
    for one, rate in zip(found.variants[:2], (0.15, 0.6), strict=True):
        path = run.path / "variants" / one.name
        stored = json.loads((path / "run.json").read_text())["settings"]
        assert (stored["mutation_rate"], stored["episodes"]) == (rate, 400)
        assert rpd.open_run(path).progress == (400, 400)
        verified = json.loads(rpd_command("verify", path, "--json").stdout)
        assert verified["faults"] == []


def test_the_list_of_a_variant_is_that_of_a_run_at_its_rate(
    run: rpd.Run, found: Sensitivity, tmp_path: Path
) -> None:
    alone = finish(tmp_path / "run", corridor(episodes=400, chunk=100, mutation_rate=0.15))
    one = {row.key for row in run.effects(10)}
    two = {row.key for row in alone.effects(10)}
    variant = found.variants[0]
    assert variant.top10 == len(one & two) / len(one)
    assert variant.passed == alone.summary.pass_rates.suite
    assert variant.listed == alone.summary.list.listed
    assert variant.changed == "mutation rate 0.15 instead of 0.3"


def test_moves_are_between_the_ranks_of_both_lists(run: rpd.Run, found: Sensitivity) -> None:
    rank = {row.key: row.rank for row in run.effects(50)}
    moves = [(move, True) for one in found.variants for move in one.risen]
    moves += [(move, False) for one in found.variants for move in one.fallen]
    assert moves
    for move, up in moves:
        assert rank[move.key] == move.rank
        assert (move.other_rank < move.rank) is up


def test_a_default_action_that_never_differs_lists_nothing(found: Sensitivity) -> None:
    """The policy of the corridor always goes; so does this default action, and all pass."""
    same = found.variants[-1]
    assert "all 400 episodes passed" in same.problem
    assert (same.top10, same.rank_correlation, same.listed) == (None, None, 0)


@pytest.mark.slow
def test_variants_that_were_broken_off_go_on(
    run: rpd.Run, found: Sensitivity, tmp_path: Path
) -> None:
    other = finish(tmp_path / "run", REQUEST)

    def stop(stage: str, done: int, total: int) -> None:
        if stage == "rate-0.6" and done:
            raise Stop

    with pytest.raises(Stop):
        rpd.vary(other, rates=True, default_actions=["constant:1"], progress=stop)
    assert rpd.vary(other, rates=True, default_actions=["constant:1"]) == found
    held = json.loads((other.path / "analyses" / str(other.name) / "sensitivity.json").read_text())
    assert [one["name"] for one in held["variants"]] == [one.name for one in found.variants]


def test_nothing_to_vary_is_refused(run: rpd.Run) -> None:
    with pytest.raises(ConfigError, match="nothing is varied"):
        rpd.vary(run)
    with pytest.raises(ConfigError, match="has the default action 'constant:0' already"):
        rpd.vary(run, default_actions=["constant:0"])


def test_verify_reads_the_variants_of_a_run(
    run: rpd.Run, found: Sensitivity, tmp_path: Path
) -> None:
    copy = shutil.copytree(run.path, tmp_path / "run")
    whole = json.loads(rpd_command("verify", copy, "--json").stdout)
    assert whole["faults"] == []
    part = next((copy / "variants" / found.variants[0].name / "suite").rglob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-9])
    verdict = rpd_command("verify", copy, "--json")
    assert verdict.exit_code == 3
    (fault,) = json.loads(verdict.stdout)["faults"]
    assert fault.startswith("variants/rate-0.15: ")
