"""Runs opened for writing, and everything that lies in a run directory, for tests."""

from __future__ import annotations

import atexit
import functools
import hashlib
import shutil
import tempfile
from pathlib import Path
from typing import Any

import worlds
from strangers import having

from rpd import Run, open_run
from rpd_core import pipeline
from rpd_core.analysis.suite import StoredEpisodes
from rpd_core.api import Call, carry_out
from rpd_core.config.resolve import resolve
from rpd_core.config.settings import Request
from rpd_core.execute.local import ThisProcess
from rpd_core.plugin.protocols import Suite
from rpd_core.plugin.registry import installed
from rpd_core.store.directory import RunDirectory
from rpd_core.store.session import Session


def session_at(path: Path, request: Request, **more: Any) -> Session:
    """Open a run for writing, with all work done in this process."""
    setup = resolve(request, installed())
    directory = RunDirectory(path)
    directory.create(setup.config)
    return Session(setup, directory, installed(), more.pop("engine", ThisProcess()), **more)


def corridor(**settings: Any) -> Request:
    """Return a small request on the corridor, with other settings where given."""
    asked = {"episodes": 60, "chunk": 20, "test_episodes": 5, "shares": (0.0, 0.5, 1.0)}
    asked |= {"unmutated_episodes": 40, "confirm_episodes": 40, "confirm_tries": 2}
    asked |= {"random_rankings": 2, "env": worlds.Corridor(), "policy": worlds.Goes()}
    return Request(**{**asked, **settings})


def build(session: Session) -> Suite:
    """Play the mutant episodes of a session and return them all."""
    pipeline.prepare_run(session)
    pipeline.build_parts(session)
    return StoredEpisodes(session.directory.suite()).whole()


def tree(path: Path) -> dict[str, str]:
    """Return what lies in a directory: kind, size and time of change, and content of each entry."""
    return {
        str(entry.relative_to(path)): _entry(entry)
        for entry in sorted(path.rglob("*"))
        if entry.name != ".lock"  # an empty file that only says who writes
    }


def _entry(path: Path) -> str:
    status = path.lstat()
    content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "-"
    return f"{status.st_mode:o} {status.st_size} {status.st_mtime_ns} {content}"


def contents(path: Path, pattern: str = "*.parquet") -> dict[str, bytes]:
    """Return the files of a run by name."""
    files = (one for one in sorted(path.rglob(pattern)) if one.is_file())
    return {str(one.relative_to(path)): one.read_bytes() for one in files}


def finish(path: Path, request: Request | None = None, **how: Any) -> Run:
    """Do a whole small run on the corridor, or the one that is asked for; without pictures."""
    how = {"finish": (), **how}
    finished, _ = carry_out(Call(**vars(request or corridor()), out=path, **how))
    return Run(finished.path, finished.name, finished.setup)


def ready(path: Path) -> Run:
    """Return a finished small run on the corridor: a copy of one that is played once."""
    shutil.copytree(_played_once(), path, dirs_exist_ok=True)
    return open_run(path)


@functools.cache
def _played_once() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="rpd-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with having():  # whatever a test has installed meanwhile
        finish(folder / "run")
    return folder / "run"
