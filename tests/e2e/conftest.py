"""Scratch environments and real `rpd` processes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import commands
import pytest
from commands import without_pictures
from watching import heed_signals

Finished = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Scratch:
    """A virtual environment of its own on top of the packages of the one that runs the tests."""

    path: Path

    @property
    def python(self) -> str:
        return str(self.path / "bin" / "python")

    def rpd(self, *words: str, cwd: Path | None = None) -> Finished:
        command = [self.python, "-m", "rpd_core.cli.main", *without_pictures(*words)]
        return subprocess.run(
            command, capture_output=True, text=True, cwd=cwd or self.path, timeout=300
        )

    def python_code(self, text: str) -> None:
        """Run some lines of Python, which must succeed."""
        command = [self.python, "-c", text]
        finished = subprocess.run(command, capture_output=True, text=True, cwd=self.path)
        assert finished.returncode == 0, finished.stderr

    def listed(self) -> dict[tuple[str, str], dict[str, Any]]:
        finished = self.rpd("list-plugins", "--json")
        assert finished.returncode == 0, finished.stderr
        return {(row["kind"], row["name"]): row for row in json.loads(finished.stdout)}

    def pip(self, *words: str) -> None:
        command = [sys.executable, "-m", "pip", "--python", self.python, "-q", *words]
        subprocess.run(command, check=True, capture_output=True, text=True)

    def install(self, project: Path) -> None:
        self.pip("install", "--no-deps", "--no-build-isolation", "--no-index", str(project))


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    path = tmp_path_factory.mktemp("scratch") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(path)], check=True)
    site = next((path / "lib").glob("python*/site-packages"))
    below = [p for p in sys.path if p and Path(p).is_dir() and "site-packages" in p]
    below.append(sysconfig.get_paths()["purelib"])
    root = Path(__file__).resolve().parents[2]
    own = [str(root), str(root / "plugins")]
    (site / "zz_below.pth").write_text("\n".join(dict.fromkeys([*own, *below])))
    return Scratch(path)


@dataclass(frozen=True)
class Rpd:
    """The `rpd` of this environment as a real process."""

    cwd: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "rpd_core.cli.main", *without_pictures(*words)]

    def __call__(self, *words: str) -> Finished:
        return subprocess.run(
            self.command(*words), capture_output=True, text=True, cwd=self.cwd, timeout=300
        )

    def start(self, *words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            self.command(*words),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.cwd,
            start_new_session=True,
            preexec_fn=heed_signals,
        )
        self.started.append(process)
        return process


@pytest.fixture
def rpd(tmp_path: Path) -> Iterator[Rpd]:
    command = Rpd(tmp_path)
    yield command
    for process in command.started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def invoke(*words: object) -> Any:
    """Call the command line in this process, which spares the imports."""
    return commands.invoke(without_pictures(*words), columns=100)


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Call the command line in an empty directory."""
    monkeypatch.chdir(tmp_path)
    return invoke


@dataclass(frozen=True)
class Kept:
    """A small finished run that several tests look at and none changes."""

    words: list[str]
    path: Path
    stdout: str

    def copy(self, folder: Path) -> Path:
        """Return a run of one's own, to be changed."""
        return shutil.copytree(self.path, folder / "copy")


SMALL = (
    "--episodes", "2500", "--test-episodes", "25", "--unmutated-episodes", "20",
    "--confirm-episodes", "200", "--confirm-margin", "0.1",
)  # fmt: skip
"""The smallest run of CartPole that proves something."""


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    words = ["--env", "cartpole", "--workers", "1", *SMALL]
    path = tmp_path_factory.mktemp("finished") / "run"
    result = invoke("run", *words, "--out", path)
    assert result.exit_code == 0, result.output
    return Kept(words, path, result.stdout)
