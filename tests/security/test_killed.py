"""Twenty times `kill -9` in one run directory, and the same bytes as in a run that was left alone.

Each process is ended at the moment at which it writes its n-th file: a module that Python imports
at its start counts them. So the twenty are spread over all that is written, on any machine.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import QUICK
from stores import contents

KILLS = 20
RUN = [
    "run", "--env", "python:ill_worlds:well", "--policy", "python:ill_worlds:goes",
    "--default-action", "constant:0", "--abstraction", "identity", "--condition", "return>=5",
    "--test-episodes", "3", "--episodes", "600", "--workers", "1", *QUICK,
]  # fmt: skip
DEADLY = """
import os, signal
if os.environ.get("KILL_AT") and not os.environ.get("RPD_WORKER"):
    left = [int(os.environ.pop("KILL_AT"))]
    before, after = left[0] % 2, os.replace
    def replace(*args, **options):
        left[0] -= 1
        if left[0] <= 0 and before:
            os.killpg(0, signal.SIGKILL)
        after(*args, **options)
        if left[0] <= 0:
            os.killpg(0, signal.SIGKILL)
    os.replace = replace
"""


def environment(folder: Path, writes: int | None = None) -> dict[str, str]:
    """Return variables under which a process ends as it writes its file of this number."""
    given = [str(folder), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    at = {} if writes is None else {"KILL_AT": str(writes)}
    return {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(given), **at}


def stored(path: Path) -> dict[str, bytes]:
    """Return everything that a run stores."""
    return {name: data for name, data in contents(path, "*").items() if name != ".lock"}


@pytest.mark.slow
def test_twenty_kills_leave_the_same_bytes(start: Callable, tmp_path: Path) -> None:
    hook = tmp_path / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(DEADLY)
    whole = start(*RUN, "--out", "whole", env=environment(hook))
    assert whole.wait(timeout=120) == 0
    files, kept = len(contents(tmp_path / "whole", "*")), set[str]()
    for kill in range(KILLS):
        words = ["suite", *RUN[1:9], "--episodes", "600", "--workers", "1"] if kill < 4 else RUN
        # the suite is written in small steps, and the rest in equal ones up to its last files
        step = 2 + kill % 3 if kill < 4 else max(2, (files - len(kept)) // (KILLS - kill + 1))
        killed = start(*words, "--out", "killed", env=environment(hook, step))
        assert killed.wait(timeout=120) == -signal.SIGKILL
        now = {name for name in contents(tmp_path / "killed", "*") if not name.endswith(".tmp")}
        assert kept <= now
        kept = now
    assert len(kept) > 0.9 * files, "the last files were among those at which it was killed"
    last = start(*RUN, "--out", "killed", env=environment(hook))
    assert last.wait(timeout=120) == 0
    assert stored(tmp_path / "killed") == stored(tmp_path / "whole")
    assert start("verify", "killed").wait(timeout=60) == 0
