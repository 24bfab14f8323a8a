"""Do memory and cost stay flat as suites grow? `python tests/benchmarks/suite_memory.py [SIZE]`.

CartPole suites of a thousand to a million episodes. Each is built, and then ranked by all standard
measures from what is stored, in processes of their own, so that the peak of one is not that of
another. Printed per size: processor time per episode of each, peak memory of each, bytes on disk.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SIZES = (1_000, 10_000, 100_000, 1_000_000)


def build(folder: Path, episodes: int) -> None:
    """Play the mutant episodes of a suite."""
    import rpd

    rpd.build_suite("cartpole", episodes=episodes, out=folder, progress=False)


def rank(folder: Path, episodes: int) -> dict[str, int]:
    """Rank the stored suite by all standard measures."""
    from rpd_core.analysis.analysis import analyse
    from rpd_core.config.resolve import resolve
    from rpd_core.config.settings import Request
    from rpd_core.plugin.registry import installed
    from rpd_core.store.directory import RunDirectory

    setup = resolve(Request(env="cartpole", episodes=episodes), installed())
    settings = setup.config.settings
    found = analyse(
        RunDirectory(folder), setup.condition, settings.condition, setup.measures,
        spared=setup.measures,
    )  # fmt: skip
    cells = vars(found.counted.spectrum).values()
    return {"states": len(found.counted.states), "visits": int(sum(c.sum() for c in cells))}


def alone(what: str, folder: Path, episodes: int) -> dict[str, Any]:
    """Do something in a process of its own; return what it found, its time and its peak."""
    words = [sys.executable, __file__, "--only", what, str(folder), str(episodes)]
    found: dict[str, Any] = json.loads(subprocess.check_output(words, text=True))
    return found


def only(what: str, folder: Path, episodes: int) -> dict[str, Any]:
    """Do something in this process; importing and opening the environment do not count."""
    with tempfile.TemporaryDirectory() as first:
        build(Path(first) / "run", 64)
        rank(Path(first) / "run", 64)
    start = time.process_time()
    found = (build if what == "build" else rank)(folder, episodes)
    spent = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {**(found or {}), "seconds": spent, "mebibytes": peak}


def measure(episodes: int) -> dict[str, Any]:
    """Build and rank a suite of a size."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        built = alone("build", run, episodes)
        size = sum(p.stat().st_size for p in (run / "suite").rglob("*") if p.is_file())
        ranked = alone("rank", run, episodes)
    return {
        "episodes": episodes,
        "visits": ranked["visits"],
        "states": ranked["states"],
        "build_ms_per_episode": 1000 * built["seconds"] / episodes,
        "build_peak_mib": built["mebibytes"],
        "rank_ms_per_episode": 1000 * ranked["seconds"] / episodes,
        "rank_peak_mib": ranked["mebibytes"],
        "bytes_per_visit": size / ranked["visits"],
        "megabytes": size / 1e6,
    }


if __name__ == "__main__":
    if sys.argv[1:2] == ["--only"]:
        print(json.dumps(only(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))))
    else:
        for size in map(int, sys.argv[1:]) if sys.argv[1:] else SIZES:
            print(json.dumps(measure(size)), flush=True)
