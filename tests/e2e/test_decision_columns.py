"""A column of the decisions is declared once, and every table has it."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import rpd_command
from stores import ready

from rpd import open_run
from rpd_core.results import records
from rpd_core.results.records import Decision, RankedDecision, columns_of_table
from rpd_report.notebook import decisions_as_html
from rpd_report.page import build_page


@pytest.fixture
def appended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the terminal treat the verdict as a column that nobody arranges."""
    monkeypatch.setattr(records, "_ARRANGED", records._ARRANGED - {"verdict"})


def test_a_column_that_nobody_arranges_is_appended_on_the_terminal(
    tmp_path: Path, appended: None
) -> None:
    path = ready(tmp_path / "run").path
    first = open_run(path).effects(1)[0]
    lines = [line.split() for line in rpd_command("rank", path).stdout.splitlines()]
    heading = next(line for line in lines if line[:1] == ["state"])
    row = next(line for line in lines if line[:1] == ["1"])
    assert heading[-1] == "verdict"
    assert row[-1] == first.verdict


def test_the_page_and_notebooks_have_every_column(tmp_path: Path) -> None:
    run = open_run(ready(tmp_path / "run").path)
    page = build_page(run).decode()
    for record, rows in ((Decision, run.decisions), (RankedDecision, run.effects(100))):
        assert rows
        table = decisions_as_html(rows)
        for one in columns_of_table(record):
            name = "effects" if record is RankedDecision else "decisions"
            mine = page.partition(f'id="{name}-table"')[2].partition("</table>")[0]
            assert mine.count(f'data-key="{one.name}"') == 1
            assert mine.count(f'c-{one.name}"') == 1 + len(rows)
            assert f">{one.heading or '#'}</th>" in table


def test_what_is_arranged_is_declared() -> None:
    assert {one.name for one in columns_of_table(RankedDecision)} == records._ARRANGED
    assert records.further_columns() == ()
