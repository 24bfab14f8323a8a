"""What a run would cost, judged from a few episodes."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from rpd_core.config.configuration import THRESHOLDS
from rpd_core.config.resolve import Setup
from rpd_core.play import prepare
from rpd_core.play.jobs import SuiteJob, close_players, perform_suite, player_for
from rpd_core.play.recipe import recipe_of
from rpd_core.pruning.choice import BATCH
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


def estimate(setup: Setup, workers: int) -> Cost:
    """Play a few mutant episodes, store nothing, and scale up."""
    settings = setup.config.settings
    recipe = recipe_of(setup)
    if prepare.needs_fit(recipe):
        recipe = prepare.fit(recipe, setup.config)
    count = min(max(PROBE_EPISODES, recipe.lanes), settings.episodes)
    job = SuiteJob(recipe, settings.seed, settings.mutation_rate, 0, count - 1)
    try:
        player_for(recipe)  # opening costs time only once, so it stays outside the clock
        start = time.perf_counter()
        chunk = perform_suite(job).suite
        each = (time.perf_counter() - start) / count
    finally:
        close_players()
    rankings = len(settings.measures) + settings.random_rankings
    pruned = (rankings + 1) * len(settings.shares) * settings.test_episodes  # and the deletion
    pruned += len(THRESHOLDS) * (BATCH + 2) * settings.confirm_episodes  # trimmed and confirmed
    stored = tables.suite_tables(chunk, [""] * len(chunk.states))
    size = sum(_bytes(table) for table in stored.values())
    chunks = -(-settings.episodes // settings.chunk)
    in_a_row = settings.episodes / min(workers, chunks) + pruned / workers
    return Cost(
        count,
        settings.episodes,
        pruned,
        each * in_a_row,
        (size * settings.episodes + _bytes(tables.episodes_table(chunk.episodes)) * pruned)
        / count
        / 2**20,
    )


def _bytes(table: pa.Table) -> int:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return int(sink.getvalue().size)
