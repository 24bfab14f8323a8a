"""What do worker processes cost? `python tests/benchmarks/worker_cost.py [EPISODES ...]`.

`rpd suite` on CartPole with one worker process and with two, in turns; processor time of all
processes together, start-up included. For few episodes starting a process is most of it.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SIZES, ROUNDS = (500, 5_000, 100_000), 3


def spent() -> float:
    """Return the processor time of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cost(episodes: int, workers: int) -> float:
    """Return the processor time of a suite."""
    before = spent()
    with tempfile.TemporaryDirectory() as folder:
        words = ("suite", "--env", "cartpole", "--episodes", episodes, "--workers", workers)
        called = [*words, "--unmutated-episodes", 1, "--out", Path(folder) / "run", "--yes"]
        subprocess.run(
            [sys.executable, "-m", "rpd_core.cli.main", *map(str, called)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    return spent() - before


def measure(episodes: int) -> dict[str, Any]:
    """Return what two workers cost as a multiple of what one does, in the round with the least."""
    pairs = [(cost(episodes, 1), cost(episodes, 2)) for _ in range(ROUNDS)]
    one, two = (min(column) for column in zip(*pairs, strict=True))
    return {"episodes": episodes, "one": one, "two": two, "ratio": two / one}


if __name__ == "__main__":
    for size in map(int, sys.argv[1:]) if sys.argv[1:] else SIZES:
        print(json.dumps(measure(size)), flush=True)
