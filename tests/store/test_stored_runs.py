"""That runs which this release wrote are read by what comes after it, or refused in one line.

`data/schema-N.zip` is a small run of the corridor, written when schema N was new: `finish(...,
corridor())`. A new schema gets a file of its own beside the older ones, and its entry in `READ`.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from commands import rpd_command

from rpd import open_run
from rpd_core.plugin.protocols.suite import SCHEMA_VERSION

DATA = Path(__file__).parent / "data"
READ = {5: True}
"""Schemas of stored runs, and whether they can still be read."""


def unpacked(schema: int, path: Path) -> Path:
    with zipfile.ZipFile(DATA / f"schema-{schema}.zip") as stored:
        stored.extractall(path)
    return path / "run"


def test_the_present_schema_has_a_stored_run() -> None:
    assert SCHEMA_VERSION in READ
    assert {path.stem for path in DATA.glob("*.zip")} == {f"schema-{number}" for number in READ}


@pytest.mark.parametrize("schema", [number for number, read in READ.items() if read])
def test_a_stored_run_is_read_as_it_was_written(schema: int, tmp_path: Path) -> None:
    run = unpacked(schema, tmp_path)
    assert rpd_command("show", run).stdout.startswith("4 of 15 states (27%) are enough")
    assert rpd_command("verify", run).stdout == f"ok: 54 parts and 1 analysis in {run}\n"
    assert json.loads(rpd_command("show", run, "--json").stdout)["policy"]["return_mean"] == 9.425
    opened = open_run(run)
    assert len(opened.ranking("ochiai").to_dataframe()) == 15
    for words in (("rank", run), ("explain", run, "1"), ("report", run)):
        assert rpd_command(*words).exit_code == 0
    assert (run / "report.html").stat().st_size > 50_000


def test_a_run_that_can_no_longer_be_read_is_refused_in_one_line(tmp_path: Path) -> None:
    for schema in [number for number, read in READ.items() if not read]:
        refused = rpd_command("show", unpacked(schema, tmp_path / str(schema)))
        assert (refused.exit_code, len(refused.stderr.splitlines())) == (2, 1)
        assert f"schema {schema}" in refused.stderr
