"""The speed of a suite in this process, for the benchmarks beside this file."""

from __future__ import annotations

import time
from typing import Any

from rpd_core.analysis.suite import merge
from rpd_core.config.resolve import resolve
from rpd_core.config.settings import Request
from rpd_core.play.chunks import SuiteChunk, perform_suite
from rpd_core.play.players import player_for
from rpd_core.play.recipe import recipe_of
from rpd_core.plugin.registry import installed


def suite_speed(env: str, episodes: int, **asked: Any) -> float:
    """Build the suite of an environment; return steps per second of processor time."""
    setup = resolve(Request(env=env, episodes=episodes, **asked), installed())
    settings, recipe = setup.config.settings, recipe_of(setup)
    player_for(recipe)
    start = time.process_time()
    parts = []
    for first in range(0, episodes, settings.chunk):
        last = min(first + settings.chunk, episodes) - 1
        job = SuiteChunk(recipe, settings.seed, settings.mutation_rate, first, last)
        parts.append(perform_suite(job).suite)
    steps = int(merge(parts).episodes.length.sum())
    return steps / (time.process_time() - start)
