"""What does a mutant episode cost? `python tests/benchmarks/episode_cost.py`.

Processor time and stored bytes per episode and per visit, in one process: CartPole and MiniGrid
with the policies that come with them, Pong played at random and broken off after 600 steps, so that
the network of a policy comes on top.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

from rpd_core.config.resolve import resolve
from rpd_core.config.settings import Request
from rpd_core.execute.local import ThisProcess
from rpd_core.play.chunks import SuiteChunk, player_for
from rpd_core.play.prepare import RandomPlay
from rpd_core.play.recipe import recipe_of
from rpd_core.plugin.registry import installed
from rpd_core.store.directory import RunDirectory
from rpd_core.store.session import Session, play_parts

TASKS: dict[str, dict[str, Any]] = {
    "cartpole": {"episodes": 5_000},
    "minigrid": {"episodes": 1_250},
    "atari:Pong,max_steps=600": {"episodes": 32, "policy": RandomPlay()},
}


def measure(env: str, **asked: Any) -> dict[str, float]:
    """Build a suite; return what it took, opening the environments excepted."""
    setup = resolve(Request(env=env, **asked), installed())
    settings, recipe = setup.config.settings, recipe_of(setup)
    player_for(recipe)
    with tempfile.TemporaryDirectory() as folder:
        directory = RunDirectory(Path(folder) / "run")
        directory.create(setup.config)
        session = Session(setup, directory, installed(), ThisProcess())
        whole = SuiteChunk(recipe, settings.seed, settings.mutation_rate, 0, settings.episodes - 1)
        start = time.process_time()
        play_parts(session, "suite", directory.suite(), whole)
        spent = time.process_time() - start
        files = [path for path in directory.path.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        visits = sum(record.rows["visits"] for record in directory.suite().records())
    return {
        "episodes": settings.episodes,
        "ms_per_episode": 1000 * spent / settings.episodes,
        "visits_per_episode": visits / settings.episodes,
        "bytes_per_visit": size / visits,
        "bytes_per_episode": size / settings.episodes,
    }


if __name__ == "__main__":
    for env, asked in TASKS.items():
        print(env, json.dumps(measure(env, **asked)), flush=True)
