"""The reference of the run directory names every file and every stored field."""

from __future__ import annotations

import dataclasses
import re
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rpd_core.config.settings import ASKED, declared
from rpd_core.pilot import Pilot
from rpd_core.play.names import Names
from rpd_core.plugin.blame import Origin
from rpd_core.plugin.protocols import Episodes, Spectrum, States, Visits
from rpd_core.plugin.protocols.suite import (
    SCHEMA_VERSION,
    PrunedColumns,
    StateWords,
    Trace,
    columns_of,
)
from rpd_core.pruning.records import PrunedPoint
from rpd_core.results import records as results
from rpd_core.store.directory import StoredAnalysis, StoredSuite
from rpd_core.store.parts import PartRecord
from rpd_pictures.stored import ClipPair, PictureIndex
from rpd_studies.estimates import Estimate
from rpd_studies.sensitivity import Move, Sensitivity, Variant
from rpd_studies.validation import ValidatedGroup, ValidatedState, Validation

DOCS = Path(__file__).resolve().parents[2] / "docs"
sys.path.insert(0, str(DOCS / "extensions"))

import column_reference  # noqa: E402

WRITTEN = (DOCS / "reference/run-directory.md").read_text("utf-8")
TEXT = column_reference.filled_columns(WRITTEN)
RESULTS = [
    value
    for value in vars(results).values()
    if dataclasses.is_dataclass(value) and value.__module__ == results.__name__
]
MORE = [Pilot, Estimate, Validation, ValidatedGroup, ValidatedState, Sensitivity, Variant, Move]
MORE += [PictureIndex, ClipPair]
RECORDS = [*RESULTS, *MORE, PrunedPoint, PartRecord, Origin, StoredSuite, StoredAnalysis]


def section(heading: str) -> str:
    """Return what stands between a heading and the next of its level or a higher one."""
    level = heading.partition(" ")[0]
    after = TEXT.partition(f"\n{heading}\n")[2]
    return re.split(rf"^#{{2,{len(level)}}} ", after, maxsplit=1, flags=re.MULTILINE)[0]


def rows(text: str) -> list[str]:
    """Return the first cell of every row of a table."""
    return re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_the_fields_of_a_stored_record_are_the_rows_of_its_table(record):
    fields = [field.name for field in dataclasses.fields(record)]
    assert sorted(rows(section(f"### `{record.__name__}`"))) == sorted(fields)


def test_the_fields_of_the_names_have_rows():
    assert rows(section("## names.json")) == [field.name for field in dataclasses.fields(Names)]


@pytest.mark.parametrize(
    ("record", "scopes"), [(StoredSuite, ("suite", "size")), (StoredAnalysis, ASKED)]
)
def test_every_stored_setting_is_named_where_it_is_stored(record, scopes):
    text = section(f"### `{record.__name__}`")
    stored = [name for name, setting in declared().items() if setting.scope in scopes]
    assert [name for name in stored if f"`{name}`" not in text] == []


@pytest.mark.parametrize(
    ("heading", "records"),
    [
        ("## episodes", [Episodes]),
        ("## visits", [Visits]),
        ("## states", [States, StateWords]),
        ("## trace", [Trace]),
        ("## Pruned episodes", [PrunedColumns]),
    ],
)
def test_the_columns_of_a_file_are_the_rows_of_its_table_and_kept_by_nobody(heading, records):
    columns = [name for record in records for name in columns_of(record)]
    assert rows(section(heading)) == columns
    assert not re.search(rf"^\| `({'|'.join(columns)})` \| (int|list|one of)", WRITTEN, re.M)


def test_a_column_is_shown_with_its_type_and_its_meaning():
    assert (
        "| `policy_steps` | int32 | steps at which the policy decided |\n"
        "| `overrides` | int32 | of these, steps at which its action differed from the default's"
    ) in section("## episodes")
    assert "\n| `ended` | one of `terminated`, `truncated`, `step-cap` | how it ended: " in TEXT
    assert "| `words` | text | the value in words, as the abstraction puts it |" in TEXT


def test_the_files_of_a_run_hold_the_declared_columns_in_order(finished):
    tables = {"episodes": [Episodes], "visits": [Visits], "states": [States, StateWords]}
    for name, records in tables.items():
        path = min((finished.path / "suite" / name).glob("*.parquet"))
        stored = [one for one in pq.read_schema(path).names if not one.startswith("info.")]
        declared = {key: one for record in records for key, one in columns_of(record).items()}
        left_out = {name for name, one in declared.items() if one.each == "entries"}
        assert stored == [name for name in declared if name not in left_out]


def test_every_cell_of_the_spectrum_is_a_column_of_a_ranking():
    columns = [field.name for field in dataclasses.fields(Spectrum)]
    assert [name for name in columns if f"`{name}`" not in section("## Rankings")] == []


def test_the_schema_version_is_the_present_one():
    assert f"now {SCHEMA_VERSION};" in section("### `StoredSuite`")


def test_every_file_of_a_finished_run_is_in_the_table_of_files(finished):
    known = [_pattern(cell) for cell in re.findall(r"^\| `([^`]+\.\w+)` \|", TEXT, re.MULTILINE)]
    files = [path for path in finished.path.rglob("*") if path.is_file()]
    names = [path.relative_to(finished.path).as_posix() for path in files]
    strangers = [name for name in names if not any(one.fullmatch(name) for one in known)]
    assert strangers == [".lock"]


def _pattern(cell: str) -> re.Pattern[str]:
    """Return what matches the names that a cell stands for: words in capitals are variable."""
    return re.compile(re.sub(r"[A-Z]+", r"[^/]+", re.escape(cell)))
