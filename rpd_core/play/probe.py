"""A few mutant episodes, played against the clock."""

from __future__ import annotations

import time
from dataclasses import dataclass

from rpd_core.play.jobs import SuiteChunk, SuiteJob, perform_suite, player_for


@dataclass(frozen=True)
class Probed:
    """Some mutant episodes, and how long they took."""

    chunk: SuiteChunk
    seconds: float
    """Time of playing them, without that of opening what plays them."""


def perform_probe(job: SuiteJob) -> Probed:
    """Play mutant episodes and take the time."""
    player_for(job.recipe)  # opening costs time only once, so it stays outside the clock
    start = time.perf_counter()
    chunk = perform_suite(job)
    return Probed(chunk, time.perf_counter() - start)
