"""Workers import nothing that lies in the working directory, whatever it is called."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import errands
import pytest

SCRIPT = """
import errands
from rpd_core.execute.local import LocalProcesses
from rpd_core.execute.running import run_items
from rpd_core.plugin.protocols import WorkItem

if __name__ == "__main__":
    items = [WorkItem(str(number), errands.module_files, number) for number in range(2)]
    with LocalProcesses().open(2) as engine:
        run_items(engine, items, lambda item, value: print(*value, sep="\\n"))
"""
SHADOWS = ("pickle", "random", "numpy", "rpd_basics", "socket")


def project_path() -> str:
    """Return where this project and the errands are found, with no blank entry for here."""
    given = [
        str(Path(errands.__file__).parent),
        *os.environ.get("PYTHONPATH", "").split(os.pathsep),
    ]
    return os.pathsep.join(filter(None, given))


def run_in(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": project_path()},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    folder = tmp_path / "trap"
    folder.mkdir()
    for name in SHADOWS:
        (folder / f"{name}.py").write_text(
            f"open({str(tmp_path / 'sprung')!r}, 'a').write({name!r})\n"
            "raise SystemExit('a file of the working directory was imported')\n"
        )
    return folder


def test_files_of_the_working_directory_are_not_imported_by_workers(
    trap: Path, tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = run_in(trap, str(script))
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "sprung").exists()
    assert len(done.stdout.splitlines()) == 2 * len(errands.OFTEN_SHADOWED)
    assert str(trap) not in done.stdout


def test_programs_that_work_starts_see_the_usual_environment(tmp_path: Path) -> None:
    """The guard is for the worker alone."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("module_files", "safe_path"))
    done = run_in(tmp_path, str(script))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["False", "None"] * 2
