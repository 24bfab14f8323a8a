"""The reference of the run directory names every file and every stored field."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from rpd_core.analysis.balance import Pilot
from rpd_core.config.settings import ASKED, declared
from rpd_core.play.jobs import Names
from rpd_core.plugin.origins import Origin
from rpd_core.plugin.protocols import Episodes, Spectrum, States, Visits
from rpd_core.pruning.curves import PrunedPoint
from rpd_core.results import records as results
from rpd_core.results.pictures import ClipPair, PictureIndex
from rpd_core.store.directory import StoredAnalysis, StoredSuite
from rpd_core.store.parts import PartRecord
from rpd_core.store.tables import SCHEMA_VERSION
from rpd_studies.estimates import Estimate
from rpd_studies.sensitivity import Move, Sensitivity, Variant
from rpd_studies.validation import ValidatedGroup, ValidatedState, Validation

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = (DOCS / "reference/run-directory.md").read_text("utf-8")
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
    ("heading", "record"),
    [
        ("## episodes", Episodes),
        ("## visits", Visits),
        ("## states", States),
        ("## Rankings", Spectrum),
    ],
)
def test_every_column_of_a_table_is_named(heading, record):
    text = section(heading)
    columns = [field.name for field in dataclasses.fields(record)]
    assert [name for name in columns if not re.search(rf"`{name}[`.]", text)] == []


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
