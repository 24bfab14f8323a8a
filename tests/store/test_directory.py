"""The run directory: what it takes, what it refuses, and who may write."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import worlds
from stores import corridor, session_at

from rpd_core.analysis.suite import StoredEpisodes
from rpd_core.api import Call, session_for
from rpd_core.config.configuration import Configuration, differences
from rpd_core.config.resolve import resolve
from rpd_core.config.settings import Request
from rpd_core.errors import RpdError, StoreError
from rpd_core.plugin.blame import origin_of
from rpd_core.plugin.protocols.suite import SCHEMA_VERSION
from rpd_core.plugin.registry import Registry
from rpd_core.store.directory import RunDirectory


@pytest.fixture(scope="module")
def config(registry: Registry) -> Configuration:
    return resolve(corridor(episodes=40), registry).config


def changed(config: Configuration, **settings: Any) -> Configuration:
    return dataclasses.replace(config, settings=dataclasses.replace(config.settings, **settings))


def fill(directory: RunDirectory, *ranges: tuple[int, int]) -> None:
    for first, last in ranges:
        table = pa.table({"index": list(range(first, last + 1))}).replace_schema_metadata(
            {"rpd_schema": str(SCHEMA_VERSION)}
        )
        tables = dict.fromkeys(("states", "visits", "episodes"), table)
        directory.suite().write(first, last, tables, origin_of([]))


# ------------------------------------------------------------------------- refusals


def test_a_new_directory_is_made_with_its_configuration(
    tmp_path: Path, config: Configuration
) -> None:
    directory = RunDirectory(tmp_path / "runs" / "new")
    directory.create(config)
    stored = json.loads((tmp_path / "runs" / "new" / "run.json").read_text())
    assert stored["schema"] == SCHEMA_VERSION
    assert "condition" not in stored["settings"], "what is asked is no part of the suite"
    assert directory.configuration().identity() == config.identity()
    assert directory.configuration().digest() == config.digest()
    assert directory.stored().settings.episodes == 40


def test_a_foreign_directory_is_refused_and_left_alone(
    tmp_path: Path, config: Configuration
) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(StoreError, match=r"holds 'thesis.tex' but no run.json: it is not a run"):
        RunDirectory(tmp_path).create(config)
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    "text",
    ["[]", "3", '"run"', "{", "", '{"schema": 1}', '{"schema": 2}', '{"name": "app"}', "[" * 10**6],
    ids=lambda text: text[:12],
)
def test_a_foreign_run_json_is_refused_and_left_alone(
    tmp_path: Path, config: Configuration, text: str
) -> None:
    (tmp_path / "run.json").write_text(text)
    for use in (lambda one: one.create(config), lambda one: one.configuration()):
        with pytest.raises(StoreError) as caught:
            use(RunDirectory(tmp_path))
        assert "\n" not in str(caught.value)
    assert (tmp_path / "run.json").read_text() == text


def test_a_file_in_the_way_is_refused(tmp_path: Path, config: Configuration) -> None:
    (tmp_path / "out").write_text("a file")
    for use in (lambda one: one.create(config), lambda one: one.lock().__enter__()):
        with pytest.raises(StoreError, match="choose another folder"):
            use(RunDirectory(tmp_path / "out"))


def test_an_unwritable_place_is_refused(config: Configuration) -> None:
    with pytest.raises(StoreError, match="choose another folder"):
        RunDirectory(Path("/proc/rpd/run")).lock().__enter__()
    with pytest.raises(StoreError, match=r"cannot write '/proc/rpd/run/run\.json'"):
        RunDirectory(Path("/proc/rpd/run")).create(config)


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
    tmp_path: Path, config: Configuration, changes: dict[str, Any], difference: str
) -> None:
    directory = RunDirectory(tmp_path)
    directory.create(config)
    fill(directory, (0, 19))
    if "max_steps" in changes:
        other = dataclasses.replace(config, **changes)
    else:
        other = changed(config, **changes)
    before = (tmp_path / "run.json").read_bytes()
    with pytest.raises(StoreError) as caught:
        directory.create(other)
    assert f"holds another configuration ({difference})" in str(caught.value)
    assert (tmp_path / "run.json").read_bytes() == before


def test_other_components_are_refused_with_the_difference(
    tmp_path: Path, config: Configuration, registry: Registry
) -> None:
    directory = RunDirectory(tmp_path)
    directory.create(config)
    fill(directory, (0, 19))
    asked = Request(worlds.Corridor(), worlds.Goes(0), default_action="random", episodes=40)
    with pytest.raises(StoreError) as caught:
        directory.create(resolve(asked, registry).config)
    assert "policy.parameters.action: stored 1, asked 0" in str(caught.value)
    assert "default_action.name: stored 'constant', asked 'random'" in str(caught.value)


def test_questions_about_a_suite_may_change(tmp_path: Path, config: Configuration) -> None:
    directory = RunDirectory(tmp_path)
    directory.create(config)
    fill(directory, (0, 19))
    before = (tmp_path / "run.json").read_bytes()
    directory.create(changed(config, condition="return>=1", test_episodes=7))
    assert (tmp_path / "run.json").read_bytes() == before, "they are not kept with the suite"
    directory.create(changed(config, chunk=10))
    assert directory.stored().settings.chunk == 10


def test_a_run_can_be_asked_for_more_and_for_less_than_it_holds(
    tmp_path: Path, config: Configuration
) -> None:
    directory = RunDirectory(tmp_path)
    directory.create(config)
    fill(directory, (0, 19), (20, 39))
    directory.create(changed(config, episodes=90))
    assert directory.stored().settings.episodes == 90
    assert directory.surplus(changed(config, episodes=90)) == ""
    directory.create(changed(config, episodes=30))
    assert directory.stored().settings.episodes == 30
    assert "holds 40 mutant episodes: the first 30 are used" in directory.surplus(
        changed(config, episodes=30)
    )
    assert directory.suite().count() == 40, "nothing is thrown away"


def test_a_run_of_another_schema_is_refused(tmp_path: Path, config: Configuration) -> None:
    directory = RunDirectory(tmp_path)
    directory.create(config)
    stored = directory.read_json("run.json") or {}
    for schema in (1, 99, None, "2"):
        directory.write_json("run.json", {**stored, "schema": schema})
        with pytest.raises(StoreError, match=rf"written with schema {schema!r}, this rpd has 5"):
            directory.create(config)


def test_a_first_try_that_failed_binds_nobody(tmp_path: Path, config: Configuration) -> None:
    directory = RunDirectory(tmp_path)
    directory.create(changed(config, episodes=100))
    directory.create(changed(config, seed=3))
    assert directory.stored().settings.seed == 3
    assert directory.stored().settings.episodes == 40


def test_differences_reach_into_nested_values() -> None:
    stored = {"a": 1, "b": {"c": [1, 2], "d": 3}, "gone": 0}
    asked = {"a": 1, "b": {"c": [1, 3], "d": 3}, "new": None}
    assert differences(stored, asked) == [
        "b.c: stored [1, 2], asked [1, 3]",
        "gone: stored 0, asked None",
    ]
    assert differences(stored, stored) == []


def test_a_directory_without_episodes_says_so(tmp_path: Path, config: Configuration) -> None:
    RunDirectory(tmp_path).create(config)
    with pytest.raises(StoreError, match="holds no episodes yet: run rpd suite"):
        StoredEpisodes(RunDirectory(tmp_path).suite())


def test_refusing_a_whole_run_leaves_a_foreign_directory_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    call = Call(worlds.Corridor(), worlds.Goes(), out=tmp_path)
    with pytest.raises(RpdError, match="it is not a run directory"), session_for(call):
        pass
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


def test_an_interrupted_first_write_does_not_make_a_directory_foreign(
    tmp_path: Path, config: Configuration
) -> None:
    """As kill -9 leaves it: the lock, and half of a run.json under its temporary name."""
    (tmp_path / ".lock").touch()
    (tmp_path / ".run.json.4711.tmp").write_text('{"sche')
    RunDirectory(tmp_path).create(config)
    assert RunDirectory(tmp_path).configuration().identity() == config.identity()


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
    assert (tmp_path / ".lock").read_text() == "4711", "nobody writes into it"


def test_a_lock_that_is_a_link_is_refused_and_its_target_left_alone(tmp_path: Path) -> None:
    """Whoever makes a run directory for others must not choose a file that is then changed."""
    target, run = tmp_path / "thesis.tex", tmp_path / "run"
    target.write_text("years of work")
    session_at(run, corridor())
    before = target.stat()
    (run / ".lock").symlink_to(target)
    with pytest.raises(StoreError, match="cannot write to"):
        RunDirectory(run).lock().__enter__()
    after = target.stat()
    assert target.read_text() == "years of work"
    assert (after.st_mtime_ns, after.st_mode) == (before.st_mtime_ns, before.st_mode)


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_a_lock_that_is_no_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    import os

    session_at(tmp_path, corridor())
    make = {"folder": os.mkdir, "pipe": os.mkfifo}[kind]
    make(tmp_path / ".lock")
    with pytest.raises(StoreError, match=r"cannot write to|is not an ordinary file: delete it"):
        RunDirectory(tmp_path).lock().__enter__()


def test_only_leftovers_of_our_own_are_tidied(tmp_path: Path) -> None:
    session_at(tmp_path, corridor())
    elsewhere = tmp_path.with_name(f"{tmp_path.name}-elsewhere")
    elsewhere.mkdir()
    ours = [
        ".run.json.17.tmp",
        "suite/.part-000000000-000000019.parquet.99.tmp",
        ".report.html.17.tmp",
        "suite/.1.webp.17.tmp",
    ]
    theirs = [
        "notes.tmp",
        ".notes.tmp",
        "suite/.draft.txt.17.tmp",
        "run.json.17.tmp",
        ".a.json.tmp",
    ]
    (tmp_path / "suite").mkdir()
    (tmp_path / "mine").symlink_to(elsewhere)
    (elsewhere / ".run.json.17.tmp").write_text("behind a link")
    for name in (*ours, *theirs):
        (tmp_path / name).write_text("half")
    with RunDirectory(tmp_path).lock():
        pass
    assert [name for name in ours if (tmp_path / name).exists()] == []
    assert [name for name in theirs if not (tmp_path / name).exists()] == []
    assert (elsewhere / ".run.json.17.tmp").exists(), "links to folders are not followed"
