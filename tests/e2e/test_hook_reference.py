"""The reference of hooks names every hook, every field and every optional member."""

from __future__ import annotations

import dataclasses
import re
import sys
from pathlib import Path

import pytest

import rpd_core
from rpd_core.plugin.hookspecs import KINDS
from rpd_core.plugin.protocols import Engine, Lanes, Scene, WorkQueue, optional

pytest.importorskip("sphinx", reason="needs the extra docs")
pytestmark = pytest.mark.extras

DOCS = Path(__file__).resolve().parents[2] / "docs"
sys.path.insert(0, str(DOCS / "extensions"))

import column_reference  # noqa: E402
from record_reference import filled_records  # noqa: E402

WRITTEN = (DOCS / "reference/hooks.md").read_text("utf-8")
TEXT = column_reference.filled_columns(filled_records(WRITTEN))
RECORDS = (
    rpd_core.Component,
    rpd_core.Facts,
    rpd_core.Task,
    rpd_core.Opening,
    rpd_core.StepResult,
    rpd_core.PolicyInput,
    rpd_core.Contents,
    rpd_core.Choice,
    rpd_core.Bound,
    rpd_core.Entry,
    rpd_core.FitSample,
    rpd_core.Minimised,
    rpd_core.Moment,
    rpd_core.Spectrum,
    rpd_core.Returns,
    rpd_core.Evidence,
    rpd_core.Scores,
    rpd_core.Episodes,
    rpd_core.Visits,
    rpd_core.States,
    rpd_core.Suite,
    rpd_core.WorkItem,
    rpd_core.Outcome,
    rpd_core.InputFile,
    rpd_core.PanelFacts,
    rpd_core.PanelView,
    rpd_core.PanelDecision,
    rpd_core.Traces,
    rpd_core.TracedEpisodes,
    rpd_core.Trace,
    rpd_core.Card,
    rpd_core.Drawing,
    rpd_core.Polygon,
    rpd_core.Line,
    rpd_core.Circle,
    rpd_core.Text,
    rpd_core.Picture,
    rpd_core.Image,
    rpd_core.SceneStep,
)
PROTOCOLS = [
    value
    for value in vars(optional).values()
    if getattr(value, "_is_protocol", False) and value.__module__ == optional.__name__
]


def section(heading: str) -> str:
    """Return what stands between a heading and the next of its level or a higher one."""
    level = heading.partition(" ")[0]
    after = TEXT.partition(f"\n{heading}\n")[2]
    return re.split(rf"^#{{2,{len(level)}}} ", after, maxsplit=1, flags=re.MULTILINE)[0]


def test_fields_are_not_kept_by_hand():
    """A record says what its fields mean; the page says what takes more than that."""
    assert re.findall(r"^\| field \|.*", WRITTEN, re.MULTILINE) == []
    assert TEXT.count("\n| field | ") == len(RECORDS)


def members(kind: type) -> list[str]:
    """Return the methods and properties that a protocol states."""
    return [name for name in vars(kind) if not name.startswith("_")]


def rows(text: str) -> list[str]:
    """Return the first cell of every row of a table, without arguments."""
    return re.findall(r"^\| `(\w+)(?:\([^)]*\))?` \|", text, re.MULTILINE)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_every_field_of_a_record_has_a_row(record):
    documented = rows(section(f"### `{record.__name__}`"))
    missing = [f.name for f in dataclasses.fields(record) if f.name not in documented]
    assert missing == []


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_no_row_describes_a_field_that_is_gone(record):
    known = {f.name for f in dataclasses.fields(record)} | set(vars(record))
    assert [name for name in rows(section(f"### `{record.__name__}`")) if name not in known] == []


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_every_hook_has_a_section_that_names_its_protocol_and_methods(kind):
    text = section(f"## `{kind.hook}`")
    assert f"(`{kind.protocol.__name__}`)" in text
    methods = [name for name in members(kind.protocol) if f"`{name}(" not in text]
    assert methods == []


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_every_kind_has_a_row_in_the_overview(kind):
    overview = TEXT[: TEXT.index("\n## ")]
    assert f"| `{kind.name}` | [`{kind.hook}`](#{kind.hook}) |" in overview


def test_every_member_of_lanes_engines_and_queues_is_described():
    for protocol in (Lanes, Scene):
        documented = rows(section(f"### `{protocol.__name__}`"))
        assert [name for name in members(protocol) if name not in documented] == []
    executors = section("## `rpd_executors`")
    for protocol in (Engine, WorkQueue):
        assert [name for name in members(protocol) if f"{name}(" not in executors] == []


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.__name__)
def test_every_optional_member_has_a_row(protocol):
    documented = rows(section("## Optional members"))
    assert members(protocol)
    assert [name for name in members(protocol) if name not in documented] == []


@pytest.mark.parametrize(
    "name", ["needs", "runs_code", "trust", "learns_from_mutants", "wants_vectors", "fallback"]
)
def test_every_optional_attribute_has_a_row(name):
    assert name in rows(section("## Optional members"))


def test_every_public_name_for_plugins_is_mentioned():
    ours = {"RankingTable", "RpdError", "Run", "open_run", "run"}
    ours |= {"bench", "build_suite", "merge_runs", "validate", "vary"}
    more = {"ComponentError", "EvidenceError", "SpecError", "import_attribute"}  # see python.md
    more |= {"Comparison", "as_environment", "as_policy", "compare"}
    more |= {"Grid", "Reproduction", "grid", "reproduce"}
    names = [name for name in rpd_core.__all__ if name not in ours | more]
    assert [name for name in names if not re.search(rf"\b{name}\b", TEXT)] == []


AT_EVERY_STEP = (rpd_core.PolicyInput, rpd_core.Moment)
"""What is handed over at every step, where the first one is special."""
_DTYPE = re.compile(r"\b(int64|uint64|float64|float|bool|uint8|dtype|batch)\b")


def cells(record: type) -> dict[str, list[str]]:
    """Return the further cells of every row of a record's table, by its first one."""
    found = {}
    for line in section(f"### `{record.__name__}`").splitlines():
        parts = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if match := parts and re.match(r"`(\w+)(?:\([^)]*\))?`$", parts[0]):
            found[match[1]] = parts[1:]
    return found


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_every_field_has_a_type_and_every_array_a_shape_and_a_dtype(record):
    header = section(f"### `{record.__name__}`").partition("| field | ")[2].partition(" |")[0]
    assert header in ("type", "shape, dtype")
    documented = cells(record)
    for field in dataclasses.fields(record):
        kind, meaning, *_ = documented[field.name]
        assert kind, field.name
        assert meaning, field.name
        array, other = (
            re.search(words, str(field.type)) for words in ("Array", "Mapping|Callable")
        )
        if array and not other:
            assert "(" in kind or "batch" in kind, f"{field.name} has no shape: {kind}"
            assert _DTYPE.search(kind), f"{field.name} has no dtype: {kind}"


@pytest.mark.parametrize("record", AT_EVERY_STEP, ids=lambda record: record.__name__)
def test_every_field_of_a_step_says_what_holds_at_the_first_one(record):
    assert "| at the first step of an episode |" in section(f"### `{record.__name__}`")
    for name, (_, _, at_first) in cells(record).items():
        assert at_first, name
