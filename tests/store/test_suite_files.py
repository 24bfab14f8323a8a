"""Suites on disk: neither workers nor chunks nor interruptions ever show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from chunks import assert_same
from stores import build, contents, corridor, session_at

from rpd_core.config.settings import Request
from rpd_core.execute.local import LocalProcesses
from rpd_core.plugin.protocols import Suite


def request(**changes: Any) -> Request:
    return corridor(**{"episodes": 50, "default_action": "random", **changes})


def built(path: Path, **changes: Any) -> Suite:
    return build(session_at(path, request(**changes)))


def test_two_worker_processes_write_the_same_bytes_as_one(tmp_path: Path) -> None:
    one = built(tmp_path / "one")
    with LocalProcesses().open(2) as engine:
        assert_same(one, build(session_at(tmp_path / "two", request(), engine=engine)))
    alone, together = (contents(tmp_path / name / "suite", "*") for name in ("one", "two"))
    assert len([name for name in alone if name.endswith(".parquet")]) == 9
    assert alone == together, "records included"


def test_an_extended_suite_equals_one_built_at_once(tmp_path: Path) -> None:
    built(tmp_path / "grown", episodes=30)
    before = contents(tmp_path / "grown")
    grown = built(tmp_path / "grown", episodes=50)
    assert_same(grown, built(tmp_path / "direct", episodes=50))
    after = contents(tmp_path / "grown")
    assert {name: after[name] for name in before} == before, "stored parts are left alone"


def test_another_chunk_size_changes_the_files_and_not_the_suite(tmp_path: Path) -> None:
    one, two = (built(tmp_path / str(size), chunk=size) for size in (7, 50))
    assert_same(one, two)


@pytest.mark.parametrize("lost", ["part-000000020-000000039.json", "episodes", "visits", "states"])
def test_a_lost_part_is_played_again_and_nothing_else(tmp_path: Path, lost: str) -> None:
    built(tmp_path)
    before = contents(tmp_path / "suite", "*")
    path = tmp_path / "suite" / lost
    (path / "part-000000020-000000039.parquet" if path.is_dir() else path).unlink()
    played: list[tuple[str, int, int]] = []
    build(session_at(tmp_path, request(), progress=lambda *told: played.append(told)))
    assert [done for stage, done, total in played] == [30, 50, 40]
    assert contents(tmp_path / "suite", "*") == before


def test_pandas_opens_the_files(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    suite = built(tmp_path)
    tables = {
        name: pandas.read_parquet(tmp_path / "suite" / name)
        for name in ("episodes", "visits", "states")
    }
    assert tables["episodes"]["total_return"].tolist() == suite.episodes.total_return.tolist()
    assert set(tables["episodes"]["ended"]) <= {"terminated", "truncated", "step-cap"}
    assert tables["episodes"]["info.at_goal"].tolist() == suite.episodes.info["at_goal"].tolist()
    joined = tables["visits"].merge(
        tables["states"].drop_duplicates("key")[["key", "value"]], on="key"
    )
    assert len(joined) == len(suite.visits)
    assert tables["visits"]["mutated"].dtype == bool
    assert tables["visits"]["count"].sum() == suite.episodes.length.sum()
