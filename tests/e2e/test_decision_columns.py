"""A column of the decisions is declared once, and every table has it."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import rpd_command
from stores import ready

from rpd import open_run
from rpd_core.results import records
from rpd_report.notebook import decisions_as_html
from rpd_report.page import build_page


@pytest.fixture
def appended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have tables treat the verdict as a column that nobody arranges."""
    monkeypatch.setattr(records, "_ARRANGED", records._ARRANGED - {"verdict"})


def test_a_column_that_nobody_arranges_is_appended_to_every_table(
    tmp_path: Path, appended: None
) -> None:
    path = ready(tmp_path / "run").path
    run = open_run(path)
    first = run.top(1)[0]
    shown = rpd_command("rank", path).stdout
    lines = [line.split() for line in shown.splitlines()]
    heading = next(line for line in lines if "state" in line and "policy" in line)
    row = next(line for line in lines if line[:1] == ["1"])
    assert heading[-1] == "verdict"
    assert row[-1] == first.verdict
    page = build_page(run).decode()
    rows = page.count('data-label="rank"')
    assert rows > 0
    assert page.count('data-label="verdict"') == 2 * rows
    assert page.count('data-key="verdict"') == 2
    assert f'<td style="text-align:left">{first.verdict}</td>' in decisions_as_html([first])


def test_what_is_arranged_is_declared(tmp_path: Path) -> None:
    assert {one.name for one in records.decision_columns()} == records._ARRANGED
    assert records.further_columns() == ()
