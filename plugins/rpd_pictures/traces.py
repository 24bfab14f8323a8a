"""Episodes that a run keeps step by step: of its smallest policy, and the same of the whole one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.suite import concat_episodes, merge_states
from rpd_core.errors import StoreError
from rpd_core.plugin.protocols import Episodes, States, TracedEpisodes, Traces
from rpd_core.plugin.protocols.suite import Trace, columns_of
from rpd_core.pruning.records import TRACE_SMALLEST, TRACE_WHOLE
from rpd_core.store.tables import read_episodes, read_table

if TYPE_CHECKING:
    from rpd_core.results.run import Run
    from rpd_core.store.parts import Parts


def read_traces(run: Run) -> Traces | None:
    """Read what a run keeps step by step; None: nothing, as nothing was confirmed."""
    folders = run.asked.evaluations
    if TRACE_SMALLEST not in folders or TRACE_WHOLE not in folders:
        return None
    directory = run.directory
    smallest, whole = (
        _read(directory.evaluation(folders[name], visits=True, trace=True))
        for name in (TRACE_SMALLEST, TRACE_WHOLE)
    )
    if not np.array_equal(smallest.episodes.seed, whole.episodes.seed):
        raise StoreError(f"{str(run.path)!r}: its traces are not of the same episodes")
    return Traces(smallest, whole, _typical(smallest.episodes))


def _read(parts: Parts) -> TracedEpisodes:
    read = [parts.read(*each, ("episodes", "states", "trace")) for each in parts.disjoint()]
    if not read:
        raise StoreError(f"{str(parts.path)!r} holds no episodes: run rpd prune again")
    traces = [read_table(Trace, one["trace"]) for one in read]
    columns = {
        name: np.concatenate([getattr(one, name) for one in traces]) for name in columns_of(Trace)
    }
    return TracedEpisodes(
        concat_episodes([read_episodes(one["episodes"]) for one in read]),
        Trace(**columns),
        merge_states([read_table(States, one["states"]) for one in read]),
    )


def _typical(episodes: Episodes) -> int:
    """Return the episode that is nearest to the middle of all, in ranks; of equal ones the first.

    Its return counts most: an episode that fails, where most pass, is not typical.
    """
    away = np.zeros(len(episodes))
    for column, weight in ((episodes.total_return, 2.0), (episodes.length, 1.0),
                           (episodes.overrides, 1.0)):  # fmt: skip
        spread = max(float(np.abs(column - np.median(column)).mean()), 1e-9)
        away += weight * np.abs(column - np.median(column)) / spread
    return int(away.argmin())
