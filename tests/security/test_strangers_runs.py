"""A run directory is a stranger's file: it shows nothing raw, deletes nothing, waits for nobody."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import refusal, rpd_command
from stores import ready, tree

from rpd import open_run
from rpd_core.cli.console import without_controls
from rpd_core.errors import StoreError
from rpd_core.store import tables
from rpd_core.store.directory import RunDirectory

ESCAPES = "\x1b]0;owned\x07\x1b[31mred\x9b2J\u202e\r"


def analysis(run: Path) -> Path:
    return next(path for path in (run / "analyses").iterdir() if path.is_dir())


def edit(path: Path, change: Callable[[Any], object]) -> None:
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def with_escapes(value: Any) -> Any:
    """Return a value whose texts, and names of measures, all end in escape sequences."""
    if isinstance(value, dict):
        return {key: with_escapes(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_escapes(item) for item in value]
    return f"{value}{ESCAPES}" if isinstance(value, str) else value


def shown(*words: object) -> str:
    result = rpd_command(*words)
    assert not isinstance(result.exception, Exception), result.output
    text: str = result.output
    return text


def is_plain(text: str) -> bool:
    return all(c.isprintable() or c == "\n" for c in text)


def test_escape_sequences_of_a_summary_do_not_reach_the_terminal(run: Path) -> None:
    path = analysis(run) / "summary.json"

    def spoil(summary: dict[str, Any]) -> None:
        for name in (
            "env",
            "policy_spec",
            "condition",
            "analysis",
            "list",
            "decisions",
            "original",
        ):
            summary[name] = with_escapes(summary[name])
        for entries in summary["thresholds"].values():
            entries[ESCAPES] = None

    edit(path, spoil)
    text = shown("show", run)
    assert "?]0;owned?[31mred?2J?" in text
    assert is_plain(text)


def test_nor_do_those_of_names_and_errors(run: Path) -> None:
    os.rename(analysis(run), run / "analyses" / f"a{ESCAPES}")
    assert is_plain(shown("show", run))
    assert is_plain(shown("show", run, "--analysis", "b"))
    edit(run / "run.json", lambda stored: stored.update(env=ESCAPES, schema=ESCAPES))
    for command in ("show", "rank", "verify", "suite", "prune"):
        assert is_plain(shown(command, run))


def test_nor_do_those_of_states_in_words(run: Path) -> None:
    path = min((run / "suite" / "states").glob("*.parquet"))
    table = pq.read_table(path)
    column = table.column_names.index("words")
    words = pa.array([ESCAPES] * len(table))
    forge(run, path, table.set_column(column, "words", words))
    text = shown("rank", run)
    assert "?]0;owned" in text
    assert is_plain(text)


def forge(run: Path, path: Path, table: pa.Table) -> None:
    """Write a table into a run, with a record that fits."""
    pq.write_table(table, path, compression="zstd")
    record = run / "suite" / f"{path.stem}.json"

    def sign(about: dict[str, Any]) -> None:
        about["digests"][path.parent.name] = hashlib.sha256(path.read_bytes()).hexdigest()
        about["rows"][path.parent.name] = len(table)

    edit(record, sign)


def test_printable_text_is_left_alone() -> None:
    text = "x >= 0.5, é 日本 [bold]\nnext"
    assert without_controls(text) == text


# ----------------------------------------------------------------- tables that a stranger signed


def replaced(table: pa.Table, name: str, values: Any) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, values)


def noted(table: pa.Table, **notes: str) -> pa.Table:
    changed = {name.encode(): text for name, text in notes.items()}
    return table.replace_schema_metadata({**table.schema.metadata, **changed})


FORGED: dict[str, tuple[str, Callable[[pa.Table], pa.Table], str]] = {
    "no returns": ("episodes", lambda t: t.drop_columns(["total_return"]), "'total_return' is mis"),
    "a return that is no number": (
        "episodes",
        lambda t: replaced(t, "total_return", pa.array([float("nan")] * len(t))),
        "a return is no number",
    ),
    "an unknown ending": (
        "episodes",
        lambda t: replaced(t, "ended", pa.array(["bored"] * len(t)).dictionary_encode().cast(
            pa.dictionary(pa.int8(), pa.string()))),
        "ended in a way that is not known",
    ),
    "holes": (
        "visits",
        lambda t: replaced(t, "episode", pa.nulls(len(t), pa.int64())),
        "has holes",
    ),
    "visits of other episodes": (
        "visits",
        lambda t: replaced(t, "episode", pa.array([2**62] * len(t))),
        "visits are of other episodes",
    ),
    "visits of no state": (
        "visits",
        lambda t: replaced(t, "key", pa.array([1] * len(t), pa.uint64())),
        "its visits are not of its states",
    ),
    "text for numbers": (
        "states",
        lambda t: replaced(t, "visits", pa.array(["many"] * len(t))),
        "'visits' holds string, not int64",
    ),
    "values of a huge shape": (
        "states",
        lambda t: noted(t, value_shape="1000000000000"),
        "values are not laid out as it says",
    ),
    "values that are objects": (
        "states",
        lambda t: noted(t, value_dtype="|O"),
        "values are not laid out as it says",
    ),
    "a state twice": (
        "states",
        lambda t: pa.concat_tables([t, t]),
        "states are not in order of their keys",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "change", "told"), FORGED.values(), ids=FORGED.keys())
def test_a_forged_table_is_one_line(
    run: Path, name: str, change: Callable[[pa.Table], pa.Table], told: str
) -> None:
    path = min((run / "suite" / name).glob("*.parquet"))
    forge(run, path, change(pq.read_table(path)))
    assert told in refusal("rank", run)
    result = rpd_command("verify", run)
    assert (result.exit_code, told in result.output) == (3, True)


def test_a_table_that_unpacks_to_far_more_than_its_record_says_is_not_unpacked(run: Path) -> None:
    path = min((run / "suite" / "visits").glob("*.parquet"))
    table = pq.read_table(path)
    forge(run, path, table)
    rows = pa.array([0] * 20_000_000, pa.int8())  # a file of a few kilobytes
    pq.write_table(pa.table({"episode": rows}), path, compression="zstd")
    record = run / "suite" / f"{path.stem}.json"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    edit(record, lambda about: about["digests"].update(visits=digest))
    assert path.stat().st_size < 2**20
    assert "does not hold what its record says" in refusal("rank", run)


@pytest.mark.parametrize("name", ["episodes", "visits", "states"])
def test_a_table_of_more_rows_than_memory_has_is_not_unpacked(
    run: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = min((run / "suite" / name).glob("*.parquet"))
    count = pq.read_metadata(rows).num_rows
    monkeypatch.setattr(tables, "LARGEST_TABLE", count * 20)  # bytes, fewer than a row has
    monkeypatch.setattr(pq.ParquetFile, "read", None)
    with pytest.raises(StoreError, match=f"{count} rows take more memory than a part may"):
        RunDirectory(run).suite().read(0, 19, [name])


def test_a_long_text_that_stands_in_every_row_is_not_read_as_often(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "LARGEST_TABLE", 2**21)
    path = min((run / "suite" / "states").glob("*.parquet"))
    table = pq.read_table(path)
    forge(run, path, replaced(table, "words", pa.array(["x" * 2**20] * len(table))))
    assert path.stat().st_size < 2**20
    assert "its texts take more memory than a part may" in refusal("rank", run)


def test_a_part_that_says_it_has_far_more_episodes_is_one_line(run: Path) -> None:
    for path in [*(run / "suite").rglob("part-000000040-*")]:
        path.rename(path.with_name(f"part-000000040-9999999999{path.suffix}"))
    record = run / "suite" / "part-000000040-9999999999.json"
    edit(record, lambda about: about.update(last=9999999999))
    result = rpd_command("verify", run)
    assert (result.exit_code, "it does not hold its episodes" in result.output) == (3, True)


@pytest.mark.parametrize("name", ["mutation_rate", "seed", "lanes", "episodes", "default_action"])
def test_a_setting_that_is_gone_is_one_line(run: Path, name: str) -> None:
    edit(run / "run.json", lambda stored: stored["settings"].pop(name))
    for command in ("show", "rank", "verify", "prune"):
        assert f"settings.{name} is missing" in refusal(command, run)


@pytest.mark.parametrize(("name", "told"), [("lanes", "100000"), ("chunk", "1e+07")])
def test_a_setting_that_would_fill_memory_is_one_line(run: Path, name: str, told: str) -> None:
    edit(run / "run.json", lambda stored: stored["settings"].update({name: 10**12}))
    for command in ("rank", "verify", "suite", "prune"):
        assert f"{name} must be at most {told}, got 1000000000000" in refusal(command, run)


def test_pruned_episodes_that_are_far_too_few_are_one_line(run: Path) -> None:
    spoil = analysis(run) / "analysis.json"
    edit(spoil, lambda stored: stored["settings"].update(test_episodes=10**12))
    edit(spoil, lambda stored: stored["sweep"]["tarantula"][1].update(episodes=10**12))
    with pytest.raises(StoreError, match=r"holds \d+ of \d+ episodes .*: run rpd prune again"):
        _ = open_run(run).curves


def test_a_measure_that_is_no_text_is_one_line(run: Path) -> None:
    spoil = analysis(run) / "analysis.json"
    edit(spoil, lambda stored: stored["settings"].update(measures=[[[]]]))
    assert "settings.measures must be text" in refusal("rank", run)


@pytest.mark.parametrize(
    ("part", "value", "told"),
    [
        ("suite", [], "must be a table"),
        ("suite", {}, "is missing"),
        ("analysis", None, "must be a table"),
    ],
)
def test_a_summary_of_another_configuration_is_one_line(
    run: Path, part: str, value: object, told: str
) -> None:
    edit(analysis(run) / "summary.json", lambda s: s["configuration"].update({part: value}))
    assert told in refusal("show", run)


def test_settings_of_a_summary_that_are_none_are_one_line(run: Path) -> None:
    path = analysis(run) / "summary.json"
    edit(path, lambda s: s["configuration"]["suite"].update(settings=["odd"]))
    assert "settings must be a table" in refusal("show", run)
    edit(path, lambda s: s["configuration"]["suite"].update(settings={"seed": 0}))
    assert "settings.abstraction is missing" in refusal("show", run)


def test_a_number_that_no_float_holds_is_one_line(run: Path) -> None:
    edit(analysis(run) / "summary.json", lambda s: s["original"].update(return_mean=10**400))
    assert "original.return_mean must be a number, not 1000" in refusal("show", run)


def test_pruned_episodes_without_their_own_columns_are_one_line(run: Path) -> None:
    path = min((run / "pruning").glob("tarantula-*/*.parquet"))
    pq.write_table(pq.read_table(path).drop_columns(["info.rpd.ranked_steps"]), path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    edit(path.with_suffix(".json"), lambda about: about["digests"].update(episodes=digest))
    with pytest.raises(StoreError, match=r"has no column 'info\.rpd\.ranked_steps': delete it and"):
        _ = open_run(run).curves


# ----------------------------------------------------------------------------------------- links


def test_a_ranking_that_is_a_pipe_is_not_waited_for(start: Callable, run: Path) -> None:
    os.mkfifo(analysis(run) / "rankings" / "a.parquet")
    process = start("verify", run)
    stdout, _ = process.communicate(timeout=30)
    assert process.returncode == 3
    assert "is not an ordinary file" in " ".join(stdout.split())


@pytest.mark.parametrize("name", ["analyses", "analyses/latest.json", "rankings"])
def test_verify_finds_what_stands_in_the_way_of_other_commands(run: Path, name: str) -> None:
    path = analysis(run) / name if name == "rankings" else run / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    path.write_text("x")
    result = rpd_command("verify", run)
    assert (result.exit_code, path.name in result.output) == (3, True)


def test_what_lies_behind_a_link_is_not_removed_when_a_start_fails(tmp_path: Path) -> None:
    other, run = tmp_path / "other", tmp_path / "run"
    other.mkdir()
    run.mkdir()
    (other / "question.json").touch()
    (run / "analyses").symlink_to(other)
    RunDirectory(run).forget_if_empty()
    assert (other / "question.json").exists()


@pytest.mark.parametrize("command", ["suite", "prune"])
def test_records_of_another_run_behind_a_link_are_left_alone(
    run: Path, tmp_path: Path, command: str
) -> None:
    ready(tmp_path / "other")
    shutil.rmtree(run / "suite")
    (run / "suite").symlink_to(tmp_path / "other" / "suite")
    before = tree(tmp_path / "other")
    rpd_command(command, run)
    assert tree(tmp_path / "other") == before
