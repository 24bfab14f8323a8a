"""The tutorial as a notebook: executed from top to bottom, in a kernel of its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs" / "tutorial.ipynb"


def read() -> Any:
    return nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell: Any) -> str:
    """Return the last output of a cell as a notebook shows it."""
    data = cell.outputs[-1]["data"]
    return str(data.get("text/html", data["text/plain"]))


def answers(cell: Any) -> list[str]:
    """Return what a cell's last line gave, as it is shown; bars and notes are no part of it."""
    given = [one for one in cell.outputs if one["output_type"] == "execute_result"]
    return [str(one["data"].get("text/html", one["data"]["text/plain"])) for one in given]


def test_the_notebook_is_stored_as_it_was_played_from_top_to_bottom() -> None:
    nbformat.validate(read())  # type: ignore[no-untyped-call]
    cells = code_cells(read())
    assert [cell.execution_count for cell in cells] == [*range(1, len(cells) + 1)]
    assert [cell.source for cell in cells if not cell.outputs] == []
    assert "/tmp/" not in NOTEBOOK.read_text("utf-8")


@pytest.mark.slow
def test_the_notebook_runs_and_shows_its_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = [str(ROOT), str(ROOT / "plugins"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, known)))
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    notebook = read()
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}})
    client.execute()
    cells = {cell.source.splitlines()[-1]: cell for cell in code_cells(notebook)}
    for name in ("cartpole", "again", "minigrid", "own"):
        answer = shown(cells[name])
        assert "<strong>" in answer
        assert answer.count("<tr>") > 3, name
    assert shown(cells["rule.effects(3)"]).count("<svg") == 3
    assert shown(cells["cartpole"]) == shown(cells["again"])
    stored = {cell.source.splitlines()[-1]: cell for cell in code_cells(read())}
    stale = [name for name in cells if answers(cells[name]) != answers(stored[name])]
    assert stale == [], "python docs/make_notebook.py stores it anew"
    streams = [one for cell in code_cells(notebook) for one in cell.outputs if "text" in one]
    notes = [one["text"] for one in streams if one["name"] == "stderr"]
    assert len(notes) == 1  # a function has no preferences
    assert notes[0].startswith("measure 'default-gap' needs")
    drawn = [str(one) for cell in code_cells(notebook) for one in cell.outputs]
    assert not any("<progress" in one for one in drawn), "bars are taken away at the end"
    assert len([*(tmp_path / "runs").iterdir()]) == 4
