"""Clusters for tests: a real scheduler and worker processes, and work that harms them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import itemwork
import worlds
from watching import wait_until

from rpd_core.execute.items import input_files, run_items
from rpd_core.plugin.protocols import Engine, Outcome, WorkItem, WorkQueue

LIGHT = [
    *("suite", "--env", "gym:CartPole-v1", "--policy", "random", "--seed", "3"),
    *("--default-action", "constant:0", "--workers", "2"),
]
"""A suite in parts of 250 episodes, without torch."""
HERE = Path(__file__).resolve().parent
SMALL: dict[str, Any] = {
    "env": worlds.Corridor(),
    "policy": worlds.Goes(),
    "episodes": 120,
    "chunk": 20,
    "test_episodes": 5,
    "shares": (0.0, 0.5, 1.0),
    "unmutated_episodes": 40,
    "confirm_episodes": 40,
    "random_rankings": 1,
    "finish": (),
    "progress": False,
}
"""A small run: six parts of a suite, and what follows from it."""


def items(function: Any, *arguments: Any, files: tuple[Path, ...] = ()) -> list[WorkItem]:
    """Return one item for each argument."""
    name = function.__name__
    read = input_files(files)
    return [
        WorkItem(
            f"{name}/{place}/{time.monotonic_ns()}", function, argument, f"{name} {place}", read
        )
        for place, argument in enumerate(arguments)
    ]


def results(engine: Engine, work: list[WorkItem]) -> list[Any]:
    """Run items and return what each gave, in their order."""
    found: dict[str, Any] = {}
    run_items(engine, work, lambda item, value: found.__setitem__(item.identity, value))
    return [found[item.identity] for item in work]


def stored(path: Path) -> dict[str, bytes]:
    """Return everything that a run stores."""
    return {
        str(file.relative_to(path)): file.read_bytes()
        for file in path.rglob("*.*")
        if file.is_file()
    }


@dataclass
class Heard:
    """An engine whose outcomes are kept."""

    engine: Engine
    outcomes: list[Outcome] = field(default_factory=list)

    def execute(self, queue: WorkQueue) -> Iterator[Outcome]:
        """Yield outcomes as they come."""
        for outcome in self.engine.execute(queue):
            self.outcomes.append(outcome)
            yield outcome


def where(seconds: float) -> tuple[int, int]:
    """Work for a while; return the numbers of this process and of the engine's worker."""
    time.sleep(seconds)
    return os.getpid(), os.getppid()


def kill_worker_once(marker: str) -> str:
    """Kill the engine's worker the first time, answer the second."""
    path = Path(marker)
    if not path.exists():
        path.touch()
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
    return "survived"


def stop_worker_once(marker: str) -> str:
    """Stop the engine's worker the first time, answer the second."""
    path = Path(marker)
    if not path.exists():
        path.touch()
        os.kill(os.getppid(), signal.SIGSTOP)
    return "survived"


def use_signals(number: int) -> int:
    """Do what Python allows in the main thread only."""
    before = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, before)
    return number


def print_much(number: int) -> str | None:
    """Print what must not be mixed with an answer; return what numerical libraries would read."""
    print("spoiled by", number, flush=True)
    return itemwork.threads(number)


def surroundings(**more: str) -> dict[str, str]:
    """Return variables for processes of a cluster, which find the modules of tests."""
    paths = [str(HERE), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **more}


def start(folder: Path, *words: str, **more: str) -> subprocess.Popen[str]:
    """Start `rpd` in a folder."""
    return subprocess.Popen(
        [sys.executable, "-m", "rpd_core.cli.main", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=surroundings(**more),
    )


def finish(folder: Path, *words: str, **more: str) -> str:
    """Carry out a command of `rpd` that succeeds and return what it says on standard error."""
    process = start(folder, *words, **more)
    _, told = process.communicate(timeout=600)
    assert process.returncode == 0, told
    return told


def parts(run: Path) -> int:
    """Return how many parts of a suite are stored."""
    return len(list(run.glob("suite/episodes/part-*.parquet")))


def killed_at(process: subprocess.Popen[str], run: Path, enough: int) -> int:
    """Kill a command when so many parts are stored; return how many there are then."""
    assert wait_until(lambda: parts(run) >= enough, 300)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    return parts(run)


@dataclass
class DaskCluster:
    """A scheduler in a process of its own, and workers that do not share its directory."""

    folder: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    """Further options of scheduler and workers."""
    address: str = ""

    def start(self) -> None:
        """Start the scheduler and wait for its address."""
        told = self.folder / "scheduler.log"
        self._begin(told, "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        deadline = time.monotonic() + 120
        while "Scheduler at:" not in told.read_text():
            assert self.processes[0].poll() is None, told.read_text()
            assert time.monotonic() < deadline, told.read_text()
            time.sleep(0.05)
        line = next(line for line in told.read_text().splitlines() if "Scheduler at:" in line)
        self.address = line.split()[-1]

    def add_workers(self, count: int, *words: str) -> None:
        """Start worker processes; they join when they are ready."""
        told = self.folder / f"workers-{len(self.processes)}.log"
        how = ["--nworkers", str(count), "--nthreads", "1", "--no-dashboard", *words]
        self._begin(told, "dask_worker", self.address, *how)

    def kill_scheduler(self) -> None:
        """Kill the scheduler as a crash would."""
        self.processes[0].kill()
        self.processes[0].wait()

    def stop(self) -> None:
        """End everything."""
        for process in reversed(self.processes):
            process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _begin(self, told: Path, module: str, *words: str) -> None:
        folder = self.folder / module
        folder.mkdir(exist_ok=True)
        with told.open("wb") as log:
            self.processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", f"distributed.cli.{module}", *words, *self.words],
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    cwd=folder,
                    env=surroundings(**self.settings),
                )
            )


@contextmanager
def dask_cluster(
    folder: Path, workers: int, words: tuple[str, ...] = (), **settings: str
) -> Iterator[DaskCluster]:
    """Yield a cluster that reports lost workers at once."""
    at_once = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    cluster = DaskCluster(folder, settings={**at_once, **settings}, words=words)
    try:
        cluster.start()
        if workers:
            cluster.add_workers(workers)
        yield cluster
    finally:
        cluster.stop()
