"""What is left of a command that has finished: nothing that could end it otherwise."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import QUICK

RESTING = {"jemalloc_bg_thd"}
"""Threads of Arrow's allocator: they hold nothing of Python's."""
COUNTED = """
import json, os, sys, threading
from pathlib import Path
from rpd_core.cli.main import main

left = {}
for words in json.loads(sys.argv[1]):
    sys.argv[1:] = words
    try:
        main()
    except SystemExit as end:
        assert not end.code, words
    tasks = [task for task in Path("/proc/self/task").iterdir() if task.name != str(os.getpid())]
    names = [(task / "comm").read_text().strip() for task in tasks]
    left[words[0]] = [names, [one.name for one in threading.enumerate()]]
Path("left.json").write_text(json.dumps(left))
"""
"""Calls one command after the other and writes down which threads each leaves behind."""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are listed by Linux")
def test_no_thread_outlives_a_command(tmp_path: Path) -> None:
    """A thread that lets go of something of Python's while Python ends takes the process down.

    Arrow's threads do: they finish after whoever waits for their result has got it.
    """
    size = ("--episodes", "200", "--test-episodes", "5", "--workers", "1", "--out", "run")
    words = [
        ["run", "--env", "cartpole", *QUICK, *size],
        ["show", "run", "--full"],
        ["rank", "run", "--measure", "wong2"],
        ["replay", "run", "suite:1"],
        ["draw", "run", "curves", "--out", "curves.svg"],
        ["report", "run"],
    ]
    command = [sys.executable, "-c", COUNTED, json.dumps(words)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    left = json.loads((tmp_path / "left.json").read_text())
    assert list(left) == [line[0] for line in words]
    for name, (native, python) in left.items():
        assert set(native) <= RESTING, name
        assert python == ["MainThread"], name
