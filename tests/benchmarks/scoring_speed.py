"""How long do spectrum and scores of ten million visits take? `python .../scoring_speed.py`.

A suite of 100 000 episodes with 100 visits each, in 20 000 states, a few of them in most episodes
and most in few. Parts of 2500 episodes come one after the other, as they are read from a run
directory; drawing their numbers is not counted. Then every measure that needs no more than what is
counted scores and ranks all states. Seconds of processor time, and the peak memory of the process.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Iterator

import numpy as np

from rpd_core.analysis.ranking import rank
from rpd_core.analysis.spectrum import Tally, tally
from rpd_core.plugin.protocols import Episodes, States, Suite, Visits
from rpd_core.plugin.registry import installed

PARTS, EPISODES, VISITS, STATES = 40, 2500, 100, 20_000
ELSEWHERE = {"value-gap", "entropy", "default-gap", "regression", "python"}
"""Measures that want a look inside the policy, at single episodes, or a function."""


class Drawn:
    """Parts of a suite, drawn when they are asked for, and the time that it took."""

    def __init__(self) -> None:
        self.generator = np.random.default_rng(0)
        self.keys = np.sort(self.generator.integers(2**63, size=STATES).astype(np.uint64))
        self.seconds = 0.0

    def parts(self) -> Iterator[Suite]:
        """Yield one part after the other."""
        for number in range(PARTS):
            start = time.process_time()
            part = self._part(number * EPISODES)
            self.seconds += time.process_time() - start
            yield part

    def _part(self, first: int) -> Suite:
        draw, rows = self.generator, EPISODES * VISITS
        index = np.arange(first, first + EPISODES)
        state = (STATES * draw.random(rows) ** 3).astype(np.int64)
        order = np.lexsort((state, np.repeat(index, VISITS)))
        seen, place, steps = np.unique(state, return_inverse=True, return_counts=True)
        mutated, ones = draw.random(rows) < 0.4, np.ones(rows, dtype=np.int64)
        key, first_step = self.keys[seen][place[order]], draw.integers(200, size=rows)
        visits = Visits(
            np.repeat(index, VISITS), key, mutated, np.full(rows, 0.4), first_step, ones,
            first_step.astype(np.float64), (~mutated).astype(np.int64), ~mutated,
            (~mutated).astype(np.int64),
        )  # fmt: skip
        returns = draw.integers(200, size=EPISODES).astype(np.float64)
        episodes = Episodes(index, index, returns, index, index, index, index)
        return Suite(episodes, visits, self._states(seen, steps, first))

    def _states(self, seen: np.ndarray, steps: np.ndarray, first: int) -> States:
        counts, none = np.stack([steps, steps], axis=1), np.zeros((len(seen), 0))
        begun, unknown = np.full(len(seen), first), np.full(len(seen), np.nan)
        sums = ("action_sum", "action_squares", "default_sum", "default_squares")
        return States(
            self.keys[seen], seen[:, None], begun, begun, steps, counts, counts,
            **dict.fromkeys(sums, none), value_gap=unknown, entropy=unknown,
            default_gap=unknown,
        )  # fmt: skip


def score_all(counted: Tally) -> int:
    """Rank the states by every measure; return how many measures there are."""
    registry, evidence = installed(), counted.evidence()
    names = [one.component.name for one in registry.of_kind("measure") if one.ready]
    wanted = [name for name in names if name not in ELSEWHERE]
    for name in wanted:
        rank(name, registry.make("measure", name), evidence)
    return len(wanted)


def measure() -> dict[str, float]:
    """Count and score; return the seconds of both and the memory."""
    installed().make("measure", "tarantula")
    drawn, weights = Drawn(), (np.random.default_rng(1).random(PARTS * EPISODES) < 0.6) * 1.0
    start = time.process_time()
    counted = tally(drawn.parts(), weights)
    spectrum = time.process_time() - start - drawn.seconds
    start = time.process_time()
    measures = score_all(counted)
    return {
        "visits": PARTS * EPISODES * VISITS,
        "measures": measures,
        "spectrum_seconds": round(spectrum, 2),
        "scores_seconds": round(time.process_time() - start, 2),
        "peak_mebibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


if __name__ == "__main__":
    print(json.dumps(measure()))
