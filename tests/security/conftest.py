"""Real `rpd` processes in a folder of their own, beside ill-behaved worlds."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from commands import without_pictures
from stores import ready
from watching import heed_signals

HERE = Path(__file__).resolve().parent
Started = subprocess.Popen[str]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Started]]:
    """Start `rpd` with these words; whatever is left of it is ended with the test."""
    started: list[Started] = []
    shutil.copy(HERE / "ill_worlds.py", tmp_path)

    def begin(*words: object, **options: object) -> Started:
        process = subprocess.Popen(
            [sys.executable, "-m", "rpd_core.cli.main", *without_pictures(*words)],
            **{
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                "text": True,
                "cwd": tmp_path,
                "start_new_session": True,
                "preexec_fn": heed_signals,
                "env": {**os.environ, "PYTHONSAFEPATH": "1"},
                **options,
            },
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return a finished small run of one's own."""
    ready(tmp_path / "run")
    return tmp_path / "run"
