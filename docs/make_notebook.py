"""Play the tutorial's notebook and store it with its outputs: `python docs/make_notebook.py`."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK = ROOT / "docs" / "tutorial.ipynb"


def played(notebook: Any, folder: str | os.PathLike[str]) -> Any:
    """Return a notebook as its kernel leaves it, without bars that are gone and times."""
    known = [str(ROOT), str(ROOT / "plugins"), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, known))
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": folder}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [one for one in cell.outputs if one.output_type != "display_data"]
    return notebook


def main() -> None:
    """Play and store."""
    with tempfile.TemporaryDirectory() as folder:
        notebook = played(nbformat.read(NOTEBOOK, as_version=4), folder)  # type: ignore[no-untyped-call]
    nbformat.write(notebook, NOTEBOOK)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
