"""What a run would cost, judged from a few episodes."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from rpd_core.execute.workshop import Workshop
from rpd_core.play import prepare
from rpd_core.play.jobs import SuiteJob, close_players, perform_suite, player_for
from rpd_core.store import tables

PROBE_EPISODES = 16
"""Episodes played for the estimate, at least; more where more fit side by side."""


@dataclass(frozen=True)
class Cost:
    """An estimate of time and disk, from a few episodes and so only roughly right."""

    probe_episodes: int
    suite_episodes: int
    pruning_episodes: int
    seconds: float
    megabytes: float


def estimate(shop: Workshop) -> Cost:
    """Play a few mutant episodes, store nothing, and scale up."""
    config = shop.setup.config
    recipe = shop.recipe
    if prepare.needs_fit(recipe):
        recipe = prepare.fit(recipe, config)
    count = min(max(PROBE_EPISODES, recipe.lanes), config.episodes)
    job = SuiteJob(recipe, config.suite.seed, config.suite.mutation_rate, 0, count - 1)
    try:
        player_for(recipe)  # opening costs time only once, so it stays outside the clock
        start = time.perf_counter()
        chunk = perform_suite(job)
        each = (time.perf_counter() - start) / count
    finally:
        close_players()
    analysis = config.analysis
    rankings = len(analysis.measures) + analysis.random_rankings
    pruned = rankings * len(analysis.shares) * analysis.test_episodes
    size = sum(_bytes(table) for table in tables.suite_tables(chunk).values())
    chunks = -(-config.episodes // config.chunk)
    in_a_row = config.episodes / min(shop.workers, chunks) + pruned / shop.workers
    return Cost(
        count,
        config.episodes,
        pruned,
        each * in_a_row,
        (size * config.episodes + _bytes(tables.episodes_table(chunk.episodes)) * pruned)
        / count
        / 2**20,
    )


def _bytes(table: pa.Table) -> int:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return int(sink.getvalue().size)
