"""Workers import nothing that lies in the working directory, whatever it is called."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import itemwork
import pytest

SCRIPT = """
import json
import itemwork
from rpd_core.execute.processes import LocalWorkers
from rpd_core.execute.items import run_items
from rpd_core.plugin.protocols import WorkItem

if __name__ == "__main__":
    work = (itemwork.module_files, itemwork.module_files, itemwork.safe_path)
    items = [WorkItem(str(number), function, number) for number, function in enumerate(work)]
    found = {}
    workers = LocalWorkers(2)
    run_items(workers, items, lambda item, value: found.setdefault(item.identity, value))
    workers.dismiss()
    print(json.dumps(found))
"""
SHADOWS = ("pickle", "random", "numpy", "rpd_basics", "socket")


def project_path() -> str:
    """Return where this project and the work are found, with no blank entry for here."""
    given = [
        str(Path(itemwork.__file__).parent),
        *os.environ.get("PYTHONPATH", "").split(os.pathsep),
    ]
    return os.pathsep.join(filter(None, given))


@dataclass(frozen=True)
class Sprung:
    """What two workers found in a folder full of traps."""

    traps: str
    """Names of the files that were imported."""
    modules: list[str]
    """Where the modules of these names come from, as each worker sees it."""
    guard: list[str]
    """What a program that the work starts knows of the guard."""


@pytest.fixture(scope="module")
def sprung(tmp_path_factory: pytest.TempPathFactory) -> Sprung:
    folder, trap = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("trap")
    (folder / "script.py").write_text(SCRIPT)
    (folder / "sprung").touch()
    for name in SHADOWS:
        (trap / f"{name}.py").write_text(
            f"open({str(folder / 'sprung')!r}, 'a').write({name!r})\n"
            "raise SystemExit('a file of the working directory was imported')\n"
        )
    done = subprocess.run(
        [sys.executable, str(folder / "script.py")],
        cwd=trap,
        env={**os.environ, "PYTHONPATH": project_path()},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return Sprung((folder / "sprung").read_text(), found["0"] + found["1"], found["2"])


def test_files_of_the_working_directory_are_not_imported_by_workers(sprung: Sprung) -> None:
    assert sprung.traps == ""
    assert len(sprung.modules) == 2 * len(itemwork.OFTEN_SHADOWED)
    library = Path(os.__file__).parent
    assert all(Path(path).is_relative_to(library) for path in sprung.modules)


def test_programs_that_work_starts_see_the_usual_environment(sprung: Sprung) -> None:
    """The guard is for the worker alone."""
    assert sprung.guard == ["False", "None"]
