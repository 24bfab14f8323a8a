"""Reading a run imports nothing that plays: no loop, no environments, no policies, no workers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from stores import corridor, finish

PLAYS = [
    "gymnasium", "torch", "stable_baselines3", "minigrid", "ale_py",
    "rpd_core.play.loop", "rpd_core.play.chunks",
    "rpd_core.execute.items", "rpd_core.execute.processes", "rpd_core.store.session",
]  # fmt: skip
"""What only playing needs; the last ones are those of ours that pickle work for others."""
NUMERICAL = ["numpy", "pyarrow", "scipy", "pandas", "cloudpickle"]
MOST_MODULES = 410
"""Typer, with the pydantic that it imports for any argument, and finding plugins take 360; a few
more with Python 3.12, whose own modules import others."""

COMMAND = """
import json, sys
from rpd_core.cli.main import main
try:
    main()
except SystemExit as end:
    code = end.code
told = {"code": code, "modules": len(sys.modules)}
told["loaded"] = [name for name in json.loads(%r) if name in sys.modules]
print(json.dumps(told))
"""
OPENED = """
import json, sys
import rpd
run = rpd.open_run(sys.argv[1])
told = {"code": 0, "decisions": len(run.summary.decisions), "kept": run.policy(0.9).kept}
told["loaded"] = [name for name in json.loads(%r) if name in sys.modules]
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small finished run, made from recipes that this process alone has."""
    return finish(tmp_path_factory.mktemp("light") / "run", corridor()).path


def loaded(program: str, watched: list[str], *arguments: object) -> dict[str, object]:
    """Run a program in a process of its own; return what it says of itself."""
    code = program % json.dumps(watched)
    line = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    told: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return told


@pytest.mark.parametrize("command", ["show", "rank", "report"])
def test_a_command_that_reads_imports_nothing_that_plays(run: Path, command: str) -> None:
    told = loaded(COMMAND, PLAYS, command, run)
    assert (told["code"], told["loaded"]) == (0, [])


def test_explaining_a_decision_imports_nothing_that_plays(run: Path) -> None:
    told = loaded(COMMAND, PLAYS, "explain", run, 1)
    assert (told["code"], told["loaded"]) == (0, [])


def test_showing_a_run_imports_nothing_numerical_and_few_modules(run: Path) -> None:
    told = loaded(COMMAND, NUMERICAL, "show", run)
    assert (told["code"], told["loaded"]) == (0, [])
    assert isinstance(told["modules"], int)
    assert told["modules"] <= MOST_MODULES


def test_an_opened_run_tells_what_was_found_without_numpy(run: Path) -> None:
    told = loaded(OPENED, [*PLAYS, *NUMERICAL], run)
    assert told["loaded"] == []
    assert isinstance(told["decisions"], int)
    assert told["decisions"] > 0
