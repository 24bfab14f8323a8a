"""One format on trial: a warm child, one file after the other, and who is to blame for what."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from pathlib import Path

from tests.fuzz.formats import CANARY

ROOT = Path(__file__).resolve().parents[2]
START = 300.0
"""Seconds that a child may take over its imports."""
RECYCLE = 500
"""Attempts after which a child is replaced: memory that each leaves behind adds up."""
LAST_WORDS = 4000
"""Characters shown of what a child wrote before it died."""


@dataclass(frozen=True)
class Verdict:
    """What became of one case."""

    outcome: str
    """`accepted`, `refused`, or a fault: `traceback`, `memory`, `crash`, `hang`, `code run`."""
    detail: str = ""

    @property
    def held(self) -> bool:
        return self.outcome in ("accepted", "refused")


@dataclass
class Tally:
    """What became of the cases of one format."""

    tried: int = 0
    refused: int = 0
    failures: dict[str, Verdict] = field(default_factory=dict)

    @property
    def held(self) -> int:
        return self.tried - len(self.failures)

    def add(self, case: str, verdict: Verdict) -> None:
        self.tried += 1
        self.refused += verdict.outcome == "refused"
        if not verdict.held:
            self.failures[case] = verdict


class Child:
    """A process that attempts files, in an empty directory of its own."""

    def __init__(self, module: Path, folder: Path, canary: Path) -> None:
        self.attempts = 0
        self.place = folder / "empty"
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir()
        self.said = folder / "said.txt"
        self.pipe, theirs = Pipe()
        with self.said.open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz.child", str(theirs.fileno()), str(module)],
                cwd=self.place,
                env={**os.environ, CANARY: str(canary), "PYTHONPATH": _search_path()},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        theirs.close()

    def answer(self, seconds: float) -> bytes | None:
        """Return the next message; None if none comes in time."""
        return self.pipe.recv_bytes() if self.pipe.poll(seconds) else None

    def attempt(self, path: Path, seconds: float) -> Verdict:
        """Have a file attempted, in limited time."""
        self.attempts += 1
        try:
            self.pipe.send_bytes(str(path).encode())
            message = self.answer(seconds)
        except (EOFError, OSError):
            return Verdict("crash", f"{self._ending()}\n{self.last_words()}")
        if message is None:
            return Verdict("hang", f"no answer in {seconds:g} s\n{self.last_words()}")
        return Verdict(**json.loads(message))

    def _ending(self) -> str:
        code = self.process.wait()
        return f"exit code {code}" if code >= 0 else signal.Signals(-code).name

    def last_words(self) -> str:
        return self.said.read_text(errors="replace")[-LAST_WORDS:].strip()

    def end(self) -> None:
        """End the process and all that it started."""
        self.pipe.close()
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Trial:
    """Attempts the files of one format; a child that dies is replaced, its case blamed."""

    def __init__(self, module: Path, folder: Path, suffix: str = "", wall: float = 20.0) -> None:
        self.module, self.folder, self.wall = module, folder, wall
        self.canary = folder / "canary"
        self.file = folder / f"case{suffix}"
        self._child: Child | None = None

    def judge(self, content: bytes) -> Verdict:
        """Attempt a file with this content and look for what it left behind."""
        self.file.write_bytes(content)
        verdict = self._attempt()
        if verdict.outcome == "memory" and self._child is not None and self._child.attempts > 1:
            self.close()  # what earlier cases left behind is not this one's fault
            verdict = self._attempt()
        if not verdict.held and verdict.outcome != "traceback":
            self.close()
        return verdict

    def _attempt(self) -> Verdict:
        if self._child is None or self._child.attempts >= RECYCLE:
            self.close()
            self._child = self._start()
        verdict = self._child.attempt(self.file, self.wall)
        return self._traces(self._child) or verdict

    def _start(self) -> Child:
        child = Child(self.module, self.folder, self.canary)
        try:
            ready = child.answer(START) == b"ready"
        except (EOFError, OSError):
            ready = False
        if not ready:
            child.end()
            raise RuntimeError(f"{self.module.name} does not start:\n{child.last_words()}")
        return child

    def _traces(self, child: Child) -> Verdict | None:
        """Return the verdict on a case that created files; reading creates none."""
        if self.canary.exists():
            self.canary.unlink()
            return Verdict("code run", "the canary file was created")
        written = sorted(path.name for path in child.place.iterdir())
        if written:
            self.close()
            return Verdict("code run", f"files were written: {', '.join(written)}")
        return None

    def close(self) -> None:
        """End the child, if there is one."""
        if self._child is not None:
            self._child.end()
            self._child = None


def _search_path() -> str:
    """Return where the child finds this package and the project, wherever it is started."""
    given = os.environ.get("PYTHONPATH", "")
    return os.pathsep.join([str(ROOT), *([given] if given else []), str(ROOT / "plugins")])
