"""The run directory: refusals, locks, and files that are whole or not there."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import worlds
from hypothesis import given
from hypothesis import strategies as st

from rpd_core import pipeline
from rpd_core.config.configuration import Request, RunConfig, differences, resolve
from rpd_core.errors import RpdError, StoreError
from rpd_core.pipeline import Workshop
from rpd_core.plugin.registry import Registry
from rpd_core.store.directory import Parts, RunDirectory, write_whole
from rpd_core.store.tables import SCHEMA_VERSION, _table


@pytest.fixture(scope="module")
def config(registry: Registry) -> RunConfig:
    asked = Request(worlds.Corridor(), worlds.Goes(), episodes=40, chunk=20)
    return resolve(asked, registry).config


def changed(config: RunConfig, **suite: Any) -> RunConfig:
    return dataclasses.replace(config, suite=dataclasses.replace(config.suite, **suite))


TABLE = _table({"index": [1, 2, 3]})


def fill(directory: RunDirectory, *ranges: tuple[int, int]) -> None:
    for first, last in ranges:
        directory.suite.write(first, last, dict.fromkeys(("states", "visits", "episodes"), TABLE))


# ------------------------------------------------------------------------- refusals


def test_a_new_directory_is_made_with_its_configuration(tmp_path: Path, config: RunConfig) -> None:
    directory = RunDirectory(tmp_path / "runs" / "new")
    directory.create(config, {"numpy": "9"})
    stored = json.loads((tmp_path / "runs" / "new" / "run.json").read_text())
    assert stored["schema"] == SCHEMA_VERSION
    assert stored["versions"] == {"numpy": "9"}
    assert directory.config() == config


def test_a_foreign_directory_is_refused_and_left_alone(tmp_path: Path, config: RunConfig) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(StoreError, match=r"holds 'thesis.tex' but no run.json: it is not a run"):
        RunDirectory(tmp_path).create(config, {})
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("text", ["[]", "3", '"run"', "{", "", '{"schema": 1}', '{"name": "app"}'])
def test_a_foreign_run_json_is_refused_and_left_alone(
    tmp_path: Path, config: RunConfig, text: str
) -> None:
    (tmp_path / "run.json").write_text(text)
    for use in (lambda one: one.create(config, {}), lambda one: one.config()):
        with pytest.raises(StoreError) as caught:
            use(RunDirectory(tmp_path))
        assert "\n" not in str(caught.value)
    assert (tmp_path / "run.json").read_text() == text


def test_a_file_in_the_way_is_refused(tmp_path: Path, config: RunConfig) -> None:
    (tmp_path / "out").write_text("a file")
    for use in (lambda one: one.create(config, {}), lambda one: one.lock().__enter__()):
        with pytest.raises(StoreError, match="choose another --out"):
            use(RunDirectory(tmp_path / "out"))


def test_an_unwritable_place_is_refused(config: RunConfig) -> None:
    with pytest.raises(StoreError, match="choose another --out"):
        RunDirectory(Path("/proc/rpd/run")).create(config, {})


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"seed": 3}, "seed: stored 0, asked 3"),
        ({"mutation_rate": 0.5}, "mutation_rate: stored 0.3, asked 0.5"),
        ({"lanes": 7}, "lanes: stored 64, asked 7"),
        ({"max_steps": 9}, "max_steps: stored 24, asked 9"),
    ],
)
def test_another_configuration_is_refused_with_the_difference(
    tmp_path: Path, config: RunConfig, changes: dict[str, Any], difference: str
) -> None:
    directory = RunDirectory(tmp_path)
    directory.create(config, {})
    fill(directory, (0, 19))
    with pytest.raises(StoreError) as caught:
        directory.create(changed(config, **changes), {})
    assert f"holds another configuration ({difference})" in str(caught.value)
    assert directory.config() == config


def test_other_components_are_refused_with_the_difference(
    tmp_path: Path, config: RunConfig, registry: Registry
) -> None:
    directory = RunDirectory(tmp_path)
    directory.create(config, {})
    fill(directory, (0, 19))
    asked = Request(worlds.Corridor(), worlds.Goes(0), default_action="random", episodes=40)
    with pytest.raises(StoreError) as caught:
        directory.create(resolve(asked, registry).config, {})
    assert "policy.action: stored 1, asked 0" in str(caught.value)
    assert "default_action.class: stored 'rpd_basics.default_actions.Constant'" in str(caught.value)


def test_questions_about_a_suite_may_change(
    tmp_path: Path, config: RunConfig, registry: Registry
) -> None:
    directory = RunDirectory(tmp_path)
    directory.create(config, {})
    analysis = dataclasses.replace(config.analysis, condition="return>=1", test_episodes=7)
    directory.create(dataclasses.replace(config, analysis=analysis, chunk=10), {})
    assert directory.config().analysis.condition == "return>=1"


def test_a_run_grows_and_does_not_shrink(tmp_path: Path, config: RunConfig) -> None:
    directory = RunDirectory(tmp_path)
    directory.create(config, {})
    fill(directory, (0, 19), (20, 39))
    directory.create(dataclasses.replace(config, episodes=90), {})
    assert directory.config().episodes == 90
    with pytest.raises(StoreError, match="holds 40 episodes, asked for 30: a run can grow but not"):
        directory.create(dataclasses.replace(config, episodes=30), {})
    assert directory.config().episodes == 90
    directory.create(dataclasses.replace(config, episodes=40), {})
    assert directory.config().episodes == 40, "what was only planned may be given up"


def test_a_run_of_another_schema_is_refused(tmp_path: Path, config: RunConfig) -> None:
    directory = RunDirectory(tmp_path)
    directory.create(config, {})
    stored = directory.read_json("run.json")
    directory.write_json("run.json", {**stored, "schema": 99})
    with pytest.raises(StoreError, match=r"written with schema 99, this rpd has 1"):
        directory.create(config, {})


def test_a_first_try_that_failed_binds_nobody(tmp_path: Path, config: RunConfig) -> None:
    directory = RunDirectory(tmp_path)
    directory.create(config, {})
    directory.create(changed(config, seed=3), {})
    assert directory.config().suite.seed == 3


def test_a_part_that_lost_a_table_is_missing(tmp_path: Path, config: RunConfig) -> None:
    directory = RunDirectory(tmp_path)
    directory.create(config, {})
    fill(directory, (0, 19), (20, 39))
    (tmp_path / "suite" / "visits" / "part-000000000-000000019.parquet").unlink()
    assert directory.suite.covered() == [(20, 39)]
    assert directory.suite.missing(40, 20) == [(0, 19)]


def test_differences_reach_into_nested_values() -> None:
    stored = {"a": 1, "b": {"c": [1, 2], "d": 3}, "gone": 0}
    asked = {"a": 1, "b": {"c": [1, 3], "d": 3}, "new": None}
    assert differences(stored, asked) == [
        "b.c: stored [1, 2], asked [1, 3]",
        "gone: stored 0, asked None",
    ]
    assert differences(stored, stored) == []


def test_a_directory_without_episodes_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no episodes yet"):
        pipeline.load_suite(RunDirectory(tmp_path))


# ------------------------------------------------------------------------- whole files


def test_an_interrupted_first_write_does_not_make_a_directory_foreign(
    tmp_path: Path, config: RunConfig
) -> None:
    """As kill -9 leaves it: the lock, and half of a run.json under its temporary name."""
    (tmp_path / ".lock").touch()
    (tmp_path / ".run.json.4711.tmp").write_text('{"sche')
    RunDirectory(tmp_path).create(config, {})
    assert RunDirectory(tmp_path).config() == config


def test_leftovers_of_interrupted_writes_are_ignored(tmp_path: Path) -> None:
    parts = Parts(tmp_path, ("episodes",))
    parts.write(0, 9, {"episodes": TABLE})
    (tmp_path / ".part-000000010-000000019.parquet.99.tmp").write_bytes(b"PAR1 half")
    (tmp_path / "notes.txt").write_text("mine")
    assert parts.covered() == [(0, 9)]
    assert parts.missing(30, 10) == [(10, 19), (20, 29)]


def test_a_failed_write_leaves_the_old_file_and_no_leftover(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a.json"
    write_whole(target, b"old")

    def full(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(StoreError, match=r"cannot write .*a\.json.: No space left on device"):
        write_whole(target, b"new")
    assert [(e.name, e.read_bytes()) for e in tmp_path.iterdir()] == [("a.json", b"old")]


def test_a_suite_part_without_its_last_table_is_missing(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    fill(directory, (0, 9))
    (tmp_path / "suite" / "episodes" / "part-000000000-000000009.parquet").unlink()
    assert directory.suite.covered() == []
    assert directory.suite.missing(10, 10) == [(0, 9)]


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"not parquet at all"])
def test_a_damaged_part_is_named(tmp_path: Path, damage: bytes) -> None:
    parts = Parts(tmp_path, ("episodes",))
    parts.write(0, 9, {"episodes": TABLE})
    file = tmp_path / "part-000000000-000000009.parquet"
    file.write_bytes(damage)
    with pytest.raises(StoreError, match=r"cannot read .*part-000000000-000000009.parquet.*delete"):
        parts.read(0, 9)


def test_a_part_of_another_schema_is_refused(tmp_path: Path) -> None:
    parts = Parts(tmp_path, ("episodes",))
    parts.write(0, 9, {"episodes": pa.table({"index": [1]})})
    with pytest.raises(StoreError, match="has schema none, this rpd reads 1"):
        parts.read(0, 9)


# ------------------------------------------------------------------------- missing ranges


@st.composite
def ranges(draw: Any) -> list[tuple[int, int]]:
    """Disjoint ranges in order."""
    edges = sorted(draw(st.sets(st.integers(0, 60), max_size=12)))
    return [(first, last - 1) for first, last in zip(edges[::2], edges[1::2], strict=False)]


class Covering(Parts):
    """Parts whose files are made up."""

    def __init__(self, ranges: list[tuple[int, int]]) -> None:
        self.ranges = ranges

    def covered(self) -> list[tuple[int, int]]:
        return self.ranges


@given(ranges(), st.integers(1, 70), st.integers(1, 25))
def test_missing_ranges_are_exactly_the_gaps_cut_at_chunks(
    covered: list[tuple[int, int]], total: int, chunk: int
) -> None:
    gaps = Covering(covered).missing(total, chunk)
    there = {index for first, last in covered for index in range(first, last + 1)}
    found = [index for first, last in gaps for index in range(first, last + 1)]
    assert found == sorted(set(range(total)) - there)
    assert all(first <= last for first, last in gaps)
    assert all(first // chunk == last // chunk for first, last in gaps)


def test_missing_ranges_by_hand() -> None:
    assert Covering([]).missing(25, 10) == [(0, 9), (10, 19), (20, 24)]
    assert Covering([(0, 9), (20, 24)]).missing(40, 10) == [(10, 19), (25, 29), (30, 39)]
    assert Covering([(0, 9)]).missing(10, 10) == []
    assert Covering([(0, 99)]).missing(10, 10) == []


# ------------------------------------------------------------------------- lock


def test_a_second_writer_is_kept_out_until_the_first_is_done(tmp_path: Path) -> None:
    first, second = RunDirectory(tmp_path), RunDirectory(tmp_path)
    with first.lock(), pytest.raises(StoreError, match="another rpd is writing to"):
        second.lock().__enter__()
    with RunDirectory(tmp_path).lock():
        pass


def test_the_lock_of_a_dead_process_does_not_hold(tmp_path: Path) -> None:
    (tmp_path / ".lock").write_text("4711")
    with RunDirectory(tmp_path).lock():
        pass


def test_refusing_a_whole_run_leaves_a_foreign_directory_as_it_was(
    tmp_path: Path, registry: Registry
) -> None:
    from rpd_core.api import execute

    (tmp_path / "thesis.tex").write_text("years of work")
    setup = resolve(Request(worlds.Corridor(), worlds.Goes()), registry)
    with pytest.raises(RpdError, match="it is not a run directory"):
        execute(Workshop(setup, RunDirectory(tmp_path), registry))
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]
