"""How much faster is a whole run than plain loops? `python tests/benchmarks/whole_run_speed.py`.

`rpd run --env cartpole` is started as a user starts it, with start-up, worker processes, analysis,
pictures and the page; what counts is the processor time of all its processes. The steps that it
played are those of all episodes it stored; what it plays for pictures, prepares or looks up is not
counted. A plain loop that steps one environment and calls the network with one observation is
timed on a sample of steps before and after, and its time for all of them is extrapolated: it would
take minutes. It plays the policy's own episodes, so it does less: no mutation, no abstraction, no
record, and it resets once in 200 steps, where mutants fall sooner.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import loops
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cartpole_module import load_network  # of the tests

SAMPLE = 20_000
ROUNDS = 3


def processor_seconds() -> float:
    """Return the time that all ended processes started from here have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def stored_steps(run: Path) -> int:
    """Return the steps of all episodes that a run holds."""
    return sum(
        int(pq.read_table(file, columns=["length"])["length"].to_numpy().sum())
        for file in run.rglob("*.parquet")
        if "length" in pq.read_schema(file).names
    )


def whole_run(*options: str) -> tuple[float, int]:
    """Run the command; return its processor time and the steps that it played."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        before = processor_seconds()
        program = "from rpd_core.cli.main import main; main()"
        command = [sys.executable, "-c", program, "run", "--env", "cartpole", "--out", str(run)]
        subprocess.run([*command, *options], check=True, capture_output=True)
        return processor_seconds() - before, stored_steps(run)


def plain_loop() -> float:
    """Play the same task with one environment; return steps per second."""
    make = loops.registered("CartPole-v1", max_episode_steps=200)
    return loops.plain(make, loops.in_torch(load_network("good")), SAMPLE)


def measure(*options: str) -> dict[str, float]:
    """Interleave both; return the ratio of each round and what it stands on."""
    ratios = []
    for _ in range(ROUNDS):
        first = plain_loop()
        seconds, steps = whole_run(*options)
        plain = (first + plain_loop()) / 2
        ratios.append(steps / plain / seconds)
    return {
        "ratio_median": round(sorted(ratios)[ROUNDS // 2], 1),
        "ratio_min": round(min(ratios), 1),
        "last_steps": steps,
        "last_seconds_of_run": round(seconds, 1),
        "last_plain_steps_per_second": round(plain),
    }


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:])))
