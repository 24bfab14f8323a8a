"""How long do spectrum and scores take? `python tests/benchmarks/ten_million_visits.py`.

Ten million visits of 250 000 episodes to 20 000 states, in parts as a suite is read. Counted:
adding up the spectrum, and scores and rankings by every installed measure that looks at no more
than that.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from rpd_core.analysis.ranking import rank
from rpd_core.analysis.spectrum import tally
from rpd_core.errors import RpdError
from rpd_core.plugin.protocols import Episodes, States, Suite, Visits
from rpd_core.plugin.registry import installed

VISITS, EPISODES, STATES, PARTS = 10_000_000, 250_000, 20_000, 100


def part(number: int) -> Suite:
    """Return a part of the suite: every episode visits forty different states."""
    rng = np.random.default_rng(number)
    count, each = EPISODES // PARTS, VISITS // EPISODES
    first = number * count
    start = rng.integers(0, STATES, count)[:, None]
    keys = np.sort((start + 7 * np.arange(each)) % STATES, axis=1).astype(np.uint64).ravel()
    rows = len(keys)
    zeros, ones = np.zeros(count, dtype=np.int64), np.ones(rows, dtype=np.int64)
    index = np.arange(first, first + count)
    returns = rng.integers(0, 200, count).astype(np.float64)
    episodes = Episodes(index, zeros, returns, zeros + each, zeros, zeros, {})
    visits = Visits(
        episode=np.repeat(index, each), key=keys, mutated=rng.random(rows) < 0.4,
        mutation_rate=np.full(rows, 0.4), first_step=ones, count=ones,
        return_before=np.zeros(rows), differed=ones, differed_first=rng.random(rows) < 0.5,
    )  # fmt: skip
    known, counts = np.unique(keys, return_counts=True)
    return Suite(episodes, visits, _states(known, counts, first))


def _states(known: Any, counts: Any, first: int) -> States:
    size = len(known)
    none, empty = np.zeros(size), np.zeros((size, 0))
    choices = np.stack([counts, 0 * counts], axis=1)
    return States(
        key=known, value=known[:, None].astype(np.float64),
        first_episode=np.full(size, first), first_step=np.zeros(size, dtype=np.int64),
        visits=counts, choices=choices, default_choices=choices, action_sum=empty,
        action_squares=empty, default_sum=empty, default_squares=empty,
        value_gap=none, entropy=none,
    )  # fmt: skip


def measure() -> dict[str, Any]:
    """Return the processor time of the spectrum and of all scores, and the peak of memory."""
    registry = installed()
    spent = 0.0

    def parts() -> Iterator[Suite]:
        nonlocal spent
        for number in range(PARTS):
            start = time.process_time()
            made = part(number)
            spent += time.process_time() - start  # making them up does not count
            yield made

    weights = (np.random.default_rng(0).random(EPISODES) < 0.5).astype(np.float64)
    start = time.process_time()
    counted = tally(parts(), weights)
    spectrum = time.process_time() - start - spent
    evidence, ranked = counted.evidence(), 0
    names = [one.component.name for one in registry.of_kind("measure")]
    recipes = [registry.make("measure", name) for name in names if _is_plain(registry, name)]
    start = time.process_time()
    for recipe in recipes:
        try:
            rank("", recipe, evidence)
            ranked += 1
        except RpdError:  # it needs what this suite does not have
            continue
    scores = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {
        "visits": int(counted.states.visits.sum()),
        "spectrum_seconds": spectrum,
        "measures": ranked,
        "scores_seconds": scores,
        "peak_gib": peak,
    }


def _is_plain(registry: Any, name: str) -> bool:
    """Return whether a measure needs no parameters and does not look at the whole suite."""
    fields = registry.fields("measure", name)
    needs = getattr(registry.resolve("measure", name), "needs", ())
    return not needs and not any(field.required for field in fields)


if __name__ == "__main__":
    print(json.dumps(measure()))
